import { ServiceError } from '@svc/errors';
import { Schema, tableFromArrays, tableToIPC } from 'apache-arrow';
import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FrameStream } from '../streams.ts';
import { createDecoders, type Decoders, type DecodersOptions } from './decoders.ts';
import { createFrameAssembler } from './decode-steps.ts';
import { createMemoryShares } from './limits.ts';
import { createWorkerLink } from './worker/worker-pool.ts';

vi.mock('./decode-steps.ts', { spy: true });

let decoders: Decoders;
let started = 0;
let alive = new Set<Worker>();
function countWorker(message: unknown): void {
  const { worker } = message as { worker: Worker };
  const workers = alive.add(worker);
  started++;
  worker.once('exit', () => workers.delete(worker));
}

beforeEach(() => {
  started = 0;
  alive = new Set();
  subscribe('worker_threads', countWorker);
  use({});
});
afterEach(async () => {
  unsubscribe('worker_threads', countWorker);
  await decoders.close();
});

function use(options: DecodersOptions): void {
  decoders = createDecoders(options);
}

async function* bodyOf(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

/** A body that starts and then stalls. */
function hangingBody(start: string) {
  const seen = { returned: false, reads: 0 };
  const iterator: AsyncIterator<Uint8Array> = {
    next: () =>
      seen.reads++ === 0
        ? Promise.resolve({ done: false, value: Buffer.from(start) })
        : new Promise<IteratorResult<Uint8Array>>(() => undefined),
    return: async () => {
      seen.returned = true;
      return { done: true, value: undefined };
    },
  };
  return { seen, body: { [Symbol.asyncIterator]: () => iterator } };
}

async function countRows({ batches }: FrameStream): Promise<number> {
  let rows = 0;
  for await (const batch of batches) rows += batch.numRows;
  return rows;
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'It did not fail.',
    (error: unknown) => error,
  );
}

describe('a body', () => {
  test.each([
    ['json', ['[{"id":1,', '"s":"é"},{"id":9007199254740993}]']],
    ['ndjson', ['{"id":1,', '"s":"é"}\n{"id":9007199254740993}']],
  ] as const)('of %s is decoded into a frame', async (format, chunks) => {
    const frame = await decoders.decode(format, bodyOf(...chunks));
    expect(String(frame.schema)).toBe('Schema<{ 0: id: Int64, 1: s: Utf8 }>');
    const rows = [];
    for await (const batch of frame.batches) rows.push(...batch.toArray().map((row) => row.toJSON()));
    expect(rows).toEqual([
      { id: 1n, s: 'é' },
      { id: 9007199254740993n, s: null },
    ]);
  });

  test('does not detach the chunks of its sender', async () => {
    const bytes = tableToIPC(tableFromArrays({ a: new Float64Array(100_000) }), 'stream');
    expect(await countRows(await decoders.decode('arrow', bodyOf(bytes)))).toBe(100_000);
    expect(bytes.buffer.byteLength).toBeGreaterThan(800_000);
  });

  test('in memory keeps its bytes', async () => {
    const bytes = Buffer.from('{"id":1}\n{"id":2}\n');
    for (let i = 0; i < 2; i++) expect(await countRows(await decoders.decode('ndjson', bytes))).toBe(2);
  });

  test('in memory that takes many times its bytes is decoded in steps', async () => {
    const rows = 500_000;
    const body = Buffer.from(`[${'{},'.repeat(rows - 1)}{"a":1}]`);
    expect(await countRows(await decoders.decode('json', body))).toBe(rows);
  });

  test('that is refused fails with the code, message and hint of the decoder', async () => {
    const error = await failureOf(decoders.decode('json', bodyOf('{"a":1}')));
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({
      code: 'invalid_data',
      message: 'The body is not an array but begins with "{", at byte 0 (line 1, character 1).',
      hint: 'Send an array of objects, for example [{"id":1},{"id":2}]; one object per line is NDJSON.',
    });
  });

  test('that exceeds its memory limit is out_of_memory', async () => {
    const body = bodyOf(`[${'{"a":1},'.repeat(1000)}{}]`);
    expect(await failureOf(decoders.decode('json', body, { maxBytes: 1000 }))).toMatchObject({ code: 'out_of_memory' });
  });

  test('that fails rejects with the original error', async () => {
    const reset = new Error('connection reset');
    async function* broken() {
      yield Buffer.from('[{"a":1}');
      await nextTurn();
      throw reset;
    }
    expect(await failureOf(decoders.decode('json', broken()))).toBe(reset);
  });

  test('is read no faster than its batches are', async () => {
    const batch = tableFromArrays({ a: new Float64Array(1 << 17) });
    const bytes = Buffer.from(tableToIPC(batch, 'stream'));
    const message = bytes.subarray(
      bytes.indexOf('ffffffff', 8, 'hex'),
      bytes.lastIndexOf('ffffffff', undefined, 'hex'),
    );
    const chunks = [bytes.subarray(0, -8), ...Array<Buffer>(20).fill(message)];
    let read = 0;
    async function* body() {
      for (const chunk of chunks) {
        read++;
        yield chunk;
      }
    }
    const frame = await decoders.decode('arrow', body());
    const iterator = frame.batches[Symbol.asyncIterator]();
    expect((await iterator.next()).value.numRows).toBe(1 << 17);
    expect(read).toBeLessThan(5);
    expect(await countRows({ ...frame, batches: { [Symbol.asyncIterator]: () => iterator } })).toBe(20 << 17);
    expect(read).toBe(21);
  });
});

