import { access, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import { longFrame } from '@svc/frames/testing';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import type { FileSource, PartsSource, SourceInfo } from '../../src/files/frame-files.ts';
import { startChild } from '../../src/child-link/child-link.ts';
import { createFilesFixture, type FilesFixture } from '../../src/testing/files-fixture.ts';
import { idsOf, ROWS, slowFrame, writeLongFile } from '../long-file.ts';

let fixture: FilesFixture;
let source: FileSource;
let info: SourceInfo;
beforeAll(async () => {
  fixture = await createFilesFixture();
  ({ source, info } = await writeLongFile(fixture));
});
afterAll(() => fixture.close());

test('requests go to a child that was started before', async () => {
  const tempDirectory = tmpdir();
  const child = startChild({ tempDirectory });
  const files = createFrameFiles({ tempDirectory, child });
  onTestFinished(() => files.close());
  await files.warm();
  expect(files.childPid).toBe(child.pid);
  process.kill(child.pid ?? 0, 'SIGKILL');
  await expect.poll(() => child.isAlive).toBe(false);
  await files.warm();
  expect(files.childPid).not.toBe(child.pid);
});

test('a million rows come back in order', async () => {
  let next = 0n;
  for await (const batch of fixture.files.read(source, info).batches) {
    for (const id of batch.getChildAt(0)!.toArray() as BigInt64Array)
      if (id !== next++) throw new Error(`${id} is out of order`);
  }
  expect(next).toBe(BigInt(ROWS));
});

test.each([
  [0, 3, [0n, 1n, 2n]],
  [20_479, 2, [20_479n, 20_480n]],
  [ROWS - 2, 10, [BigInt(ROWS - 2), BigInt(ROWS - 1)]],
  [ROWS, 10, []],
  [2 * ROWS, 10, []],
  [5, 0, []],
])('from row %d on, %d rows at the most', async (offset, limit, ids) => {
  expect(await idsOf(fixture.files.read(source, info, { offset, limit }))).toEqual(ids);
});

test('columns come in the requested order, and an empty selection has only rows', async () => {
  const twice = fixture.files.read(source, info, { limit: 2, columns: [0, 0] });
  expect(twice.schema.fields.map(({ name }) => name)).toEqual(['id', 'id']);
  expect(await idsOf(twice)).toEqual([0n, 1n]);
  let rows = 0;
  for await (const batch of fixture.files.read(source, info, { columns: [] }).batches) rows += batch.numRows;
  expect(rows).toBe(ROWS);
});

test('concurrent reads each get their rows', async () => {
  const offsets = Array.from({ length: 24 }, (_, i) => i * 40_000);
  const all = await Promise.all(
    offsets.map((offset) => idsOf(fixture.files.read(source, info, { offset, limit: 5000 }))),
  );
  expect(all.map((ids) => [ids.length, ids[0]])).toEqual(offsets.map((offset) => [5000, BigInt(offset)]));
});

describe('several parts', () => {
  /** A long part between two short ones: the ids are 0 to ROWS + 5 in order. */
  async function severalParts(): Promise<{ source: PartsSource; info: SourceInfo }> {
    const [first, second] = [fixture.path(), fixture.path()];
    const short = await fixture.files.write(first, longFrame(3, { start: -3 }), { compression: 'none' });
    await fixture.files.write(second, longFrame(3, { start: ROWS }), { compression: 'none' });
    const parts = [
      { path: first, size: short },
      { path: source.path, size: { rows: ROWS, fileBytes: 0 } },
      { path: second, size: short },
    ];
    return { source: { kind: 'parts', parts }, info: { ...info, rows: ROWS + 6 } };
  }

  test.each<[string, number, number]>([
    ['the first rows', 0, 2],
    ['rows across the first and the second', 2, 3],
    ['rows of all', 1, ROWS + 4],
    ['all rows', 0, ROWS + 6],
    ['rows across the second and the third', ROWS + 1, 4],
    ['the last row', ROWS + 5, 10],
    ['no rows', ROWS + 6, 10],
  ])('are read in order: %s', { tags: ['slow'] }, async (_name, offset, limit) => {
    const several = await severalParts();
    const ids = await idsOf(fixture.files.read(several.source, several.info, { offset, limit }));
    const count = Math.min(limit, ROWS + 6 - offset);
    expect(ids).toEqual(Array.from({ length: count }, (_, i) => BigInt(offset + i - 3)));
  });

  test('are merged in order', async () => {
    const several = await severalParts();
    const path = fixture.path();
    const written = await fixture.files.merge(several.source, several.info, path, { compression: 'snappy' });
    expect(written.rows).toBe(ROWS + 6);
    const ids = await idsOf(fixture.files.read({ kind: 'parquet', path }, written, { offset: ROWS + 2 }));
    expect(ids).toEqual([-1n, 0n, 1n, 2n].map((id) => id + BigInt(ROWS)));
  });
});

describe('cancelling', () => {
  test('in the middle of a write leaves no file', async () => {
    const controller = new AbortController();
    const path = fixture.path();
    const writing = fixture.files.write(path, slowFrame(new Promise(() => undefined)), {
      compression: 'zstd',
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(new Error('enough')), 50);
    await expect(writing).rejects.toThrow('enough');
    expect(await readdir(fixture.folder)).not.toContain(basename(path));
  });

  test('before the start does nothing', async () => {
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(idsOf(fixture.files.read(source, info, { signal }))).rejects.toThrow('too late');
    await expect(fixture.files.write(fixture.path(), longFrame(1), { compression: 'zstd', signal })).rejects.toThrow(
      'too late',
    );
  });
});

test('many uploads that wait for rows do not block reads, and all end', async () => {
  let end = (): void => undefined;
  const until = new Promise<void>((resolve) => (end = resolve));
  const writing = Promise.all(
    Array.from({ length: 40 }, () => fixture.files.write(fixture.path(), slowFrame(until), { compression: 'zstd' })),
  );
  expect(await idsOf(fixture.files.read(source, info, { limit: 1 }))).toEqual([0n]);
  end();
  expect((await writing).map(({ rows }) => rows)).toEqual(Array(40).fill(10));
});

test('a write fails with the error of its source, and leaves no file', async () => {
  const path = fixture.path();
  const broken = Promise.reject(new Error('the upload broke'));
  // It is read in a later turn.
  broken.catch(() => undefined);
  await expect(fixture.files.write(path, slowFrame(broken), { compression: 'zstd' })).rejects.toThrow(
    'the upload broke',
  );
  expect(await readdir(fixture.folder)).not.toContain(basename(path));
});

test('killing the child fails the requests in flight, and the next request works', async () => {
  await fixture.files.warm();
  const pid = fixture.files.childPid ?? 0;
  let end = (): void => undefined;
  const writing = fixture.files.write(fixture.path(), slowFrame(new Promise<void>((resolve) => (end = resolve))), {
    compression: 'zstd',
  });
  const iterator = fixture.files.read(source, info).batches[Symbol.asyncIterator]();
  await iterator.next();
  process.kill(pid, 'SIGKILL');
  await expect(writing).rejects.toMatchObject({ code: 'internal' });
  const reading = (async () => {
    for (;;) if ((await iterator.next()).done === true) return;
  })();
  await expect(reading).rejects.toMatchObject({ code: 'internal' });
  end();
  expect(await idsOf(fixture.files.read(source, info, { limit: 1 }))).toEqual([0n]);
  expect(fixture.files.childPid).not.toBe(pid);
});

test('a killed child leaves no partial file', async () => {
  await fixture.files.warm();
  const path = fixture.path();
  const writing = fixture.files.write(path, slowFrame(new Promise(() => undefined)), { compression: 'zstd' });
  await vi.waitFor(() => access(path), 10_000);
  process.kill(fixture.files.childPid ?? 0, 'SIGKILL');
  await expect(writing).rejects.toMatchObject({ code: 'internal' });
  expect(await readdir(fixture.folder)).not.toContain(basename(path));
});

test('after close nothing is read, and the child is gone', async () => {
  const other = await createFilesFixture();
  await other.files.warm();
  const pid = other.files.childPid ?? 0;
  await other.close();
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  await expect(other.files.warm()).rejects.toMatchObject({ code: 'unavailable' });
});
