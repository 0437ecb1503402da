import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { ServiceError } from '@svc/errors';
import { tableFromArrays } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../test/decode-body.ts';
import { writeArrow } from '../../test/write-arrow.ts';
import { withResolvers } from '../async.ts';
import { createMemoryShares, resizeShare } from './limits.ts';
import { createWorkerLink } from './worker/worker-pool.ts';

const KIB = 1024;

describe('shares of memory', () => {
  test('stay within their common limit, and a refused one keeps what it has', () => {
    const [first, second] = createMemoryShares(100 * KIB, 2);
    resizeShare(first, 60 * KIB);
    resizeShare(second, 40 * KIB);
    expect(refusalOf(() => resizeShare(second, 44 * KIB))).toMatchObject({
      code: 'out_of_memory',
      message: 'The uploads being decoded need more than 102400 bytes together.',
      hint: 'Retry when other uploads have finished, or send smaller parts.',
    });
    resizeShare(second, 0);
    resizeShare(first, 100 * KIB);
    expect(refusalOf(() => resizeShare(second, 1)).code).toBe('out_of_memory');
    resizeShare(first, 0);
    resizeShare(second, 100 * KIB);
  });

  test.each([101 * KIB, 2 ** 45, Number.MAX_SAFE_INTEGER])('refuse %d bytes, more than the limit', (bytes) => {
    const [share] = createMemoryShares(100 * KIB, 1);
    expect(refusalOf(() => resizeShare(share, bytes)).code).toBe('out_of_memory');
    resizeShare(share, 100 * KIB);
  });

  test('without a limit take any number of bytes', () => {
    const [share] = createMemoryShares(Infinity, 1);
    expect(() => resizeShare(share, Number.MAX_SAFE_INTEGER)).not.toThrow();
  });

  test('stay within the limit while threads take and release concurrently, and are terminated meanwhile', async () => {
    const shares = createMemoryShares(100 * 4096, 3);
    const script = `
      const { parentPort, workerData } = require('node:worker_threads');
      import(${JSON.stringify(new URL('../../dist/decode/limits.js', import.meta.url).href)}).then(({ resizeShare }) => {
        const held = workerData.held;
        for (let round = 0; ; round++) {
          let isHeld = true;
          try { resizeShare(workerData.share, 70 * 4096); } catch { isHeld = false; }
          if (isHeld && Atomics.add(held, 0, 1) !== 0) Atomics.store(held, 1, 1);
          if (isHeld) { Atomics.sub(held, 0, 1); resizeShare(workerData.share, 0); }
          if (round === 20000) parentPort.postMessage('many');
        }
      });`;
    // The number of threads that hold 70 of the 100 pages, and whether two ever did.
    const held = new Int32Array(new SharedArrayBuffer(8));
    const threads = shares.map((share) => new Worker(script, { eval: true, workerData: { share, held } }));
    await Promise.all(threads.map((thread) => once(thread, 'message')));
    await Promise.all(threads.map((thread) => thread.terminate()));
    expect(held[1]).toBe(0);
    for (const share of shares) resizeShare(share, 0);
    resizeShare(shares[0], 100 * 4096);
  });
});

describe('workers', () => {
  test('release their share when they exit', { tags: ['slow'] }, async () => {
    const [share, other] = createMemoryShares(1_500_000, 2);
    const exited = withResolvers<undefined>();
    const link = createWorkerLink({ stallTimeoutMs: 10_000, share, onExit: () => exited.resolve(undefined) });
    await link.call({ kind: 'open', format: 'json', maxBytes: Infinity });
    await link.call({ kind: 'chunk', bytes: Uint8Array.from(Buffer.from(`[${'{"id":1},'.repeat(100_000)}`)) });
    expect(() => resizeShare(other, 1_000_000)).toThrow(ServiceError);
    void link.end(new Error('ended'));
    await exited.promise;
    resizeShare(other, 1_499_000);
  });

  test('stay within their limit while small bodies grow concurrently', { tags: ['slow'] }, async () => {
    // 8 bodies of 100 MB each, which newer versions of Node hold twice at the end, with a limit of 250 MB.
    const batch = tableFromArrays({ a: new Float64Array(12_500_000) });
    const bytes = writeArrow(batch.schema, batch.batches, { compression: 'zstd' });
    expect(bytes.length).toBeLessThan(1_000_000);
    const script = `
      import { createDecoders } from ${JSON.stringify(new URL('../../dist/decode/decoders.js', import.meta.url).href)};
      import { buffer } from 'node:stream/consumers';
      const bytes = await buffer(process.stdin);
      const decoders = createDecoders({ maxBytes: 250e6 });
      const before = process.resourceUsage().maxRSS;
      async function decode() {
        const { batches } = await decoders.decode('arrow', (async function* () { yield Uint8Array.from(bytes); })());
        for await (const batch of batches) return batch.numRows;
      }
      const outcomes = await Promise.allSettled(Array.from({ length: 8 }, decode));
      const grownMb = Math.round((process.resourceUsage().maxRSS - before) / 1024);
      process.stdout.write(JSON.stringify({ grownMb, codes: outcomes.map(({ value, reason }) => value ?? reason.code) }));`;
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { timeout: 50_000 });
    run.child.stdin?.end(bytes);
    const { codes, grownMb } = Object(JSON.parse((await run).stdout));
    expect(new Set(codes)).toEqual(new Set([12_500_000, 'out_of_memory']));
    expect(grownMb).toBeLessThan(550);
  });
});