describe('workers', () => {
  test('are kept for the next body', async () => {
    for (let i = 0; i < 5; i++) expect(await countRows(await decoders.decode('json', bodyOf('[{"a":1}]')))).toBe(1);
    expect(await failureOf(decoders.decode('json', bodyOf('nonsense')))).toBeInstanceOf(ServiceError);
    expect(await countRows(await decoders.decode('json', bodyOf('[{"a":1}]')))).toBe(1);
    expect(started).toBe(1);
  });

  test('are never more than maxWorkers; other bodies wait', async () => {
    use({ maxWorkers: 2 });
    const bodies = Array.from({ length: 6 }, (_, i) => bodyOf(`[${'{"a":1},'.repeat(i)}{"a":2}]`));
    const counts = await Promise.all(bodies.map(async (body) => countRows(await decoders.decode('json', body))));
    expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
    expect(started).toBe(2);
  });

  test('are not held by bodies that trickle', { tags: ['slow'] }, async () => {
    const open = Array.from({ length: 8 }, () => decoders.decode('json', bodyOf('[{"a":1}]')));
    const frames = await Promise.all(open);
    expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
    for (const frame of frames) expect(await countRows(frame)).toBe(1);
  });

  test('are kept while there are concurrent bodies, then ended, except for two', { tags: ['slow'] }, async () => {
    const decodeFour = () => Promise.all(Array.from({ length: 4 }, () => decoders.decode('json', bodyOf('[{"a":1}]'))));
    for (const frame of await decodeFour()) expect(await countRows(frame)).toBe(1);
    for (const frame of await decodeFour()) expect(await countRows(frame)).toBe(1);
    expect(started).toBe(4);
    await expect.poll(() => alive.size, { timeout: 10_000 }).toBe(2);
    for (const frame of await decodeFour()) expect(await countRows(frame)).toBe(1);
    expect(started).toBe(6);
  });

  test(
    'that all stay busy for waitTimeoutMs are unavailable to the waiter, and free for later bodies',
    { tags: ['slow'] },
    async () => {
      use({ maxWorkers: 1, waitTimeoutMs: 20 });
      const holding = await decoders.decode('json', bodyOf('[{"a":1}]'));
      const { body, seen } = hangingBody('x'.repeat(1 << 18));
      expect(await failureOf(decoders.decode('json', body))).toMatchObject({
        code: 'unavailable',
        message: 'All decoders were busy for 20 ms; at most 1 upload of a tenant is decoded at a time.',
        hint: 'Send the upload again in a moment.',
      });
      expect(seen.returned).toBe(true);
      expect(await countRows(holding)).toBe(1);
      expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
      expect(started).toBe(1);
    },
  );

  test('are free again when a frame cannot be assembled', { tags: ['slow'] }, async () => {
    use({ maxWorkers: 1, waitTimeoutMs: 5000 });
    const broken = new Error('broken');
    const throwBroken = () => {
      throw broken;
    };
    vi.mocked(createFrameAssembler).mockImplementationOnce(throwBroken);
    expect(await failureOf(decoders.decode('json', bodyOf('[{"a":1}]')))).toBe(broken);
    vi.mocked(createFrameAssembler).mockReturnValueOnce({ schema: new Schema([]), add: throwBroken });
    expect(await failureOf(countRows(await decoders.decode('json', bodyOf('[{"a":1}]'))))).toBe(broken);
    expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
  });

  test('are free again when the reader of the batches stops', { tags: ['slow'] }, async () => {
    use({ maxWorkers: 1 });
    const first = await decoders.decode('json', bodyOf(`[${'{"a":1},'.repeat(200_000)}{}]`));
    for await (const batch of first.batches) {
      expect(batch.numRows).toBe(65_536);
      break;
    }
    expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
    expect(started).toBe(1);
  });

  test('that do not respond in time are terminated and replaced', { tags: ['slow'] }, async () => {
    use({ maxWorkers: 1, stallTimeoutMs: 100 });
    const mixed = Array.from({ length: 20 }, (_, i) => `"c${i}":[1,2,3]`).join(',');
    const text = Array.from({ length: 20 }, (_, i) => `"c${i}":"x"`).join(',');
    const body = bodyOf(`[${`{${mixed}},`.repeat(60_000)}{${text}}]`);
    const error = await failureOf(decoders.decode('json', body).then(countRows));
    expect(error).toMatchObject({
      code: 'unavailable',
      message: 'Decoding the body made no progress for 100 ms.',
      hint: 'Send the upload again when the server is less busy; if that fails too, send it in smaller parts.',
    });
    expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
    expect(started).toBe(2);
  });

  test('that run out of memory fail only their body', async () => {
    const [share] = createMemoryShares(1000, 1);
    const resourceLimits = { maxOldGenerationSizeMb: 4, maxYoungGenerationSizeMb: 1 };
    const link = createWorkerLink({ stallTimeoutMs: 10_000, share, resourceLimits });
    const error = await failureOf(link.call({ kind: 'open', format: 'json', maxBytes: 1 }));
    expect(error).toMatchObject({ name: 'ServiceError', code: 'out_of_memory' });
    expect(link.isAlive).toBe(false);
  });

  test('share a memory limit, and a body that fits alone fits when another is done', { tags: ['slow'] }, async () => {
    use({ maxWorkers: 2, maxBytes: 1_500_000 });
    const rows = `[${'{"id":1},'.repeat(100_000)}{"id":1}]`;
    const first = await decoders.decode('json', bodyOf(rows));
    expect(await failureOf(decoders.decode('json', bodyOf(rows)))).toMatchObject({
      code: 'out_of_memory',
      message: 'The uploads being decoded need more than 1500000 bytes together.',
    });
    expect(await countRows(first)).toBe(100_001);
    expect(await countRows(await decoders.decode('json', bodyOf(rows)))).toBe(100_001);
  });

  test.each([
    ['replaced if it used much memory', 20_000_000, 2],
    ['kept if it used little memory', 2_000_000, 1],
  ])('whose body failed are %s', { tags: ['slow'] }, async (_name, bytes, workers) => {
    use({ maxWorkers: 1, maxBytes: 100_000_000 });
    const body = bodyOf(`[{"a":"${'x'.repeat(bytes)}"},nonsense]`);
    expect(await failureOf(decoders.decode('json', body))).toMatchObject({ code: 'invalid_data' });
    expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
    expect(started).toBe(workers);
  });

  test('release their share when a body is cancelled', { tags: ['slow'] }, async () => {
    use({ maxWorkers: 2, maxBytes: 1_500_000 });
    const rows = `[${'{"id":1},'.repeat(100_000)}{}]`;
    for (let i = 0; i < 3; i++) {
      for await (const batch of (await decoders.decode('json', bodyOf(rows))).batches) {
        expect(batch.numRows).toBe(65_536);
        break;
      }
    }
    expect(await countRows(await decoders.decode('json', bodyOf(rows)))).toBe(100_001);
  });

  test('do not keep the process alive', { tags: ['slow'] }, async () => {
    const script = `
      import { createDecoders } from ${JSON.stringify(new URL('../../dist/decode/decoders.js', import.meta.url).href)};
      const frame = await createDecoders().decode('json', (async function* () { yield Buffer.from('[{"a":1}]'); })());
      for await (const batch of frame.batches) process.stdout.write(String(batch.numRows));`;
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { timeout: 15_000 });
    expect(stdout).toBe('1');
  });
});

