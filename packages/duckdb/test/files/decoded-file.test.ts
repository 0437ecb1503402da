import { readdir, readlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encodeArrowStream, type FrameStream } from '@svc/frames';
import { longFrame, streamOfSample } from '@svc/frames/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { byTier, runs } from '../../../../test/tier.ts';
import type { DecodedFile, ReadPart, SourceInfo } from '../../src/files/frame-files.ts';
import { createUnnamedFiles, type UnnamedFiles } from '../../src/disk/unnamed-files.ts';
import { createFilesFixture, type FilesFixture, STORABLE_FRAMES, textOf } from '../../src/testing/files-fixture.ts';

let fixture: FilesFixture;
let unnamed: UnnamedFiles;
beforeAll(async () => {
  fixture = await createFilesFixture();
  unnamed = createUnnamedFiles(fixture.folder);
  await fixture.files.warm();
});
afterAll(() => fixture.close());

interface Written {
  readonly info: SourceInfo;
  readonly decoded: DecodedFile;
  /** Reads the Parquet file. */
  readonly read: (part?: ReadPart) => FrameStream;
}

async function write(frame: FrameStream, onSize: (bytes: number) => Promise<void> = async () => {}): Promise<Written> {
  const source = { kind: 'parquet', path: fixture.path() } as const;
  await fixture.files.write(source.path, frame, { compression: 'zstd' });
  const info = await fixture.describe(source);
  const { signal } = new AbortController();
  const decoded = await fixture.files.decode(source, info, { unnamed, onSize, signal });
  return { info, decoded, read: (part) => fixture.files.read(source, info, part) };
}

/** Rows as an Arrow stream, which shows the schema and every value exactly. */
async function arrowOf(frame: FrameStream): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const bytes of encodeArrowStream(frame)) parts.push(bytes.slice());
  return Buffer.concat(parts).toString('base64');
}

/** Several batches of several columns. */
const LONG_ROWS = 300_000;
const SHAPES = STORABLE_FRAMES.filter(({ schema, batches }) => schema.fields.length > 1 && batches.length > 0);

describe('every sample frame', () => {
  for (const [options, samples] of byTier(STORABLE_FRAMES)) {
    test.each(samples)('is read as from the Parquet file: $name', options, async (sample) => {
      const { decoded, read } = await write(streamOfSample(sample));
      expect(await arrowOf(decoded.read())).toBe(await arrowOf(read()));
      expect(await textOf(decoded.read({ reuseBuffers: true }))).toBe(await textOf(streamOfSample(sample)));
      await decoded.close();
    });
  }
});

test('any rows and columns are read as from the Parquet file', async () => {
  const written = await Promise.all(SHAPES.slice(0, 6).map((sample) => write(streamOfSample(sample))));
  const parts = fc.record({
    offset: fc.nat(30),
    limit: fc.option(fc.nat(30), { nil: Infinity }),
    columns: fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 3 }),
    reuseBuffers: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...written), parts, async ({ decoded, info, read }, { columns, ...part }) => {
      const chosen = { ...part, columns: columns.filter((at) => at < info.schema.fields.length) };
      fc.pre(chosen.columns.length > 0);
      expect(await textOf(decoded.read(chosen))).toBe(await textOf(read(chosen)));
      expect(String(decoded.read(chosen).schema)).toBe(String(read(chosen).schema));
    }),
    { numRuns: runs(300) },
  );
  for (const { decoded } of written) await decoded.close();
});

test('windows of a file of several batches have their rows, and only these', async () => {
  const { decoded } = await write(longFrame(LONG_ROWS, { batchRows: 50_000 }));
  const idsOf = async (part: ReadPart): Promise<readonly number[]> => {
    const ids: number[] = [];
    for await (const batch of decoded.read(part).batches) {
      for (const id of batch.getChildAt(0) ?? []) ids.push(Number(id));
    }
    return ids;
  };
  const windows = fc.tuple(fc.nat(LONG_ROWS + 10), fc.nat(200_000), fc.boolean());
  await fc.assert(
    fc.asyncProperty(windows, async ([offset, limit, reuseBuffers]) => {
      const ids = await idsOf({ offset, limit, reuseBuffers });
      expect(ids.length).toBe(Math.max(0, Math.min(limit, LONG_ROWS - offset)));
      expect(ids.every((id, at) => id === offset + at)).toBe(true);
    }),
    { numRuns: runs(50) },
  );
  await decoded.close();
});

test('a frame without rows is empty', async () => {
  const { decoded } = await write(longFrame(0));
  expect(decoded.bytes).toBe(0);
  expect(await textOf(decoded.read())).toBe('');
  expect(await textOf(decoded.read({ offset: 5, limit: 5 }))).toBe('');
  await decoded.close();
});

