import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import { Status } from 'nice-grpc';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SLOW } from '../../../../test/tier.ts';
import type { BoundStatement, Driver, DriverResult } from '../driver.ts';
import {
  batchOf,
  type Fault,
  type SparkServer,
  type SparkServerOptions,
  startSparkServer,
} from '../testing/spark-server.ts';
import { createSparkDriver } from './create-spark-driver.ts';

const STATEMENT: BoundStatement = {
  sql: 'SELECT a FROM t',
  params: [],
  parameters: 0,
  frames: [],
  tenant: 'acme',
  tag: 'svc-1',
};
const NEVER = new AbortController().signal;

async function start(
  options: SparkServerOptions,
  token?: string,
  identity: { readonly userId?: string; readonly userAgent?: string } = {},
): Promise<{ server: SparkServer; driver: Driver }> {
  const server = await startSparkServer(options);
  const driver = createSparkDriver({
    protocol: 'spark-connect',
    host: '127.0.0.1',
    port: server.port,
    hasTls: false,
    token,
    ...identity,
  });
  onTestFinished(async () => {
    await driver.close();
    await server.close();
  });
  return { server, driver };
}

async function valuesOf({ batches }: Pick<DriverResult, 'batches'>): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const batch of batches) values.push(...(batch.getChild('a') ?? []));
  return values;
}

async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw new TypeError(`It did not fail with a code: ${String(error)}`);
  return error;
}

/** The calls of a statement, without those of the probe, which come first, and of the templates of sessions. */
function callsOf({ calls }: SparkServer): string[] {
  return calls.slice(calls.indexOf('executePlan')).filter((call) => call !== 'releaseSession(template)');
}

const THREE = [[1, 2], [3], [4, 5]].map(batchOf);
const cut = (after: number): Fault => ({ after, kind: Status.UNAVAILABLE });

describe('a statement', () => {
  test('gets every batch, and its session ends', async () => {
    const { server, driver } = await start({ batches: THREE });
    expect(await valuesOf(await driver.query(STATEMENT, NEVER))).toEqual([1, 2, 3, 4, 5]);
    await driver.close();
    expect(callsOf(server)).toEqual(['executePlan', 'releaseExecute(all)', 'releaseSession']);
  });

  test('runs as the user, and under the name, that the address of the cluster gives', async () => {
    const { server, driver } = await start({ batches: THREE }, undefined, { userId: 'ada', userAgent: 'etl' });
    for (const tenant of ['acme', 'other']) await valuesOf(await driver.query({ ...STATEMENT, tenant }, NEVER));
    expect(server.requests).toMatchObject([
      { userContext: { userId: 'ada', userName: 'ada' }, clientType: 'etl svc' },
      { userContext: { userId: 'ada', userName: 'ada' }, clientType: 'etl svc' },
    ]);
  });

  test('runs in a session of its tenant, with the settings that it needs', async () => {
    const { server, driver } = await start({ batches: THREE });
    for (const tenant of ['acme', 'other']) await valuesOf(await driver.query({ ...STATEMENT, tenant }, NEVER));
    const [first, second] = server.requests;
    expect(first?.userContext?.userId).toBe('acme');
    expect(second?.userContext?.userId).toBe('other');
    expect(first?.sessionId).not.toBe(second?.sessionId);
    expect(first).toMatchObject({ tags: ['svc-1'], clientObservedServerSideSessionId: 'server-session' });
    expect(Object.fromEntries(server.sessions.get(first?.sessionId ?? '') ?? [])).toMatchObject({
      'spark.sql.runSQLOnFiles': 'false',
      'spark.sql.session.timeZone': 'UTC',
    });
  });

  test('is read no further than its reader reads', async () => {
    const large = batchOf(Array.from({ length: 1 << 18 }, (_, i) => i));
    async function* endless() {
      for (;;) yield large;
    }
    const { server, driver } = await start({ batches: endless });
    const result = await driver.query(STATEMENT, NEVER);
    const reader = result.batches[Symbol.asyncIterator]();
    await reader.next();
    let before = -1;
    while (before !== server.produced()) {
      before = server.produced();
      await delay(200);
    }
    // The messages that the client reads ahead, and the bytes on their way.
    expect(before).toBeLessThan(64);
    await result.stop();
  });

  test('releases what was read, every 8 MB', async () => {
    const large = batchOf(Array.from({ length: 1 << 20 }, (_, i) => i));
    const { server, driver } = await start({ batches: [large, large, large, large] });
    const result = await driver.query(STATEMENT, NEVER);
    let rows = 0;
    for await (const batch of result.batches) rows += batch.numRows;
    expect(rows).toBe(4 << 20);
    await driver.close();
    expect(callsOf(server).filter((call) => call.startsWith('releaseExecute'))).toEqual([
      'releaseExecute(2)',
      'releaseExecute(4)',
      'releaseExecute(all)',
    ]);
  });
});