describe('a signal that is aborted', () => {
  test('before, or while the body is awaited, cancels and closes the body', async () => {
    const controller = new AbortController();
    const { body, seen } = hangingBody('[{"a":1},');
    const pending = failureOf(decoders.decode('json', body, { signal: controller.signal }));
    controller.abort();
    expect(await pending).toMatchObject({ code: 'cancelled' });
    expect(seen.returned).toBe(true);
    expect(await failureOf(decoders.decode('json', bodyOf('[]'), { signal: controller.signal }))).toMatchObject({
      code: 'cancelled',
    });
  });

  test('while another body has the worker ends the waiting', async () => {
    use({ maxWorkers: 1 });
    const holding = await decoders.decode('json', bodyOf('[{"a":1}]'));
    const controller = new AbortController();
    const waiting = failureOf(decoders.decode('json', bodyOf('[]'), { signal: controller.signal }));
    await nextTurn();
    controller.abort();
    expect(await waiting).toMatchObject({ code: 'cancelled' });
    expect(await countRows(holding)).toBe(1);
    expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
  });

  test.each(['just before', 'just after'])(
    '%s a worker is free leaves it to others',
    { tags: ['slow'] },
    async (moment) => {
      use({ maxWorkers: 1, waitTimeoutMs: 5000 });
      const holding = await decoders.decode('json', bodyOf('[{"a":1}]'));
      const controller = new AbortController();
      const waiting = failureOf(decoders.decode('json', bodyOf('[]'), { signal: controller.signal }));
      await nextTurn();
      if (moment === 'just before') controller.abort();
      void holding.batches[Symbol.asyncIterator]().return?.();
      controller.abort();
      expect(await waiting).toMatchObject({ code: 'cancelled' });
      expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
    },
  );

  test('between two batches frees the worker, and the next batch fails with the reason', async () => {
    use({ maxWorkers: 1 });
    const controller = new AbortController();
    const frame = await decoders.decode('json', bodyOf('[{"a":1}]'), { signal: controller.signal });
    controller.abort(new ServiceError('deadline_exceeded', 'Too late.'));
    expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
    expect(await failureOf(countRows(frame))).toMatchObject({ code: 'deadline_exceeded', message: 'Too late.' });
    expect(started).toBe(1);
  });

  test('while the worker is busy ends it, and the next body gets another', async () => {
    use({ maxWorkers: 1 });
    const controller = new AbortController();
    async function* body() {
      yield Buffer.from(`[${'{"a":1},'.repeat(1 << 15)}`);
      controller.abort();
      yield Buffer.from('{}]');
    }
    expect(await failureOf(decoders.decode('json', body(), { signal: controller.signal }))).toMatchObject({
      code: 'cancelled',
    });
    expect(await countRows(await decoders.decode('json', bodyOf('[{}]')))).toBe(1);
  });
});

describe('close', () => {
  test('fails what is waiting and what comes later as unavailable', async () => {
    use({ maxWorkers: 1 });
    const holding = await decoders.decode('json', bodyOf('[{"a":1}]'));
    const waiting = failureOf(decoders.decode('json', bodyOf('[]')));
    await nextTurn();
    await decoders.close();
    expect(await waiting).toMatchObject({ code: 'unavailable' });
    expect(await failureOf(decoders.decode('json', bodyOf('[]')))).toMatchObject({ code: 'unavailable' });
    expect(await failureOf(countRows(holding))).toMatchObject({ code: 'unavailable' });
  });
});