test('readers of one file at the same time, some of which stop halfway, do not disturb each other', async () => {
  const { decoded } = await write(longFrame(LONG_ROWS, { batchRows: 50_000 }));
  const expected = await textOf(longFrame(LONG_ROWS));
  const whole = Array.from({ length: 4 }, (_, i) => textOf(decoded.read({ reuseBuffers: i % 2 === 0 })));
  const halves = Array.from({ length: 4 }, async (_, i) => {
    for await (const batch of decoded.read({ reuseBuffers: i % 2 === 0 }).batches) return batch.numRows;
    return 0;
  });
  expect((await Promise.all(halves)).every((rows) => rows > 0)).toBe(true);
  for (const text of await Promise.all(whole)) expect(text === expected).toBe(true);
  await decoded.close();
});

test('a batch of a reader that has left stays as it is while others read', async () => {
  const { decoded } = await write(longFrame(LONG_ROWS, { batchRows: 50_000 }));
  const iterator = decoded.read({ reuseBuffers: true }).batches[Symbol.asyncIterator]();
  const { value: batch } = await iterator.next();
  await iterator.return?.();
  for (let i = 0; i < 3; i++) await textOf(decoded.read({ offset: 200_000, reuseBuffers: true }));
  expect([batch?.getChildAt(0)?.get(0), batch?.getChildAt(0)?.get(1000)]).toEqual([0n, 1000n]);
  await decoded.close();
});

test('a read that is aborted fails', async () => {
  const { decoded } = await write(longFrame(LONG_ROWS, { batchRows: 50_000 }));
  const controller = new AbortController();
  const { batches } = decoded.read({ signal: controller.signal });
  const iterator = batches[Symbol.asyncIterator]();
  await iterator.next();
  controller.abort(new Error('Enough.'));
  await expect(iterator.next()).rejects.toThrow('Enough.');
  await decoded.close();
});

test('the size is reported before the file grows, and a refusal leaves nothing', async () => {
  const sizes: number[] = [];
  const { decoded } = await write(longFrame(LONG_ROWS, { batchRows: 50_000 }), async (bytes) => void sizes.push(bytes));
  expect(sizes.length).toBeGreaterThan(1);
  expect(sizes.at(-1)).toBe(decoded.bytes);
  await decoded.close();
  await expect(
    write(longFrame(LONG_ROWS), async () => {
      throw new Error('Too large.');
    }),
  ).rejects.toThrow('Too large.');
  const folders = (await readdir(fixture.folder)).filter((name) => name.startsWith('svc-export-'));
  for (const folder of folders) {
    expect((await readdir(join(fixture.folder, folder))).filter((name) => name.endsWith('.rows'))).toEqual([]);
  }
});

// Linux shows the file, though it has no name.
describe.runIf(process.platform === 'linux')('a file that another program changes', () => {
  /** The paths of the open files of decoded rows. */
  async function openFiles(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const name of await readdir('/proc/self/fd')) {
      const path = `/proc/self/fd/${name}`;
      const target = await readlink(path).catch(() => '');
      if (target.startsWith(fixture.folder) && target.endsWith('.rows (deleted)')) found.push(path);
    }
    return found;
  }

  test('is an error when its bytes are read first', async () => {
    const { decoded } = await write(longFrame(1000));
    const [path = ''] = await openFiles();
    await writeFile(path, Buffer.alloc(decoded.bytes, 1));
    await expect(textOf(decoded.read())).rejects.toThrow('other bytes than were written');
    await decoded.close();
  });

  test('is an error if its bytes are read again after a while', async () => {
    const { decoded } = await write(longFrame(1000));
    const expected = await textOf(decoded.read());
    const [path = ''] = await openFiles();
    const now = vi.spyOn(performance, 'now');
    onTestFinished(() => now.mockRestore());
    now.mockReturnValue(performance.now() + 10_001);
    expect(await textOf(decoded.read())).toBe(expected);
    await writeFile(path, Buffer.alloc(decoded.bytes, 1));
    now.mockReturnValue(performance.now() + 10_001);
    await expect(textOf(decoded.read())).rejects.toThrow('other bytes than were written');
    await decoded.close();
  });

  test('is an error if it is shorter', async () => {
    const { decoded } = await write(longFrame(1000));
    const [path = ''] = await openFiles();
    await truncate(path, 100);
    await expect(textOf(decoded.read())).rejects.toThrow('shorter than it was');
    await decoded.close();
    expect(await openFiles()).toEqual([]);
  });
});
