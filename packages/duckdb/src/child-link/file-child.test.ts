import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type BatchPayload, createBatchEncoder } from '../types/batch-codec.ts';
import { fromChild } from '../files/file-errors.ts';
import { sqlText } from '../wire/sql-names.ts';
import { createFileChild, type FileChild } from './file-child.ts';
import { startRequest } from './pending-request.ts';
import { startChild } from './child-link.ts';
import { WITHOUT_DICTIONARIES } from '../files/copied-rows.ts';
import { growingRowGroups } from '../files/row-groups.ts';
import { copyOptions, FILE_NOTES } from '../files/source-sql.ts';
import { INVALIDATING_SQL } from '../testing/invalidating-sql.ts';

const TOO_MUCH = "SELECT list(repeat('x', 100))::VARCHAR FROM range(100000000)";

const READ = {
  op: 'read',
  sql: 'SELECT range AS id FROM range(2000000)',
  plans: [{ kind: 'copy', width: 8, type: 'BIGINT' }],
} as const;

let directory: string;
let engine: FileChild;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pipe-engine-'));
  engine = createFileChild({ tempDirectory: directory, memoryBytes: 50e6 });
});

afterEach(async () => {
  await engine.close();
  await rm(directory, { recursive: true });
});

/** Reads to the end; returns the number of rows. */
async function countRows(batches: AsyncGenerator<ArrayBuffer, number, undefined>): Promise<number> {
  for (;;) {
    const next = await batches.next();
    if (next.done === true) return next.value;
  }
}

/** A request to write `longFrame` to a file. */
function writeTo(path: string) {
  const columns = [{ name: 'id', title: 'id', plan: { kind: 'copy', width: 8, type: 'BIGINT' } }] as const;
  const segments = {
    tailPaths: [`${path}.tail`],
    options: copyOptions(longFrame(1).schema, { compression: 'zstd' }),
    growing: growingRowGroups(8),
    exact: WITHOUT_DICTIONARIES,
  };
  return { op: 'write', path, segments, notes: FILE_NOTES, columns } as const;
}

/** The rows of `longFrame` as they are sent to a child. */
async function* payloadsOf(rows: number): AsyncGenerator<BatchPayload> {
  const encoder = createBatchEncoder();
  for await (const batch of longFrame(rows).batches) yield* encoder.encode(batch);
}

test(
  'a child that ran out of memory is replaced, since it may keep what it allocated',
  { tags: ['slow'] },
  async () => {
    await engine.warm();
    const { childPid } = engine;
    await expect(engine.call({ op: 'texts', sql: TOO_MUCH })).rejects.toThrow(/allocate/);
    expect(await engine.call({ op: 'texts', sql: "SELECT 'next'" })).toEqual([['next']]);
    expect(engine.childPid).not.toBe(childPid);
  },
);

test('readers that pause after their first rows do not keep others from reading', { tags: ['slow'] }, async () => {
  const paused = Array.from({ length: 40 }, () => engine.read(READ));
  for (const { done } of await Promise.all(paused.map((batches) => batches.next()))) expect(done).toBe(false);
  expect(await countRows(engine.read(READ))).toBe(2_000_000);
  await Promise.all(paused.map((batches) => batches.return(0)));
});

test('reads of other requests go on', { tags: ['slow'] }, async () => {
  const batches = engine.read(READ);
  await batches.next();
  await expect(engine.call({ op: 'texts', sql: TOO_MUCH })).rejects.toThrow(/allocate/);
  expect(await countRows(batches)).toBe(2_000_000);
});

test(
  'other reads from a child that ignores a cancel go on, and the next request gets another child',
  { tags: ['slow'] },
  async () => {
    // Reading from a FIFO blocks while its writer writes nothing: DuckDB cannot interrupt that.
    const fifo = join(directory, 'fifo');
    await promisify(execFile)('mkfifo', [fifo]);
    const batches = engine.read(READ);
    await batches.next();
    const { childPid } = engine;
    const controller = new AbortController();
    const sql = `FROM read_csv(${sqlText(fifo)}, auto_detect = false, columns = {a: 'VARCHAR'})`;
    const blocked = engine.call({ op: 'texts', sql }, controller.signal);
    // Opening without waiting succeeds when DuckDB has opened the other end.
    await using _writer = await vi.waitFor(() => open(fifo, constants.O_WRONLY | constants.O_NONBLOCK), 10_000);
    controller.abort(new Error('enough'));
    await expect(blocked).rejects.toThrow('enough');
    expect(await engine.call({ op: 'texts', sql: "SELECT 'next'" })).toEqual([['next']]);
    expect(engine.childPid).not.toBe(childPid);
    expect(await countRows(batches)).toBe(2_000_000);
  },
);

