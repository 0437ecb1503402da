import { appendFile, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createDecoders } from '@svc/frames';
import { readRows } from '@svc/frames/testing';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { createSqlEngine } from '../../src/sql/engine.ts';
import type { DurableStore, DurableStoreOptions } from '../../src/store/durable-store.ts';
import type { StoreProblem } from '../../src/store/catalogue/store-problem.ts';
import { rowsOf as sqlRows } from '../../src/testing/sql-fixture.ts';
import {
  createStoreFixture,
  listDescribed,
  refOf,
  rowsOf,
  type StoreFixture,
} from '../../src/testing/store-fixture.ts';
import { byTier } from '../../../../test/tier.ts';

const files = createFrameFiles({ tempDirectory: tmpdir() });
const decoders = createDecoders();
let fixture: StoreFixture;
let problems: StoreProblem[];

beforeEach(async () => {
  fixture = await createStoreFixture(files);
  await mkdir(fixture.folder);
  problems = [];
});
afterEach(() => fixture.remove());
afterAll(() => Promise.all([files.close(), decoders.close()]));

const open = (options: Partial<DurableStoreOptions> = {}): Promise<DurableStore> =>
  fixture.open({ decoders, onProblem: (problem) => problems.push(problem), ...options });
const leave = (name: string, bytes: string | Uint8Array): Promise<void> => writeFile(join(fixture.folder, name), bytes);

const ROWS = [
  [1n, 'a,b'],
  [2n, null],
  [3n, 'c'],
];
/** As spreadsheets save it: with a byte order mark. */
function inUtf16(text: string): Uint8Array {
  return Buffer.from(`\uFEFF${text}`, 'utf16le');
}

const FILES: Readonly<Record<string, string | Uint8Array>> = {
  'f.tsv': 'id\tname\n1\ta,b\n2\t\n3\tc\n',
  'f.csv.gz': gzipSync('id,name\n1,"a,b"\n2,\n3,c\n'),
  'f.csv': inUtf16('id,name\n1,"a,b"\n2,\n3,c\n'),
  'f.json': '[{"id":1,"name":"a,b"},{"id":2,"name":null},{"id":3,"name":"c"}]',
  'f.ndjson': '{"id":1,"name":"a,b"}\n{"id":2}\n{"id":3,"name":"c"}\n',
  'f.jsonl': '{"id":1,"name":"a,b"}\n{"id":2}\n{"id":3,"name":"c"}',
};

for (const [options, kinds] of byTier(Object.entries(FILES)))
  describe.each(kinds)('a file %s in the folder', options, (name, bytes) => {
    test('is a read-only frame until it is removed', { tags: ['slow'] }, async () => {
      const store = await open();
      expect(await store.describe(refOf('f'))).toBeUndefined();
      await leave(name, bytes);
      expect(await listDescribed(store)).toMatchObject([{ handle: 'f', rows: 3, tier: 'disk', expires: null }]);
      const frame = await store.open(refOf('f'));
      expect(await readRows(frame!.read({ offset: 1, limit: 1, columns: ['name', 'id'] }))).toEqual([[null, 2n]]);
      frame?.close();
      expect(await rowsOf(store, refOf('f'))).toEqual(ROWS);
      await expect(store.drop(refOf('f'))).rejects.toMatchObject({ code: 'permission_denied' });
      await rm(join(fixture.folder, name));
      expect(await store.describe(refOf('f'))).toBeUndefined();
      await store.close();
      expect(await readdir(fixture.folder)).toEqual([]);
    });

    test('changes the frame when it is replaced', async () => {
      const store = await open();
      await leave(name, bytes);
      expect(await rowsOf(store, refOf('f'))).toHaveLength(3);
      const pinned = await store.open(refOf('f'));
      const gz = name.endsWith('gz');
      const text = name.includes('csv') ? 'id,name\n7,x\n' : name.endsWith('tsv') ? 'id\tname\n7\tx\n' : undefined;
      const next = text ?? (name.endsWith('.json') ? '[{"id":7,"name":"x"}]' : '{"id":7,"name":"x"}\n');
      await leave('next', gz ? gzipSync(next) : next);
      await rename(join(fixture.folder, 'next'), join(fixture.folder, name));
      expect(await rowsOf(store, refOf('f'))).toEqual([[7n, 'x']]);
      pinned?.close();
    });
  });

test('SQL reads all of them', { tags: ['slow'] }, async () => {
  const store = await open();
  const engine = createSqlEngine({ store, tempDirectory: fixture.directory, maxConcurrent: 1 });
  try {
    const tables = await Promise.all(
      Object.entries(FILES).map(async ([name, bytes], i) => {
        await leave(name.replace('f.', `f${i}.`), bytes);
        return `SELECT id, name FROM f${i}`;
      }),
    );
    expect(await sqlRows(engine, `${tables.join(' INTERSECT ALL ')} ORDER BY id`)).toEqual(ROWS);
  } finally {
    await engine.close();
  }
});

