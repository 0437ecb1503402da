import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FileSource, SourceInfo } from '../../src/files/frame-files.ts';
import { createFilesFixture, type FilesFixture } from '../../src/testing/files-fixture.ts';
import { idsOf, ROWS, writeLongFile } from '../long-file.ts';

let fixture: FilesFixture;
let source: FileSource;
let info: SourceInfo;
beforeAll(async () => {
  fixture = await createFilesFixture();
  ({ source, info } = await writeLongFile(fixture));
});
afterAll(() => fixture.close());

/** The shortest of three response times of the child after `act`: a busy machine spoils a single measurement. */
async function leastMsAfter(act: () => Promise<void>): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 3; i += 1) {
    await act();
    const start = performance.now();
    await fixture.files.warm();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

async function drained(batches: AsyncIterator<unknown>): Promise<void> {
  for (;;) if ((await batches.next()).done === true) return;
}

describe('cancelling', () => {
  test('in the middle of a read frees the child at once', async () => {
    const readAndCancel = async (): Promise<void> => {
      const controller = new AbortController();
      const { batches } = fixture.files.read(source, info, { signal: controller.signal });
      const iterator = batches[Symbol.asyncIterator]();
      await iterator.next();
      controller.abort(new Error('enough'));
      await expect(drained(iterator)).rejects.toThrow('enough');
    };
    await fixture.files.warm();
    const pid = fixture.files.childPid;
    expect(await leastMsAfter(readAndCancel)).toBeLessThan(200);
    expect(fixture.files.childPid).toBe(pid);
  });

  test('happens when a reader stops reading', async () => {
    const readOne = async (): Promise<void> => {
      for await (const _ of fixture.files.read(source, info).batches) break;
    };
    await fixture.files.warm();
    const pid = fixture.files.childPid;
    expect(await leastMsAfter(readOne)).toBeLessThan(200);
    expect(fixture.files.childPid).toBe(pid);
  });
});

test('batches share one buffer if reuseBuffers is set, and have separate ones if not', async () => {
  for (const reuseBuffers of [false, true]) {
    const ids: bigint[] = [];
    const buffers = [];
    for await (const batch of fixture.files.read(source, info, { reuseBuffers }).batches) {
      const values: BigInt64Array = batch.data.children[0]?.values;
      buffers.push(values.buffer);
      ids.push(...values);
    }
    expect(ids.length).toBe(ROWS);
    expect(ids.every((id, i) => id === BigInt(i))).toBe(true);
    expect(buffers.length).toBeGreaterThan(2);
    // The last batch may be short enough to come over the pipe.
    expect(new Set(buffers.slice(0, -1)).size).toBe(reuseBuffers ? 1 : buffers.length - 1);
  }
});

test('more concurrent reads than places for batches each get their rows', async () => {
  const reads = Array.from({ length: 12 }, async (_, i) => {
    const iterator = fixture.files
      .read(source, info, { offset: i, reuseBuffers: i % 2 === 0 })
      .batches[Symbol.asyncIterator]();
    const first = await iterator.next();
    return { iterator, first, offset: BigInt(i) };
  });
  for (const { iterator, first, offset } of await Promise.all(reads)) {
    let expected = offset;
    for (let next = first; next.done !== true; next = await iterator.next()) {
      for (const id of next.value.getChildAt(0)!.toArray()) if (id !== expected++) throw new Error(`${id} is wrong`);
    }
    expect(expected).toBe(BigInt(ROWS));
  }
}, 60_000);

test('an abandoned read frees its places', async () => {
  for (let i = 0; i < 20; i++) {
    const iterator = fixture.files.read(source, info, { reuseBuffers: true }).batches[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
  }
  const buffers = new Set();
  for await (const batch of fixture.files.read(source, info, { reuseBuffers: true }).batches) {
    buffers.add(batch.data.children[0]?.values.buffer);
  }
  // A batch that comes over the pipe, because no place is free, has a separate buffer.
  expect(buffers.size).toBeLessThanOrEqual(2);
});

test('a child that ignores a cancel is replaced', async () => {
  await fixture.files.warm();
  const pid = fixture.files.childPid ?? 0;
  const controller = new AbortController();
  const { batches } = fixture.files.read(source, info, { signal: controller.signal });
  const iterator = batches[Symbol.asyncIterator]();
  await iterator.next();
  process.kill(pid, 'SIGSTOP');
  controller.abort(new Error('enough'));
  await expect(drained(iterator)).rejects.toThrow('enough');
  expect(await idsOf(fixture.files.read(source, info, { limit: 1 }))).toEqual([0n]);
  expect(fixture.files.childPid).not.toBe(pid);
});

test.runIf(process.platform === 'linux')(
  'memory grows in neither process while a reader is paused',
  async () => {
    const big = fixture.path();
    const part = { path: source.path, size: { rows: info.rows, fileBytes: 0 } };
    await fixture.files.merge({ kind: 'parts', parts: [part, part, part, part, part, part, part, part] }, info, big, {
      compression: 'zstd',
    });
    const bigSource = { kind: 'parquet', path: big } as const;
    const bigInfo = await fixture.describe(bigSource);
    const iterator = fixture.files.read(bigSource, bigInfo).batches[Symbol.asyncIterator]();
    await iterator.next();
    const before = await memoryOf(fixture.files.childPid ?? 0);
    const own = process.memoryUsage().rss;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await memoryOf(fixture.files.childPid ?? 0)) - before).toBeLessThan(16 * 1024 * 1024);
    expect(process.memoryUsage().rss - own).toBeLessThan(16 * 1024 * 1024);
    let rows = 0;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) rows += next.value.numRows;
    expect(rows).toBeGreaterThan(7 * ROWS);
  },
  60_000,
);

async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

test('a close that has to kill the child is awaited, even if nothing else keeps the process alive', async () => {
  const program = `
    const { createFrameFiles } = await import(${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)});
    const files = createFrameFiles({ tempDirectory: ${JSON.stringify(fixture.folder)} });
    await files.warm();
    process.kill(files.childPid, 'SIGSTOP');
    await files.close();
    process.stdout.write('closed');
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  expect(stdout).toBe('closed');
});