describe('a request on which DuckDB fails with an INTERNAL error', () => {
  const breakChild = (): Promise<unknown> => engine.call({ op: 'texts', sql: INVALIDATING_SQL });

  test('fails alone: the next requests go to a new child', { tags: ['slow'] }, async () => {
    await engine.warm();
    const { childPid } = engine;
    await expect(breakChild()).rejects.toThrow(/^INTERNAL Error/);
    expect(await engine.call({ op: 'texts', sql: "SELECT 'next'" })).toEqual([['next']]);
    expect(engine.childPid).not.toBe(childPid);
  });

  test('does not fail others that DuckDB refuses because of it', { tags: ['slow'] }, async () => {
    await engine.warm();
    const setup = ['SELECT sleep_ms(300)'];
    const text = engine.call({ op: 'texts', setup, sql: "SELECT 'other'" });
    const rows = countRows(engine.read({ ...READ, setup }));
    // They begin before the next turn of the event loop, and send DuckDB more statements when it is broken.
    await setImmediate();
    await expect(breakChild()).rejects.toThrow(/^INTERNAL Error/);
    expect(await text).toEqual([['other']]);
    expect(await rows).toBe(2_000_000);
  });

  test('ends no read that has started', { tags: ['slow'] }, async () => {
    const batches = engine.read(READ);
    const first = await batches.next();
    await expect(breakChild()).rejects.toThrow(/^INTERNAL Error/);
    expect(first.done).toBe(false);
    expect(await countRows(batches)).toBe(2_000_000);
  });

  test('ends no upload that has started', { tags: ['slow'] }, async () => {
    const path = join(directory, 'a.parquet');
    const sent = new AbortController();
    async function* batches(): AsyncGenerator<BatchPayload> {
      yield* payloadsOf(10);
      await once(sent.signal, 'abort');
      yield* payloadsOf(10);
    }
    const writing = engine.write(writeTo(path), batches());
    await vi.waitFor(() => access(path), 10_000);
    const breaking = engine.write(
      { ...writeTo(join(directory, 'b.parquet')), setup: [INVALIDATING_SQL] },
      payloadsOf(10),
    );
    await expect(breaking).rejects.toThrow(/^INTERNAL Error/);
    sent.abort();
    expect((await writing).rows).toBe(20);
    const next = engine.write(writeTo(join(directory, 'c.parquet')), payloadsOf(10));
    expect((await next).rows).toBe(10);
  });
});

describe('a child that is stopped', () => {
  async function stoppedChild(pingMs: number): Promise<number> {
    await engine.close();
    engine = createFileChild({ tempDirectory: directory, pingMs });
    await engine.warm();
    const pid = engine.childPid ?? 0;
    process.kill(pid, 'SIGSTOP');
    return pid;
  }

  test(
    'is killed: its requests fail with a clear message, and others go to a new child meanwhile',
    { tags: ['slow'] },
    async () => {
      const pid = await stoppedChild(100);
      const asked = engine.call({ op: 'texts', sql: "SELECT 'asked'" });
      const failed = expect(asked.catch((error: unknown) => fromChild(error, 'new file'))).resolves.toMatchObject({
        code: 'unavailable',
        message: 'The engine that reads and writes files did not answer, and was replaced.',
        hint: 'Send the request again.',
      });
      await expect.poll(() => engine.isResponding(), { timeout: 10_000 }).toBe(false);
      await expect.poll(() => engine.isResponding(), { timeout: 10_000 }).toBe(true);
      expect(await engine.call({ op: 'texts', sql: "SELECT 'next'" })).toEqual([['next']]);
      expect(engine.childPid).not.toBe(pid);
      await failed;
      expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    },
  );

  test('and soon continues keeps its requests', { tags: ['slow'] }, async () => {
    const pid = await stoppedChild(300);
    const asked = engine.call({ op: 'texts', sql: "SELECT 'asked'" });
    await expect.poll(() => engine.isResponding(), { timeout: 10_000 }).toBe(false);
    process.kill(pid, 'SIGCONT');
    expect(await asked).toEqual([['asked']]);
    await expect.poll(() => engine.isResponding(), { timeout: 10_000 }).toBe(true);
  });

  test(
    'and continues when it was replaced answers, and says why it takes no more requests',
    { tags: ['slow'] },
    async () => {
      const child = startChild({ tempDirectory: directory, pingMs: 100 });
      const ask = () => startRequest(child, { op: 'texts', sql: "SELECT 'asked'" }, {}, {}).response;
      await ask();
      process.kill(child.pid ?? 0, 'SIGSTOP');
      const asked = ask();
      await vi.waitFor(() => expect(child.isAlive).toBe(false), { timeout: 10_000, interval: 10 });
      process.kill(child.pid ?? 0, 'SIGCONT');
      expect(await asked).toEqual([['asked']]);
      // The next step of the same SQL.
      await expect(ask()).rejects.toMatchObject({ hasHung: true });
      await child.close();
    },
  );
});