describe('a session', () => {
  const ISOLATION = 'spark.sql.artifact.isolation.enabled';
  const countOf = ({ calls }: SparkServer, name: string): number => calls.filter((call) => call === name).length;

  /** Runs statements one after another; returns the settings of the session of each. */
  async function runAll(
    { server, driver }: { server: SparkServer; driver: Driver },
    tenants: readonly string[],
  ): Promise<(ReadonlyMap<string, string> | undefined)[]> {
    const before = server.requests.length;
    for (const tenant of tenants) {
      expect(await valuesOf(await driver.query({ ...STATEMENT, tenant }, NEVER))).toEqual([1, 2, 3, 4, 5]);
    }
    return server.requests.slice(before).map(({ sessionId }) => server.sessions.get(sessionId));
  }

  test('of a statement is a clone of one in which nothing runs', async () => {
    const started = await start({ batches: THREE });
    const { server, driver } = started;
    const settings = await runAll(started, ['acme', 'acme', 'other', 'acme']);
    for (const one of settings) {
      expect(one?.get('spark.sql.runSQLOnFiles')).toBe('false');
      expect(one?.get(ISOLATION)).toBe('false');
    }
    expect(new Set(server.requests.map(({ sessionId }) => sessionId)).size).toBe(4);
    // Those of the probe, and of both tenants.
    expect(countOf(server, 'config')).toBe(3);
    expect(server.calls).not.toContain('releaseSession(template)');
    await driver.close();
    expect(countOf(server, 'releaseSession(template)')).toBe(3);
    expect(countOf(server, 'releaseSession')).toBe(5);
  });

  test('is new for each statement of a server that cannot clone, which is asked once', async () => {
    const started = await start({ batches: THREE, refused: { cloneSession: Status.UNIMPLEMENTED } });
    const settings = await runAll(started, ['acme', 'acme', 'other']);
    expect(settings.map((one) => one?.get('spark.sql.runSQLOnFiles'))).toEqual(['false', 'false', 'false']);
    expect(settings.map((one) => one?.has(ISOLATION))).toEqual([false, false, false]);
    expect(countOf(started.server, 'cloneSession')).toBe(1);
  });

  test('is new for a statement whose template is lost, and the next one is cloned again', async () => {
    const refused: Record<string, Status> = {};
    const started = await start({ batches: THREE, refused });
    await runAll(started, ['acme']);
    refused['cloneSession'] = Status.INTERNAL;
    const [lost] = await runAll(started, ['acme']);
    delete refused['cloneSession'];
    const [next] = await runAll(started, ['acme']);
    expect([lost?.has(ISOLATION), next?.has(ISOLATION)]).toEqual([false, true]);
    expect(lost?.get('spark.sql.runSQLOnFiles')).toBe('false');
  });

  test('has no template of more than 32 tenants', SLOW, async () => {
    const started = await start({ batches: THREE });
    await runAll(
      started,
      Array.from({ length: 33 }, (_, i) => `tenant-${i}`),
    );
    // That of the probe and that of the first tenant.
    await expect.poll(() => countOf(started.server, 'releaseSession(template)')).toBe(2);
  });

  test('is not lost with the caller who waited first for the template', async () => {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const { server, driver } = await start({ batches: THREE, opened });
    const controller = new AbortController();
    const first = failureOf(driver.query(STATEMENT, controller.signal));
    const second = driver.query(STATEMENT, NEVER);
    controller.abort();
    expect(await first).toMatchObject({ code: 'cancelled' });
    open();
    expect(await valuesOf(await second)).toEqual([1, 2, 3, 4, 5]);
    expect(server.requests).toHaveLength(1);
  });

  test('that cannot be opened is the failure of its statement, and the next one is opened', async () => {
    const refused: Record<string, Status> = {};
    const started = await start({ batches: THREE, refused });
    await runAll(started, ['acme']);
    refused['config'] = Status.RESOURCE_EXHAUSTED;
    const failure = await failureOf(started.driver.query({ ...STATEMENT, tenant: 'other' }, NEVER));
    expect(failure.code).toBe('scheduler_failed');
    delete refused['config'];
    const [next] = await runAll(started, ['other']);
    expect(next?.get(ISOLATION)).toBe('false');
  });
});

