import { mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  encodingContract,
  bytesOf,
  longFrame,
  SAMPLE_FRAMES,
  streamOfBatches,
  streamOfSample,
} from '@svc/frames/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FrameFiles } from './frame-files.ts';
import { createParquetEncoder } from './parquet-encoder.ts';
import { createFilesFixture, type FilesFixture, textOf } from '../testing/files-fixture.ts';
import { SLOW } from '../../../../test/tier.ts';

const NEVER = new AbortController().signal;

let fixture: FilesFixture;
let directory: string;
beforeAll(async () => {
  fixture = await createFilesFixture();
  directory = join(fixture.folder, 'exports');
  await mkdir(directory);
  await fixture.files.warm();
});
afterAll(() => fixture.close());

const encode = (files: FrameFiles = fixture.files): ReturnType<typeof createParquetEncoder> =>
  createParquetEncoder(files, { directory, compression: { compression: 'none' } });

/** The files that are being written. */
async function exports(): Promise<string[]> {
  const names = await readdir(directory, { recursive: true });
  return names.filter((name) => name.endsWith('.parquet'));
}

// The tests of `FrameFiles` cover every sample. These show that the encoder returns the bytes of those files.
const NAMES = new Set(['int64', 'utf8', 'struct of int128', 'one batch of no rows', 'columns with names of all kinds']);

encodingContract('parquet', (source) => encode()(source, NEVER), {
  samples: SAMPLE_FRAMES.filter(({ name }) => NAMES.has(name)),
  otherForms: SLOW,
  async check(bytes, sample) {
    const path = fixture.path();
    await writeFile(path, bytes);
    const source = { kind: 'parquet', path } as const;
    expect(await textOf(fixture.files.read(source, await fixture.describe(source)))).toBe(
      await textOf(streamOfSample(sample)),
    );
    expect(await exports()).toEqual([]);
  },
});

test('the bytes are a Parquet file, which is unlinked before the first chunk', async () => {
  const chunks = encode()(longFrame(100_000), NEVER);
  const first = await chunks.next();
  expect(Buffer.from(first.value ?? []).toString('latin1', 0, 4)).toBe('PAR1');
  expect(await exports()).toEqual([]);
  const rest = Buffer.from(await bytesOf(chunks));
  expect(rest.toString('latin1', rest.length - 4)).toBe('PAR1');
});

test('a disconnect while the file is being written cancels the write and leaves nothing', async () => {
  const controller = new AbortController();
  const { schema, batches } = longFrame(1000);
  async function* endless() {
    yield* batches;
    await expect.poll(exports).toHaveLength(1);
    controller.abort(new Error('gone'));
    await new Promise(() => {});
  }
  const chunks = encode()(streamOfBatches(schema, endless()), controller.signal);
  await expect(chunks.next()).rejects.toThrow('gone');
  expect(await exports()).toEqual([]);
});

test('a disconnect between two chunks ends the stream', async () => {
  const controller = new AbortController();
  const chunks = encode()(longFrame(200_000), controller.signal);
  await chunks.next();
  controller.abort(new Error('gone'));
  await expect(chunks.next()).rejects.toThrow('gone');
});

test('a source that fails leaves nothing', async () => {
  const { schema, batches } = longFrame(1000);
  async function* failing() {
    yield* batches;
    throw new RangeError('no more');
  }
  await expect(bytesOf(encode()(streamOfBatches(schema, failing()), NEVER))).rejects.toThrow('no more');
  expect(await exports()).toEqual([]);
});

test.each(['ENOSPC', 'EDQUOT'])('a full disk (%s) is out_of_disk, and nothing is left', async (code) => {
  const files: FrameFiles = {
    ...fixture.files,
    async write(path) {
      await writeFile(path, 'half');
      throw Object.assign(new Error(`${path}: no space`), { code });
    },
  };
  await expect(bytesOf(encode(files)(longFrame(10), NEVER))).rejects.toMatchObject({
    code: 'out_of_disk',
    message: 'There is no space left on the disk to write the Parquet file.',
  });
  expect(await exports()).toEqual([]);
});

test('all exports share a private folder, and folders of killed processes are removed', async () => {
  const [killed, young] = ['svc-export-aBcDeF', 'svc-export-gHiJkL'].map((name) => join(directory, name));
  for (const path of [killed, young]) await mkdir(path ?? '');
  await writeFile(join(killed ?? '', 'frame.parquet'), 'half');
  const longAgo = new Date(Date.now() - 3_600_000);
  await utimes(killed ?? '', longAgo, longAgo);
  const before = await readdir(directory);
  const encodeHere = encode();
  for (let i = 0; i < 2; i += 1) await bytesOf(encodeHere(longFrame(10), NEVER));
  const added = (await readdir(directory)).filter((name) => !before.includes(name));
  expect(added).toHaveLength(1);
  expect((await stat(join(directory, added[0] ?? ''))).mode & 0o777).toBe(0o700);
  await expect.poll(() => readdir(directory)).not.toContain('svc-export-aBcDeF');
  expect(await readdir(directory)).toContain('svc-export-gHiJkL');
});
