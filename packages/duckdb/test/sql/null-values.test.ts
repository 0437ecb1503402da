import type { FrameStream } from '@svc/frames';
import { type Data, DataType } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callOf, createSqlFixture, type SqlFixture } from '../../src/testing/sql-fixture.ts';
import { refOf } from '../../src/testing/store-fixture.ts';

const VALUES = {
  boolean: 'true',
  tinyint: '77::TINYINT',
  smallint: '7777::SMALLINT',
  integer: '77777777::INTEGER',
  bigint: '7777777777777777 + i',
  hugeint: '77777777777777777777777777::HUGEINT + i',
  ubigint: '7777777777777777::UBIGINT',
  float: '7.5::FLOAT',
  double: '7.5 + i::DOUBLE',
  'decimal(4, 1)': '77.7::DECIMAL(4, 1)',
  'decimal(9, 1)': '77777.7::DECIMAL(9, 1)',
  'decimal(18, 1)': '7777777777.7::DECIMAL(18, 1)',
  'decimal(38, 1)': '77777777777777777777.7::DECIMAL(38, 1)',
  date: "DATE '1977-07-07'",
  time: "TIME '07:07:07'",
  timestamp: "TIMESTAMP '1977-07-07 07:07:07'",
  uuid: "'77777777-7777-7777-7777-777777777777'::UUID",
  interval: "INTERVAL '7 months 7 days 7 hours'",
  enum: "'b'::ENUM('a', 'b')",
  struct: '{a: 7777777777777777 + i, b: {c: 7.5::DOUBLE}}',
  list: '[7777777777777777 + i, NULL, 7777777777777777]',
  text: "'secret ' || i",
} as const;

const ROWS = 20_000;
const columns = (value: (sql: string) => string): string =>
  Object.entries(VALUES)
    .map(([name, sql]) => `${value(sql)} AS "${name}"`)
    .join(', ');

/** Returns the bytes of rows that are null, or whose struct is, other than 0. */
function bytesOfNulls(data: Data, isNullAbove: (row: number) => boolean = () => false): number {
  const isNull = (row: number): boolean => isNullAbove(row) || !data.getValid(row);
  const { values, valueOffsets } = data as { values?: Uint8Array; valueOffsets?: Int32Array };
  let found = 0;
  if (DataType.isStruct(data.type)) return data.children.reduce((sum, child) => sum + bytesOfNulls(child, isNull), 0);
  if (valueOffsets !== undefined) {
    for (let row = 0; row < data.length; row++) {
      if (isNull(row)) found += (valueOffsets[row + 1] ?? 0) - (valueOffsets[row] ?? 0);
    }
    return data.children.reduce((sum, child) => sum + bytesOfNulls(child), found);
  }
  if (values === undefined) return 0;
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const isBit = DataType.isBool(data.type);
  const width = isBit ? 0 : bytes.length / data.length;
  for (let row = 0; row < data.length; row++) {
    if (!isNull(row)) continue;
    if (isBit) found += ((bytes[row >> 3] ?? 0) >> (row & 7)) & 1;
    else for (let i = 0; i < width; i++) found += bytes[row * width + i] === 0 ? 0 : 1;
  }
  return found;
}

async function expectNothing({ schema, batches }: FrameStream): Promise<void> {
  const found = new Map(schema.fields.map(({ name }) => [name, 0]));
  let nulls = 0;
  for await (const batch of batches) {
    schema.fields.forEach(({ name }, i) => {
      const data = batch.data.children[i];
      if (data === undefined) return;
      nulls += data.nullCount;
      found.set(name, (found.get(name) ?? 0) + bytesOfNulls(data));
    });
  }
  expect(nulls).toBeGreaterThan(ROWS);
  expect([...found].filter(([, bytes]) => bytes > 0)).toEqual([]);
}

describe('rows that are null have no bytes of other rows, frames or tenants', () => {
  let fixture: SqlFixture;

  /** Fills the memory of the engine with values. */
  async function readSecrets(): Promise<void> {
    await fixture.rows(`SELECT ${columns((sql) => sql)} FROM range(${ROWS}) t(i)`);
    const frame = await fixture.store.open(refOf('secrets'));
    for await (const batch of frame?.read().batches ?? []) expect(batch.numRows).toBeGreaterThan(0);
    frame?.close();
  }

  async function keep(handle: string, sql: string): Promise<void> {
    const result = await fixture.engine.query(callOf(), sql);
    await fixture.store.put(refOf(handle), result);
    result.close();
  }

  beforeAll(async () => {
    fixture = await createSqlFixture({}, { cacheBytes: 0 });
    await keep('secrets', `SELECT ${columns((sql) => sql)} FROM range(${ROWS}) t(i)`);
  });
  afterAll(() => fixture.close());

  const SOME = columns((sql) => `CASE WHEN hash(i) % 2 = 0 THEN ${sql} END`);

  test('in the result of SQL', async () => {
    await readSecrets();
    const result = await fixture.engine.query(callOf(), `SELECT ${SOME} FROM range(${ROWS}) t(i)`);
    await expectNothing(result);
    result.close();
  });

  test('in a frame that is read from disk', { tags: ['slow'] }, async () => {
    await keep('some', `SELECT ${SOME} FROM range(${ROWS}) t(i)`);
    await readSecrets();
    const frame = await fixture.store.open(refOf('some'));
    if (frame === undefined) throw new Error('The frame is missing.');
    await expectNothing(frame.read());
    frame.close();
  });
});