test('files hide each other in this order: put, Parquet, Arrow, CSV, TSV, compressed CSV, JSON, NDJSON', async () => {
  const store = await open();
  const rows = async (): Promise<unknown> => (await rowsOf(store, refOf('f')))?.length;
  const seen: unknown[] = [];
  for (const [name, bytes] of [
    ['f.jsonl', '{"id":1}\n'.repeat(8)],
    ['f.ndjson', '{"id":1}\n'.repeat(7)],
    ['f.json', `[${Array.from({ length: 6 }, () => '{"id":1}').join()}]`],
    ['f.csv.gz', gzipSync(`id\n${'1\n'.repeat(5)}`)],
    ['f.tsv', `id\n${'1\n'.repeat(4)}`],
    ['f.csv', `id\n${'1\n'.repeat(3)}`],
  ] as const) {
    await leave(name, bytes);
    seen.push(await rows());
    expect(await listDescribed(store)).toMatchObject([{ handle: 'f', rows: seen.at(-1) }]);
  }
  expect(seen).toEqual([8, 7, 6, 5, 4, 3]);
});

test('a JSON file that is not an array is no table: it is named once, with a hint', async () => {
  const store = await open();
  await leave('package.json', '{ "name": "x" }');
  await leave('other.json', ' \n[{"id":1}]');
  for (let i = 0; i < 2; i++) expect(await listDescribed(store)).toMatchObject([{ handle: 'other', rows: 1 }]);
  expect(problems).toMatchObject([{ kind: 'not_a_table', handle: 'package' }]);
  await expect(store.open(refOf('package'))).rejects.toMatchObject({
    code: 'invalid_data',
    message: '"package.json" is not a table: it is not an array of objects.',
    hint: expect.stringContaining('name it .ndjson'),
  });
});

describe('a broken file', () => {
  test.each<[string, string, string | Uint8Array, RegExp]>([
    ['is cut', 'f.csv.gz', FILES['f.csv.gz'].slice(0, -12), /gzip/],
    ['is not compressed', 'f.csv.gz', 'id\n1\n', /gzip/],
    ['is compressed text that is not CSV', 'f.csv.gz', gzipSync('a,b\n1,2\n1,2,3\n'), /[Ll]ine 3/],
    ['is in Latin-1', 'f.csv', Buffer.from('id,name\n1,Zoë\n', 'latin1'), /is not UTF-8/],
    ['ends inside a character of UTF-16', 'f.tsv', inUtf16('id\n1\n').subarray(0, -1), /UTF-16/],
    ['is cut', 'f.json', '[{"id":1},{"id"', /JSON|end/],
    ['has a broken line', 'f.ndjson', '{"id":1}\n{"id":\n', /line 2/i],
    ['has a line with too many values', 'f.tsv', 'a\tb\n1\t2\n1\t2\t3\n', /CSV/],
  ])('affects only its handle if it %s: %s', async (_name, name, bytes, message) => {
    const store = await open();
    await leave(name, bytes);
    await leave('other.json', '[{"id":1}]');
    expect(await listDescribed(store)).toMatchObject([{ handle: 'other' }]);
    expect(problems).toMatchObject([{ kind: 'unreadable_frame', handle: 'f' }]);
    await expect(store.open(refOf('f'))).rejects.toMatchObject({
      code: 'invalid_data',
      message: expect.stringMatching(message),
    });
    expect((await readdir(fixture.folder)).filter((one) => one.startsWith('.tmp-') && one.includes('csv'))).toEqual([]);
  });

  test('in another encoding says how to save it', async () => {
    const store = await open();
    await leave('f.csv', Buffer.from('id,name\n1,Zoë\n', 'latin1'));
    await expect(store.open(refOf('f'))).rejects.toMatchObject({
      hint: 'Save the file it comes from as UTF-8, or as UTF-16 with a byte order mark, or put it as a frame with ?encoding=.',
    });
  });

  test('may not decompress to more than the limit', async () => {
    const store = await open({ maxDecompressedBytes: 1000 });
    await leave('f.csv.gz', gzipSync(`id\n${'1\n'.repeat(1000)}`));
    const refusal = { code: 'payload_too_large', message: 'The file decompresses to more than 1000 bytes.' };
    for (let i = 0; i < 2; i++) await expect(store.open(refOf('f'))).rejects.toMatchObject(refusal);
  });
});

describe('a file that changes while it is read', () => {
  test.each(['f.csv', 'f.tsv'])('is an error, not a partial answer: %s', async (name) => {
    const store = await open({ cacheBytes: 0 });
    await leave(name, `id\n${'1\n'.repeat(2000)}`);
    const frame = await store.open(refOf('f'));
    const read = (async () => {
      let rows = 0;
      for await (const batch of frame!.read().batches) {
        if (rows === 0) await appendFile(join(fixture.folder, name), '2\n');
        rows += batch.numRows;
      }
    })();
    await expect(read).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('changed') });
    frame?.close();
    expect(await rowsOf(store, refOf('f'))).toHaveLength(2001);
  });

  test('does not change a frame that was converted', async () => {
    const store = await open({ cacheBytes: 0 });
    await leave('f.ndjson', '{"id":1}\n');
    const frame = await store.open(refOf('f'));
    await appendFile(join(fixture.folder, 'f.ndjson'), '{"id":2}\n');
    expect(await readRows(frame!.read())).toEqual([[1n]]);
    expect(await rowsOf(store, refOf('f'))).toEqual([[1n], [2n]]);
    frame?.close();
  });
});
