import { status as Status } from '@grpc/grpc-js';
import { tableFromIPC } from 'apache-arrow';
import { createChannel } from 'nice-grpc';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createFakeEngine } from '../test/fake-engine.ts';
import { collect, createFrameClient, failureOf, getTable, startServer } from '../test/start-server.ts';

async function startWithEngine() {
  const engine = createFakeEngine();
  return { engine, ...(await startServer({ engine })) };
}

describe('Query', () => {
  test('returns an Arrow stream, and closes the result', async () => {
    const { client, engine } = await startWithEngine();
    const chunks = await collect(client.query({ sql: 'SELECT 1 AS one' }));
    expect(tableFromIPC(chunks.map(({ chunk }) => chunk)).toArray()).toMatchObject([{ one: 1n }]);
    expect(engine.openResults()).toBe(0);
  });

  test.each([
    [{}, null],
    [{ boolValue: false }, false],
    [{ intValue: 2n ** 53n + 1n }, 2n ** 53n + 1n],
    [{ doubleValue: 0.5 }, { type: 'DOUBLE', text: '0.5' }],
    [{ doubleValue: 0 }, { type: 'DOUBLE', text: '0' }],
    [{ stringValue: '' }, ''],
    [{ bytesValue: Buffer.from([1]) }, Buffer.from([1])],
    [{ typedValue: { type: 'DATE', text: '2024-01-02' } }, { type: 'DATE', text: '2024-01-02' }],
  ])('passes the parameter %o as %o', async (param, value) => {
    const { client, engine } = await startWithEngine();
    await collect(client.query({ sql: 'SELECT ? AS echo', params: [param] }));
    expect(engine.asked.map(({ params }) => params)).toEqual([[value]]);
  });

  test('has the address and the port of its connection', async () => {
    const { client, engine, port } = await startWithEngine();
    const channel = createChannel(`127.0.0.1:${port}`, undefined, { 'grpc.use_local_subchannel_pool': 1 });
    onTestFinished(() => channel.close());
    const other = createFrameClient(channel);
    for (const one of [client, client, other]) await collect(one.query({ sql: 'SELECT 1 AS one' }));
    const [first, again, second] = engine.asked.map(({ call }) => call.client);
    expect(first).toEqual({ address: '127.0.0.1', connection: expect.stringMatching(/^\d+$/) });
    expect(again).toEqual(first);
    expect(second?.connection).not.toBe(first?.connection);
  });

  test('returns the requested rows and columns', async () => {
    const { client } = await startWithEngine();
    const chunks = await collect(client.query({ sql: 'SELECT 1 AS one', limit: 0n, columns: ['one'] }));
    const table = tableFromIPC(chunks.map(({ chunk }) => chunk));
    expect([table.numRows, table.schema.names]).toEqual([0, ['one']]);
  });

  test('is cancelled in the engine when the client disconnects', async () => {
    const { client, engine } = await startWithEngine();
    const controller = new AbortController();
    const answer = collect(client.query({ sql: 'SELECT slowly' }, { signal: controller.signal }));
    await expect.poll(() => engine.asked.length).toBe(1);
    controller.abort();
    await expect(answer).rejects.toThrow('aborted');
    await expect.poll(() => engine.asked[0]?.call.signal.aborted).toBe(true);
  });

  test.each([
    [{ sql: '' }, 'INVALID_ARGUMENT', 'invalid_argument', 'The field sql is empty.'],
    [{ sql: 'SELEC' }, 'INVALID_ARGUMENT', 'invalid_sql', 'The engine does not know SELEC.'],
    [{ sql: 'x', engine: 'tsdb' }, 'INVALID_ARGUMENT', 'invalid_argument', 'There is no engine "tsdb".'],
    [
      { sql: 'x', engine: 'scheduler' },
      'FAILED_PRECONDITION',
      'scheduler_not_configured',
      'No scheduler is configured to send SQL to.',
    ],
    [{ sql: 'x', offset: -1n }, 'INVALID_ARGUMENT', 'invalid_argument', 'The field offset is -1.'],
  ] as const)('of %o is %s', async (request, status, errorCode, details) => {
    const { client } = await startWithEngine();
    const failure = await failureOf((options) => collect(client.query(request, options)));
    expect(failure).toMatchObject({ code: Status[status], errorCode, details });
  });
});

describe('KeepQuery', () => {
  test('stores the result under a handle', async () => {
    const { client } = await startWithEngine();
    const kept = await client.keepQuery({ sql: 'SELECT 1 AS one', handle: 'one', ttlSeconds: 60n });
    expect(kept).toMatchObject({ created: true, frame: { handle: 'one', rows: 1n } });
    expect(kept.frame?.expires).toBeDefined();
    expect((await getTable(client, { handle: 'one' })).table.toArray()).toMatchObject([{ one: 1n }]);
  });

  test('generates a handle if none is given', async () => {
    const { client } = await startWithEngine();
    const { frame } = await client.keepQuery({ sql: 'SELECT 1 AS one' });
    expect(frame?.handle).toMatch(/^f-[0-9a-z]{26}$/);
  });

  test('obeys if_absent and if_version', async () => {
    const { client } = await startWithEngine();
    const request = { sql: 'SELECT 1 AS one', handle: 'one' };
    await client.keepQuery(request);
    const again = (more: object) => failureOf((options) => client.keepQuery({ ...request, ...more }, options));
    expect(await again({ ifAbsent: true })).toMatchObject({ code: Status.ALREADY_EXISTS });
    expect(await again({ ifVersion: 'old' })).toMatchObject({ code: Status.ABORTED });
  });

  test.each([
    [{ engine: 'tsdb' }, 'FAILED_PRECONDITION', 'tsdb_not_configured'],
    [{ engine: 'moon' }, 'INVALID_ARGUMENT', 'invalid_argument'],
    [{ handle: '..' }, 'INVALID_ARGUMENT', 'invalid_argument'],
    [{ ttlSeconds: 0n }, 'INVALID_ARGUMENT', 'invalid_argument'],
  ] as const)('with %o is %s', async (more, status, errorCode) => {
    const { client } = await startWithEngine();
    const request = { sql: 'SELECT 1 AS one', ...more };
    const failure = await failureOf((options) => client.keepQuery(request, options));
    expect(failure).toMatchObject({ code: Status[status], errorCode });
  });
});
