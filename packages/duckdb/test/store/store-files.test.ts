import { copyFile, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onAbort } from '@svc/errors';
import { createDecoders, encodeArrowStream, type FrameFile, type FrameFileFormat, streamFromTable } from '@svc/frames';
import { bytesOf, longFrame, streamOfBatches } from '@svc/frames/testing';
import {
  Dictionary,
  Field,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableFromIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import type { DurableStore } from '../../src/store/durable-store.ts';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

const files = createFrameFiles({ tempDirectory: tmpdir() });
const decoders = createDecoders({ maxBytes: 1e9 });
const trades = refOf('trades');
const PARQUET_FIXTURES = join(import.meta.dirname, '..', 'parquet');
let fixture: StoreFixture;
let store: DurableStore;

beforeEach(async () => {
  fixture = await createStoreFixture(files);
  store = await fixture.open({ decoders, tempDirectory: fixture.directory });
});
afterEach(() => fixture.remove());
afterAll(async () => {
  await Promise.all([files.close(), decoders.close()]);
});

interface Opened {
  readonly file: FrameFile;
  close(): void;
}

async function openFile(handle: string, format: FrameFileFormat, signal?: AbortSignal): Promise<Opened> {
  const frame = await store.open(refOf(handle));
  if (frame?.file === undefined) throw new Error('There is no such file.');
  try {
    const file = await frame.file(format, { ...(signal && { signal }) });
    if (file === undefined) throw new Error('There is no such file.');
    const close = (): void => {
      file.close();
      frame.close();
    };
    return { file, close };
  } catch (error) {
    frame.close();
    throw error;
  }
}

async function readAll({ file }: Opened, start = 0, end = file.bytes): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.read({ start, end })) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** Opens a file, reads it and closes it. */
async function fileOf(handle: string, format: FrameFileFormat): Promise<{ bytes: Buffer; version: string }> {
  const opened = await openFile(handle, format);
  try {
    return { bytes: await readAll(opened), version: opened.file.version };
  } finally {
    opened.close();
  }
}

/** The encoded files that have a name: those that are being written. */
async function namedFiles(): Promise<string[]> {
  const names = await readdir(fixture.directory, { recursive: true });
  return names.filter((name) => name.includes('svc-export-') && /\.(arrow|parquet|csv|ndjson)/.test(name));
}

const idsOf = (bytes: Uint8Array): unknown[] => [...(tableFromIPC(bytes).getChildAt(0) ?? [])];

test('the Parquet file is the stored one, under the version of the frame', async () => {
  const { info } = await store.put(trades, longFrame(50_000));
  const { bytes, version } = await fileOf('trades', 'parquet');
  expect(bytes.equals(await readFile((await fixture.parts('trades'))[0] ?? ''))).toBe(true);
  expect(version).toBe(info.version);
});

test.each<[FrameFileFormat, (bytes: Buffer) => unknown]>([
  ['arrow', (bytes) => idsOf(bytes)],
  ['csv', (bytes) => bytes.toString().trim().split('\r\n').slice(1).map(BigInt)],
  [
    'ndjson',
    (bytes) =>
      bytes
        .toString()
        .trim()
        .split('\n')
        .map((line) => BigInt(JSON.parse(line).id)),
  ],
])('the %s file has all rows, and the same bytes after a restart and in any range', async (format, parse) => {
  await store.put(trades, longFrame(50_000, { batchRows: 7777 }));
  const { bytes, version } = await fileOf('trades', format);
  expect(parse(bytes)).toEqual(Array.from({ length: 50_000 }, (_, id) => BigInt(id)));
  expect(version).toMatch(format === 'arrow' ? /^[0-9A-Z]{26}\.[0-9a-f]{8}$/ : /^[0-9A-Z]{26}$/);
  await store.close();
  store = await fixture.open({ decoders, tempDirectory: fixture.directory, cacheBytes: 0 });
  const opened = await openFile('trades', format);
  expect(opened.file.version).toBe(version);
  const middle = Math.floor(bytes.length / 3);
  for (const [start, end] of [
    [0, 1],
    [0, bytes.length],
    [middle, middle + 5],
    [bytes.length - 1, bytes.length],
  ] as const) {
    expect((await readAll(opened, start, end)).equals(bytes.subarray(start, end)), `${start}..${end}`).toBe(true);
  }
  opened.close();
  expect(await namedFiles()).toEqual([]);
});

