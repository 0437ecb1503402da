import {
  Binary,
  Bool,
  DateDay,
  Decimal,
  Field,
  Float64,
  Int32,
  Int64,
  Schema,
  Table,
  tableFromArrays,
  TimestampMicrosecond,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { streamFromTable } from '../decode/adopt-batch.ts';
import { encodeJsonTable } from '../encode/row-formats.ts';
import { type FrameStream, streamOfBatches } from '../streams.ts';
import { fitRows } from './rows-to-insert.ts';

const TYPES = {
  LONG: new Int64(),
  DOUBLE: new Float64(),
  DECIMAL: new Decimal(2, 10, 128),
  STRING: new Utf8(),
  DATE: new DateDay(),
  TIMESTAMP: new TimestampMicrosecond(),
  BOOLEAN: new Bool(),
  BINARY: new Binary(),
} as const;
type TypeName = keyof typeof TYPES;

/** The cells of values of one type after they are fitted to another, as JSON. */
async function fitted(from: TypeName, values: readonly unknown[], to: TypeName): Promise<readonly unknown[]> {
  const rows = streamFromTable(new Table({ x: vectorFromArray(values, TYPES[from]) }));
  return cellsOf(fitRows(new Schema([new Field('x', TYPES[to], true)]), rows));
}

async function cellsOf(stream: FrameStream): Promise<readonly unknown[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of encodeJsonTable(stream, { query: '' })) chunks.push(chunk);
  const { dataset } = JSON.parse(Buffer.concat(chunks).toString()) as { dataset: unknown[][] };
  return dataset.map((row) => (row.length === 1 ? row[0] : row));
}

describe('a value is inserted as the type of the frame:', () => {
  test.each<[TypeName, unknown, TypeName, unknown]>([
    ['STRING', '2024-01-02', 'DATE', '2024-01-02T00:00:00.000Z'],
    ['STRING', '2024-01-02 03:04:05.678', 'TIMESTAMP', '2024-01-02T03:04:05.678000Z'],
    ['STRING', '42', 'LONG', 42],
    ['STRING', '1.50', 'DECIMAL', '1.50'],
    ['STRING', 'text', 'STRING', 'text'],
    ['STRING', null, 'BINARY', null],
    ['DECIMAL', Uint32Array.of(150, 0, 0, 0), 'DOUBLE', 1.5],
    ['DECIMAL', Uint32Array.of(200, 0, 0, 0), 'LONG', 2],
    ['DOUBLE', 1.5, 'DECIMAL', '1.50'],
    ['LONG', 7n, 'DECIMAL', '7.00'],
    ['DATE', new Date('2024-01-02'), 'TIMESTAMP', '2024-01-02T00:00:00.000000Z'],
    ['LONG', null, 'STRING', null],
    ['BOOLEAN', null, 'TIMESTAMP', null],
    ['LONG', 1n, 'BOOLEAN', true],
    ['LONG', 0n, 'BOOLEAN', false],
    ['LONG', null, 'BOOLEAN', null],
  ])('%s %s as %s', async (from, value, to, expected) => {
    expect(await fitted(from, [value], to)).toEqual([expected]);
  });
});

describe('a value that would change is refused with its row:', () => {
  test.each<[TypeName, unknown, TypeName, string]>([
    ['STRING', '1.5', 'LONG', 'Row 2, column "x": "1.5" is not exactly a LONG.'],
    ['STRING', '2024-01-02 10:00', 'DATE', 'Row 2, column "x": "2024-01-02 10:00" is not exactly a DATE.'],
    ['STRING', 'soon', 'TIMESTAMP', 'Row 2, column "x": "soon" is not exactly a TIMESTAMP.'],
    ['STRING', 'aGk=', 'BINARY', 'Row 2, column "x": a value of the type STRING is not a value of the type BINARY.'],
    ['DECIMAL', Uint32Array.of(150, 0, 0, 0), 'LONG', 'Row 2, column "x": 1.50 is not exactly a LONG.'],
    ['DOUBLE', 0.125, 'DECIMAL', 'Row 2, column "x": 0.125 is not exactly a DECIMAL(10,2).'],
    ['DOUBLE', Number.NaN, 'DECIMAL', 'Row 2, column "x": NaN is not exactly a value of the type DECIMAL(10,2).'],
    ['LONG', 7n, 'STRING', 'Row 2, column "x": a value of the type LONG is not a value of the type STRING.'],
    ['LONG', 2n, 'BOOLEAN', 'Row 2, column "x": 2 is not exactly a BOOLEAN.'],
    ['LONG', -1n, 'BOOLEAN', 'Row 2, column "x": -1 is not exactly a BOOLEAN.'],
    ['BOOLEAN', true, 'LONG', 'Row 2, column "x": a value of the type BOOLEAN is not a value of the type LONG.'],
  ])('%s %s as %s', async (from, value, to, message) => {
    await expect(fitted(from, [null, value], to)).rejects.toThrow(message);
  });
});

test('columns beside the converted ones keep their values and their rows', async () => {
  const count = 15_000;
  const names = Array.from({ length: count }, (_, i) => `name ${i}`);
  const days = names.map((_, i) => new Date(DAY_MS * i).toISOString().slice(0, 10));
  const doubles = names.map((_, i) => (i % 3 === 0 ? Number.NaN : i / 7));
  const table = new Table({
    doubles: vectorFromArray(doubles, new Float64()),
    days: vectorFromArray(days, new Utf8()),
    names: vectorFromArray(names, new Utf8()),
  });
  const batches = [0, 1, 2, 3, 4].flatMap((i) => table.slice(3000 * i, 3000 * (i + 1)).batches);
  const frame = new Schema([new Field('days', new DateDay(), true), ...table.schema.fields.filter(isOther)]);
  const { schema, batches: converted } = fitRows(frame, streamOfBatches(table.schema, batches));
  expect(schema.fields.map(({ name, type }) => `${name} ${type}`)).toEqual([
    'doubles Float64',
    'days Date32<DAY>',
    'names Utf8',
  ]);
  const read: unknown[] = [];
  for await (const batch of converted) {
    for (const row of batch) read.push([row['doubles'], Number(row['days']), row['names']]);
  }
  expect(read).toEqual(names.map((name, i) => [doubles[i], DAY_MS * i, name]));
});

const DAY_MS = 86_400_000;
const isOther = ({ name }: Field): boolean => name !== 'days';

test('a stream whose columns fit is passed on as it is', async () => {
  const rows = streamFromTable(tableFromArrays({ x: Int32Array.of(1) }));
  expect(fitRows(new Schema([new Field('x', new Int64(), true)]), rows)).toBe(rows);
  expect(fitRows(new Schema([new Field('x', new Int32(), true)]), rows)).toBe(rows);
});