describe('a broken connection', () => {
  test.each([
    ['is continued after the last response', [cut(2), cut(1)], ['reattachExecute(2)', 'reattachExecute(3)']],
    ['is continued from the start if nothing came', [cut(0)], ['reattachExecute()']],
    ['is the same as a stream that ends early', [{ after: 1, kind: 'end' } as const], ['reattachExecute(1)']],
  ])('%s', async (_name, faults, reattached) => {
    const { server, driver } = await start({ batches: THREE, faults });
    expect(await valuesOf(await driver.query(STATEMENT, NEVER))).toEqual([1, 2, 3, 4, 5]);
    expect(callsOf(server).filter((call) => call.startsWith('reattach'))).toEqual(reattached);
  });

  test('may break often if there is progress in between', { tags: ['slow'] }, async () => {
    const faults = [cut(0), cut(0), cut(0), cut(0), cut(1), cut(0), cut(0), cut(0), cut(0)];
    const { server, driver } = await start({ batches: THREE, faults });
    expect(await valuesOf(await driver.query(STATEMENT, NEVER))).toEqual([1, 2, 3, 4, 5]);
    const reattached = callsOf(server).filter((call) => call.startsWith('reattach'));
    expect(reattached.filter((call) => call === 'reattachExecute()')).toHaveLength(4);
    expect(reattached.filter((call) => call === 'reattachExecute(1)')).toHaveLength(5);
  });

  test.each([
    ['whose connection breaks', cut(0), 'The scheduler cannot be reached, or the connection to it broke.'],
    [
      'whose stream ends early',
      { after: 0, kind: 'end' } as const,
      'The scheduler ended its response before it was complete.',
    ],
  ])(
    'a statement %s again and again fails after five more tries',
    { tags: ['slow'] },
    async (_name, fault, message) => {
      const { server, driver } = await start({ batches: THREE, faults: Array<Fault>(20).fill(fault) });
      expect(await failureOf(driver.query(STATEMENT, NEVER))).toMatchObject({ code: 'scheduler_failed', message });
      expect(callsOf(server).filter((call) => call.startsWith('reattach'))).toHaveLength(5);
      expect(server.calls).toContain('interrupt');
    },
  );

  const unknown: Fault = { after: 0, kind: Status.INTERNAL, message: '[INVALID_HANDLE.OPERATION_NOT_FOUND] x' };

  test('before the server got the request: it is sent again', async () => {
    const { server, driver } = await start({ batches: THREE, faults: [cut(0), unknown] });
    expect(await valuesOf(await driver.query(STATEMENT, NEVER))).toEqual([1, 2, 3, 4, 5]);
    expect(server.requests).toHaveLength(2);
  });

  test('to a server that has forgotten the statement is an error, not a second run', async () => {
    const { server, driver } = await start({ batches: THREE, faults: [cut(1), unknown] });
    const result = await driver.query(STATEMENT, NEVER);
    expect(await failureOf(valuesOf(result))).toMatchObject({ code: 'scheduler_failed' });
    expect(server.requests).toHaveLength(1);
  });

  test('while nothing was running is a failure of the next statement', { tags: ['slow'] }, async () => {
    const { server, driver } = await start({ batches: THREE });
    await valuesOf(await driver.query(STATEMENT, NEVER));
    await server.close();
    expect(await failureOf(driver.query(STATEMENT, NEVER))).toMatchObject({ code: 'scheduler_failed' });
  });
});