test.each(['parquet', 'arrow', 'csv', 'ndjson'] as const)(
  'the %s file of a frame without rows is one',
  async (format) => {
    await store.put(trades, longFrame(0));
    const { bytes } = await fileOf('trades', format);
    if (format === 'arrow') expect(tableFromIPC(bytes).schema.names).toEqual(['id']);
    else expect(bytes.toString('latin1')).toMatch({ parquet: /^PAR1.*PAR1$/s, csv: /^id\r\n$/, ndjson: /^$/ }[format]);
  },
);

test.each(['parquet', 'arrow'] as const)(
  'an open %s file survives a replace and a drop of its frame',
  async (format) => {
    await store.put(trades, longFrame(50_000));
    const before = await fileOf('trades', format);
    const opened = await openFile('trades', format);
    await store.put(trades, longFrame(10));
    await store.drop(trades);
    expect((await readAll(opened)).equals(before.bytes)).toBe(true);
    opened.close();
    await expect.poll(() => fixture.names()).toEqual([]);
  },
);

test('a frame of several parts is one file with all rows', async () => {
  await store.put(trades, longFrame(3));
  await store.append(trades, longFrame(2, { start: 3 }));
  await store.append(trades, longFrame(1, { start: 5 }));
  const ids = [0n, 1n, 2n, 3n, 4n, 5n];
  expect(idsOf((await fileOf('trades', 'arrow')).bytes)).toEqual(ids);
  const parquet = await fileOf('trades', 'parquet');
  const path = join(fixture.directory, 'whole.parquet');
  await writeFile(path, parquet.bytes);
  expect((await rowsOf(store, refOf('whole')))?.flat()).toEqual(ids);
  expect((await fileOf('trades', 'parquet')).version).toBe(parquet.version);
  expect((await fileOf('trades', 'csv')).bytes.toString()).toBe(`id\r\n${ids.join('\r\n')}\r\n`);
});

test('a damaged file is not sent, not even an intact range of it', async () => {
  await store.put(trades, longFrame(50_000));
  const [path = ''] = await fixture.parts('trades');
  const bytes = await readFile(path);
  bytes.writeUInt8(bytes.readUInt8(1000) ^ 1, 1000);
  await writeFile(path, bytes);
  for (const format of ['parquet', 'arrow', 'csv'] as const) {
    await expect(openFile('trades', format), format).rejects.toMatchObject({
      code: 'internal',
      message: 'The frame "trades" cannot be read: its file is damaged.',
    });
  }
  expect(await namedFiles()).toEqual([]);
});

describe('a foreign file', () => {
  test('that is Parquet is sent as it is, until it changes', async () => {
    const path = join(fixture.directory, 'far.parquet');
    await store.put(trades, longFrame(100));
    const bytes = await readFile((await fixture.parts('trades'))[0] ?? '');
    // Without our metadata it is a file of another program.
    for (const mark of ['SVC-CRC1', 'svc:checks', 'svc:schema']) bytes.write('x', bytes.lastIndexOf(mark));
    await writeFile(path, bytes);
    const before = await fileOf('far', 'parquet');
    expect(before.bytes.equals(bytes)).toBe(true);
    const opened = await openFile('far', 'parquet');
    await utimes(path, new Date(), new Date(Date.now() - 5000));
    await expect(readAll(opened)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('"far"'),
    });
    opened.close();
    expect((await fileOf('far', 'parquet')).version).not.toBe(before.version);
  });

  test('that is Parquet with values that readers change is encoded', { tags: ['slow'] }, async () => {
    await copyFile(join(PARQUET_FIXTURES, 'int96-micros.parquet'), join(fixture.directory, 'old.parquet'));
    const { bytes, version } = await fileOf('old', 'parquet');
    expect(bytes.includes('svc:schema')).toBe(true);
    expect(version).toMatch(/\.[0-9a-f]{8}$/);
  });

  test('that is CSV is encoded', { tags: ['slow'] }, async () => {
    await writeFile(join(fixture.directory, 'text.csv'), 'id\n5\n7\n');
    expect(idsOf((await fileOf('text', 'arrow')).bytes)).toEqual([5n, 7n]);
    expect((await fileOf('text', 'csv')).bytes.toString()).toBe('id\r\n5\r\n7\r\n');
    expect((await fileOf('text', 'parquet')).bytes.toString('latin1', 0, 4)).toBe('PAR1');
  });

  test('that is an Arrow stream with other dictionaries in each batch is an Arrow file of plain texts', async () => {
    const type = new Dictionary(new Utf8(), new Int32(), 1);
    const schema = new Schema([new Field('s', type, false)]);
    const batches = [['a', 'b'], ['c'], ['d', 'a']].map((words) => {
      const data = makeData({
        type,
        length: words.length,
        data: Int32Array.from(words.keys()),
        dictionary: vectorFromArray(words, new Utf8()),
      });
      const struct = makeData({ type: new Struct(schema.fields), length: words.length, children: [data] });
      return new RecordBatch(schema, struct);
    });
    const stream = await bytesOf(encodeArrowStream(streamOfBatches(schema, batches)));
    await writeFile(join(fixture.directory, 'words.arrow'), stream);
    expect(idsOf((await fileOf('words', 'arrow')).bytes)).toEqual(['a', 'b', 'c', 'd', 'a']);
  });
});

