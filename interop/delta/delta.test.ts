import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Schema, type Table, tableFromArrays } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFrameFiles } from '../../packages/duckdb/dist/index.js';
import { FRAME_CODEC, type FrameState, type StoredPart } from '../../packages/duckdb/dist/store/log/frame-entry.js';
import { createFrameLog } from '../../packages/duckdb/dist/store/log/frame-log.js';
import { schemaText } from '../../packages/duckdb/dist/types/stored-types.js';
import { parseHandle, streamFromTable } from '../../packages/frames/dist/index.js';
import { createDirectoryObjects } from '../../packages/objects/dist/index.js';
import { everyType, SEEN } from './every-type.ts';
import { byAll, type Readers, startReaders } from './readers.ts';

let root: string;
let files: ReturnType<typeof createFrameFiles>;
let readers: Readers;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-delta-'));
  files = createFrameFiles({ tempDirectory: root });
  readers = startReaders();
});

afterAll(async () => {
  readers.end();
  await files.close();
  await rm(root, { recursive: true });
});

let tables = 0;
let versions = 0;

/** A frame as the log of a directory has it, and as other programs find it. */
async function createFrame() {
  const name = `table${(tables += 1)}`;
  const folder = join(root, name);
  await mkdir(folder);
  const log = createFrameLog({
    objects: createDirectoryObjects(root),
    prefix: `${name}/_delta_log/`,
    codec: FRAME_CODEC,
  });
  let schema: Schema;

  async function change(next: (parts: readonly StoredPart[]) => Promise<Pick<FrameState, 'isSame' | 'rows'>>) {
    await log.change(async (now) => ({
      handle: parseHandle(name),
      version: `01M7EY6RV4XGCAW41JMB7D${String((versions += 1)).padStart(4, '0')}`,
      table: now?.table ?? crypto.randomUUID(),
      expires: null,
      ...(await next(now?.rows?.parts ?? [])),
    }));
  }

  async function write(rows: Table): Promise<StoredPart> {
    const file = `part${(versions += 1)}.parquet`;
    const size = await files.write(join(folder, file), streamFromTable(rows), { compression: 'zstd' });
    ({ schema } = size);
    return { file, size };
  }

  return {
    put: (rows: Table) =>
      change(async () => {
        const part = await write(rows);
        return { rows: { schema: schemaText(schema), parts: [part] } };
      }),
    append: (rows: Table) =>
      change(async (parts) => ({ rows: { schema: schemaText(schema), parts: [...parts, await write(rows)] } })),
    merge: () =>
      change(async (parts) => {
        const file = `part${(versions += 1)}.parquet`;
        const source = {
          kind: 'parts',
          parts: parts.map((part) => ({ path: join(folder, part.file), ...part })),
        } as const;
        const info = { schema, rows: parts.reduce((sum, { size }) => sum + size.rows, 0) };
        const size = await files.merge(source, info, join(folder, file), { compression: 'zstd' });
        return { isSame: true, rows: { schema: schemaText(schema), parts: [{ file, size }] } };
      }),
    drop: () => change(async () => ({ rows: undefined })),
    read: () => readers.read(folder),
    changeFromOutside: () => readers.change(folder),
  };
}

const ids = (...values: number[]): Table => tableFromArrays({ id: Int32Array.from(values) });
const seen = (...values: number[]): Record<string, unknown> => byAll(values.map((id) => ({ id })));

test('every reader sees the rows of the newest entry', async () => {
  const frame = await createFrame();
  await frame.put(ids(1, 2));
  expect(await frame.read()).toEqual(seen(1, 2));
  await frame.append(ids(3));
  await frame.append(ids(4, 5));
  expect(await frame.read()).toEqual(seen(1, 2, 3, 4, 5));
  await frame.merge();
  expect(await frame.read()).toEqual(seen(1, 2, 3, 4, 5));
  await frame.put(tableFromArrays({ name: ['a', null, 'b'] }));
  expect(await frame.read()).toEqual(byAll([{ name: 'a' }, { name: 'b' }, { name: null }]));
  await frame.drop();
  expect(await frame.read()).toEqual(byAll([]));
  await frame.put(ids(7));
  expect(await frame.read()).toEqual(seen(7));
});

test('columns that need another protocol can come and go', async () => {
  const frame = await createFrame();
  await frame.put(ids(1));
  expect(await frame.read()).toEqual(seen(1));
  const local = byAll([{ local: SEEN['local'] }, { local: null }].toSorted(byText));
  await frame.put(everyType('local'));
  expect(await frame.read()).toEqual(local);
  await frame.put(ids(2));
  expect(await frame.read()).toEqual(seen(2));
  await frame.put(everyType('local'));
  expect(await frame.read()).toEqual(local);
  expect((await frame.changeFromOutside())['append']).toMatch(/svcFrames/);
});

describe('readers refuse a table without columns, and read it when it has some', () => {
  test.each<[string, (frame: Awaited<ReturnType<typeof createFrame>>) => Promise<void>]>([
    ['no column has a type of Delta Lake', (frame) => frame.put(everyType('unsigned'))],
    ['the first entry is a drop', (frame) => frame.drop()],
  ])('%s', async (_, begin) => {
    const frame = await createFrame();
    await begin(frame);
    expect(await frame.read()).toEqual({
      'delta-rs': expect.stringContaining('Cannot scan Delta table with empty schema'),
      polars: expect.stringContaining('Cannot scan Delta table with empty schema'),
      pandas: expect.stringContaining('Cannot scan Delta table with empty schema'),
      duckdb: expect.stringContaining('must return at least one column'),
    });
    await frame.put(ids(1));
    expect(await frame.read()).toEqual(seen(1));
  });
});

describe('a column of', () => {
  test.each(Object.entries(SEEN))('%s', async (name, value) => {
    const frame = await createFrame();
    await frame.put(everyType(name));
    expect(await frame.read()).toEqual(byAll([{ [name]: value }, { [name]: null }].toSorted(byText)));
  });
});

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

test('delta-rs refuses everything that changes a table', async () => {
  const frame = await createFrame();
  await frame.put(ids(1));
  await frame.append(ids(2));
  const refused = await frame.changeFromOutside();
  for (const [change, message] of Object.entries(refused))
    expect([change, message]).toEqual([change, expect.stringContaining('svcFrames')]);
  expect(Object.keys(refused)).toHaveLength(6);
  expect(await frame.read()).toEqual(seen(1, 2));
});