describe('a result', () => {
  const { data = new Uint8Array() } = batchOf([1, 2, 3]);
  const chunk = (index: number, count = 3) => ({
    data: data.subarray(index * 100, index === count - 1 ? undefined : (index + 1) * 100),
    chunkIndex: BigInt(index),
    numChunksInBatch: BigInt(count),
  });

  test('in chunks is joined, also across a broken connection', async () => {
    const { driver } = await start({ batches: [chunk(0), chunk(1), chunk(2), batchOf([4])], faults: [cut(2)] });
    expect(await valuesOf(await driver.query(STATEMENT, NEVER))).toEqual([1, 2, 3, 4]);
  });

  test.each([
    ['chunks out of order', [chunk(0), chunk(2)], 'chunk 2 of 3 of a batch where chunk 1 of 3 was next'],
    ['a chunk twice', [chunk(0), chunk(0)], 'chunk 0 of 3 of a batch where chunk 1 of 3 was next'],
    ['chunks of two sizes', [chunk(0), chunk(1, 4)], 'chunk 1 of 4 of a batch where chunk 1 of 3 was next'],
    ['too many chunks', [{ ...chunk(0), numChunksInBatch: 2n ** 40n }], 'chunk 0 of 1099511627776'],
    ['a batch without its end', [chunk(0), chunk(1)], 'ended its response in the middle of a batch'],
    ['no columns', [], 'The scheduler sent a result without columns.'],
    ['damaged bytes', [{ data: data.map((byte, i) => (i === 20 ? 255 : byte)) }], 'a result that cannot be read'],
    ['truncated bytes', [{ data: data.subarray(0, 150) }], 'a result that cannot be read'],
    ['another protocol', [{ data: Buffer.from('<html>') }], 'a result that cannot be read'],
  ])('with %s is an error, and is interrupted', async (_name, batches, message) => {
    const { server, driver } = await start({ batches });
    const failure = await failureOf(driver.query(STATEMENT, NEVER));
    expect(failure).toMatchObject({ code: 'scheduler_failed', message: expect.stringContaining(message) });
    await driver.close();
    expect(callsOf(server).slice(-2)).toEqual(['releaseExecute(all)', 'releaseSession']);
  });

  test('that is damaged later is an error, after the rows before', async () => {
    const { driver } = await start({ batches: [batchOf([1]), { data: data.subarray(0, 150) }] });
    const result = await driver.query(STATEMENT, NEVER);
    const reader = result.batches[Symbol.asyncIterator]();
    expect((await reader.next()).value?.numRows).toBe(1);
    expect(await failureOf(reader.next())).toMatchObject({ code: 'scheduler_failed' });
  });
});

describe('a stop', () => {
  async function* waiting() {
    yield batchOf([1]);
    await new Promise(() => undefined);
  }

  test('interrupts, then releases, and resolves when the server has answered', async () => {
    let answer = (): void => undefined;
    const interrupted = new Promise<void>((resolve) => (answer = resolve));
    const { server, driver } = await start({ batches: waiting, interrupted });
    const result = await driver.query(STATEMENT, NEVER);
    let isStopped = false;
    const stopped = result.stop().then(() => (isStopped = true));
    await expect.poll(() => server.calls).toContain('interrupt');
    expect(isStopped).toBe(false);
    answer();
    await stopped;
    await driver.close();
    expect(callsOf(server)).toEqual(['executePlan', 'interrupt', 'releaseExecute(all)', 'releaseSession']);
  });

  test('by the signal ends the rows with its reason', async () => {
    const { driver } = await start({ batches: waiting });
    const controller = new AbortController();
    const result = await driver.query(STATEMENT, controller.signal);
    const reading = failureOf(valuesOf(result));
    const reason = new ServiceError('deadline_exceeded', 'Too late.');
    controller.abort(reason);
    expect(await reading).toBe(reason);
  });

  test('by the signal before the first batch rejects after the interrupt', async () => {
    async function* silent() {
      await new Promise(() => undefined);
      yield batchOf([]);
    }
    const { server, driver } = await start({ batches: silent });
    const controller = new AbortController();
    const querying = failureOf(driver.query(STATEMENT, controller.signal));
    await expect.poll(() => server.calls).toContain('executePlan');
    controller.abort();
    expect(await querying).toMatchObject({ code: 'cancelled' });
    expect(server.calls).toContain('interrupt');
  });
});

test('the trace of a statement goes with its calls, and not with those of others', async () => {
  const { server, driver } = await start({ batches: THREE }, 'secret-token');
  // The calls that end a session come later.
  const traces = (): unknown => ['cloneSession', 'executePlan'].map((name) => server.traces.get(name));
  await valuesOf(await driver.query(STATEMENT, NEVER));
  expect(traces()).toEqual([undefined, undefined]);
  const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };
  await valuesOf(await driver.query({ ...STATEMENT, trace }, NEVER));
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  expect(traces()).toEqual([traceparent, traceparent]);
  expect([...server.authorizations]).toEqual(['Bearer secret-token']);
});

describe('the credentials', () => {
  test('go with every call', async () => {
    const { server, driver } = await start({ batches: THREE }, 'secret-token');
    await valuesOf(await driver.query(STATEMENT, NEVER));
    expect([...server.authorizations]).toEqual(['Bearer secret-token']);
  });

  test.each([Status.UNAUTHENTICATED, Status.PERMISSION_DENIED])(
    'refused with status %d are no secret told',
    async (status) => {
      const { driver } = await start({ batches: THREE, refused: { config: status } }, 'secret-token');
      const failure = await failureOf(driver.query(STATEMENT, NEVER));
      expect(failure).toMatchObject({ code: 'scheduler_failed', hint: 'Check scheduler.token.' });
      expect(`${failure.message} ${String(failure.cause)}`).not.toContain('secret-token');
    },
  );
});