describe('encoding', () => {
  test('is done once for concurrent and later requests', async () => {
    await store.put(trades, longFrame(20_000));
    let reads = 0;
    await store.close();
    const counted = { ...files, close: async () => {} };
    counted.read = (...args) => {
      reads += 1;
      return files.read(...args);
    };
    store = await fixture.open({ files: counted, tempDirectory: fixture.directory, cacheBytes: 0 });
    const both = await Promise.all([fileOf('trades', 'arrow'), fileOf('trades', 'arrow')]);
    const later = await fileOf('trades', 'arrow');
    expect(both.map(({ version }) => version)).toEqual([later.version, later.version]);
    expect(reads).toBe(1);
  });

  test('is not started for a file that must exist', async () => {
    await store.put(trades, longFrame(10));
    const frame = await store.open(trades);
    expect(await frame?.file?.('csv', { mustExist: true })).toBeUndefined();
    const { bytes } = await fileOf('trades', 'csv');
    const kept = await frame?.file?.('csv', { mustExist: true });
    expect(kept?.bytes).toBe(bytes.length);
    kept?.close();
    frame?.close();
  });

  test('goes on while one of its requests waits', async () => {
    const values = Array.from({ length: 200_000 }, (_, i) => Math.sin(i));
    await store.put(trades, streamFromTable(new Table({ x: vectorFromArray(values, new Float64()) })));
    const clients = [new AbortController(), new AbortController(), new AbortController()];
    const [first, second, third] = clients.map(({ signal }) => openFile('trades', 'csv', signal));
    await expect.poll(namedFiles, { interval: 5 }).toHaveLength(1);
    clients[0]?.abort();
    await expect(first).rejects.toMatchObject({ code: 'cancelled' });
    clients[1]?.abort();
    await expect(second).rejects.toMatchObject({ code: 'cancelled' });
    const opened = await third;
    if (opened === undefined) throw new Error('There is no third client.');
    expect((await readAll(opened)).toString().split('\r\n')).toHaveLength(200_002);
    opened.close();
  });

  test('is cancelled when no request waits for it', async () => {
    await store.put(trades, longFrame(10));
    await store.close();
    const stuck = { ...files, close: async () => {} };
    stuck.read = (source, info, part = {}) => {
      const { schema, batches } = files.read(source, info, part);
      async function* waiting(): AsyncGenerator<RecordBatch> {
        yield* batches;
        await new Promise((_resolve, reject) => onAbort(part.signal, () => reject(part.signal?.reason)));
      }
      return { schema, batches: waiting() };
    };
    store = await fixture.open({ files: stuck, tempDirectory: fixture.directory, cacheBytes: 0 });
    const client = new AbortController();
    const abandoned = openFile('trades', 'csv', client.signal);
    await expect.poll(namedFiles, { interval: 5 }).toHaveLength(1);
    client.abort();
    await expect(abandoned).rejects.toMatchObject({ code: 'cancelled' });
    await expect.poll(namedFiles).toEqual([]);
  });

  test('beyond the limit is out_of_disk while files are in use, and replaces idle ones', async () => {
    await store.close();
    store = await fixture.open({ tempDirectory: fixture.directory, diskCacheBytes: 200_000 });
    for (const handle of ['a', 'b']) await store.put(refOf(handle), longFrame(15_000));
    await store.put(refOf('large'), longFrame(30_000));
    await expect(fileOf('large', 'arrow')).rejects.toMatchObject({
      code: 'out_of_disk',
      hint: expect.stringContaining('storage.disk_cache_bytes'),
    });
    const used = await openFile('a', 'arrow');
    await expect(fileOf('b', 'arrow')).rejects.toMatchObject({ code: 'out_of_disk' });
    used.close();
    expect(idsOf((await fileOf('b', 'arrow')).bytes)).toHaveLength(15_000);
  });
});
