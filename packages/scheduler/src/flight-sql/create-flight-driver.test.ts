import { readRows } from '@svc/frames/testing';
import { flight } from '@svc/proto';
import { tableFromArrays } from 'apache-arrow';
import { type CallContext, ServerError, Status } from 'nice-grpc';
import { streamFromTable } from '@svc/frames';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Driver } from '../driver.ts';
import {
  type FakeEndpoint,
  type FakeFlight,
  type FakeFlightOptions,
  type FlightMessage,
  messagesOf,
  startFakeFlight,
  statementOf,
} from '../testing/fake-flight.ts';
import { createFlightDriver, type FlightDriverOptions } from './create-flight-driver.ts';

const LIVE = new AbortController().signal;
const ROWS = [[1n], [2n], [3n]];
const ENDPOINT: FakeEndpoint = { messages: () => messagesOf() };

async function start(
  options: FakeFlightOptions,
  driverOptions?: FlightDriverOptions,
): Promise<{ readonly driver: Driver; readonly server: FakeFlight }> {
  const server = await startFakeFlight(options);
  const driver = createFlightDriver(server.cluster, driverOptions);
  onTestFinished(() => driver.close());
  return { driver, server };
}

async function rowsOf(driver: Driver, sql: string, signal = LIVE): Promise<unknown[][]> {
  return readRows(await driver.query(statementOf(sql), signal));
}

/** Waits until its call is cancelled. */
async function* endless({ signal }: CallContext): AsyncGenerator<FlightMessage> {
  yield* messagesOf();
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
}

describe('a statement', () => {
  test('goes in parentheses, with the token and its tag', async () => {
    const { driver, server } = await start({ answer: () => ({ endpoints: [ENDPOINT] }) });
    expect(await rowsOf(driver, 'SELECT id FROM t')).toEqual(ROWS);
    expect(server.calls).toEqual(['GetFlightInfo (\nSELECT id FROM t\n)', 'DoGet']);
    expect(server.metadata()).toEqual({ authorization: 'Bearer secret', requestId: 'svc-1' });
  });

  test('passes its trace on', async () => {
    const { driver, server } = await start({ answer: () => ({ endpoints: [ENDPOINT] }) });
    const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };
    expect(await readRows(await driver.query({ ...statementOf('SELECT 1'), trace }, LIVE))).toEqual(ROWS);
    expect(server.metadata()).toMatchObject({ traceparent: `00-${trace.traceId}-${trace.spanId}-01` });
  });

  test('has the rows of all endpoints in order', async () => {
    const more = { messages: () => messagesOf(streamFromTable(tableFromArrays({ id: BigInt64Array.of(4n) }))) };
    const { driver } = await start({ answer: () => ({ endpoints: [ENDPOINT, more, ENDPOINT] }) });
    expect(await rowsOf(driver, 'SELECT 1')).toEqual([...ROWS, [4n], ...ROWS]);
  });

  test('without endpoints has no rows and the announced columns', async () => {
    const { driver } = await start({ answer: () => ({ endpoints: [] }) });
    const result = await driver.query(statementOf('SELECT 1'), LIVE);
    expect(result.schema.names).toEqual(['id']);
    expect(await readRows(result)).toEqual([]);
  });

  test('with parameters is prepared, bound with a replaced handle, and closed', async () => {
    const { driver, server } = await start({ answer: () => ({ endpoints: [ENDPOINT] }) });
    const result = await driver.query(statementOf('SELECT ?', { params: [1] }), LIVE);
    expect(await readRows(result)).toEqual(ROWS);
    await result.stop();
    expect(server.calls).toEqual([
      'CreatePreparedStatement',
      'DoPut (\nSELECT ?\n)',
      'GetFlightInfo bound',
      'DoGet',
      'ClosePreparedStatement bound',
    ]);
  });
});

describe('an answer that is not complete is scheduler_failed:', () => {
  async function* failing(): AsyncGenerator<FlightMessage> {
    yield* messagesOf();
    throw new ServerError(Status.INTERNAL, 'A task failed.');
  }
  async function* cut(): AsyncGenerator<FlightMessage> {
    for await (const { dataHeader, dataBody } of messagesOf()) {
      yield { dataHeader, dataBody: dataBody.subarray(0, dataBody.length - 8) };
    }
  }
  async function* changing(): AsyncGenerator<FlightMessage> {
    yield* messagesOf();
    yield* messagesOf();
  }
  const text = { messages: () => messagesOf(streamFromTable(tableFromArrays({ name: ['a'] }))) };

  test.each<[string, readonly FakeEndpoint[], RegExp]>([
    ['an error after rows', [{ messages: failing }], /A task failed\./],
    ['an error of the second endpoint', [ENDPOINT, { messages: failing }], /A task failed\./],
    ['a message that is cut', [{ messages: cut }], /bytes, but its header says/],
    ['a second schema', [{ messages: changing }], /second schema/],
    ['an endpoint with other columns', [ENDPOINT, text], /different columns/],
    ['an endpoint without a message', [{ messages: async function* () {} }], /no schema|cannot be read/],
    ['rows on another host', [{ ...ENDPOINT, locations: ['grpc://other.example:1'] }], /another host/],
  ])('%s', async (_what, endpoints, message) => {
    const { driver } = await start({ answer: () => ({ endpoints }) });
    await expect(rowsOf(driver, 'SELECT 1')).rejects.toMatchObject({
      code: 'scheduler_failed',
      message: expect.stringMatching(message),
    });
  });

  test('fewer rows than announced', async () => {
    const { driver } = await start({ answer: () => ({ endpoints: [ENDPOINT], totalRecords: 4 }) });
    const failure = { code: 'scheduler_failed', message: 'The scheduler announced 4 rows, but sent 3.' };
    await expect(rowsOf(driver, 'SELECT 1')).rejects.toMatchObject(failure);
  });

  test('a server that is away', async () => {
    const driver = createFlightDriver({ protocol: 'flight-sql', host: '127.0.0.1', port: 1, hasTls: false });
    onTestFinished(() => driver.close());
    const message = 'The scheduler cannot be reached, or the connection to it broke.';
    const failure = { code: 'scheduler_failed', message };
    await expect(rowsOf(driver, 'SELECT 1')).rejects.toMatchObject(failure);
  });
});

describe('rows at another place', () => {
  test.each([
    ['the connection itself', 'arrow-flight-reuse-connection://?'],
    ['the server itself', 'grpc+tcp://127.0.0.1:{port}'],
  ])('are read from %s', async (_what, location) => {
    const { driver, server } = await start({
      answer: () => ({
        endpoints: [{ ...ENDPOINT, locations: [location.replace('{port}', String(server.cluster.port))] }],
      }),
    });
    expect(await rowsOf(driver, 'SELECT 1')).toEqual(ROWS);
  });

  test('are read from another port of the host', async () => {
    const other = await startFakeFlight({ answer: () => ({ endpoints: [ENDPOINT] }) });
    const locations = [`grpc://127.0.0.1:${other.cluster.port}`];
    const { driver } = await start({ answer: () => ({ endpoints: [{ ...ENDPOINT, locations }] }) });
    await expect(rowsOf(driver, 'SELECT 1')).rejects.toMatchObject({
      message: expect.stringContaining('No such ticket'),
    });
    expect(other.calls).toEqual(['DoGet']);
    expect(other.metadata()).toMatchObject({ authorization: 'Bearer secret' });
  });
});

describe('a stopped statement', () => {
  const actions = ['CancelFlightInfo'];

  test('is cancelled on the server, until that has confirmed it', async () => {
    const { CANCEL_STATUS_CANCELLING: soon, CANCEL_STATUS_CANCELLED: done } = flight.CancelStatus;
    const states = [soon, soon, done];
    const { driver, server } = await start({
      answer: () => ({ endpoints: [{ messages: endless }] }),
      actions,
      cancelState: () => states.shift() ?? done,
    });
    const result = await driver.query(statementOf('SELECT 1'), LIVE);
    await result.stop();
    expect(states).toEqual([]);
    expect(server.calls.filter((call) => call === 'CancelFlightInfo')).toHaveLength(3);
    await expect(readRows(result)).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('is cancelled by CancelQuery on older servers', async () => {
    const { driver, server } = await start({
      answer: () => ({ endpoints: [{ messages: endless }] }),
      actions: ['CancelQuery'],
    });
    await (await driver.query(statementOf('SELECT 1'), LIVE)).stop();
    expect(server.calls).toContain('CancelQuery');
  });

  test('is not cancelled after its last row', async () => {
    const { driver, server } = await start({ answer: () => ({ endpoints: [ENDPOINT] }), actions });
    const result = await driver.query(statementOf('SELECT 1'), LIVE);
    await readRows(result);
    await result.stop();
    expect(server.calls).not.toContain('CancelFlightInfo');
  });

  test('fails with the reason of its signal', async () => {
    const { driver, server } = await start({ answer: () => ({ endpoints: [{ messages: endless }] }), actions });
    const controller = new AbortController();
    const result = await driver.query(statementOf('SELECT 1'), controller.signal);
    const reading = readRows(result);
    controller.abort(new Error('gone'));
    await expect(reading).rejects.toMatchObject({
      code: 'cancelled',
      cause: expect.objectContaining({ message: 'gone' }),
    });
    await vi.waitFor(() => expect(server.calls).toContain('CancelFlightInfo'));
  });

  test('ends when the driver is closed', async () => {
    const { driver, server } = await start({ answer: () => ({ endpoints: [{ messages: endless }] }), actions });
    const result = await driver.query(statementOf('SELECT 1'), LIVE);
    await driver.close();
    await expect(readRows(result)).rejects.toMatchObject({ code: 'cancelled' });
    expect(server.calls).toContain('CancelFlightInfo');
  });
});

describe('a description', () => {
  test('asks GetSchema, and runs nothing', async () => {
    const { driver, server } = await start({ answer: () => ({}), hasGetSchema: true });
    expect((await driver.describe(statementOf('SELECT 1'), LIVE)).names).toEqual(['id']);
    expect(server.calls).toEqual(['GetSchema (\nSELECT 1\n)']);
  });

  test('takes the columns of the FlightInfo without GetSchema, or those of no rows', async () => {
    const { driver, server } = await start({ answer: () => ({ endpoints: [ENDPOINT] }) });
    expect((await driver.describe(statementOf('SELECT 1'), LIVE)).names).toEqual(['id']);
    expect(server.calls).not.toContain('DoGet');
    const { driver: other, server: bare } = await start({
      answer: () => ({ endpoints: [ENDPOINT], hasSchema: false }),
    });
    expect((await other.describe(statementOf('SELECT 1'), LIVE)).names).toEqual(['id']);
    expect(bare.calls).toContain('GetFlightInfo SELECT * FROM (\n(\nSELECT 1\n)\n) AS q LIMIT 0');
  });
});

describe('frames', () => {
  const frames = [
    { name: 'T', handle: 't', version: '1', rows: 3, uris: ['file:///a', 'file:///b'], schema: undefined as never },
  ];

  async function textFor(sql: string, reads: (probe: string) => boolean): Promise<string | undefined> {
    const refusal = new ServerError(Status.INVALID_ARGUMENT, 'found x at 0:1 expected y');
    const { driver, server } = await start(
      { answer: (text) => (reads(text) ? { endpoints: [ENDPOINT] } : { refusal }) },
      { readFile: 'parquet.`{uri}`' },
    );
    await readRows(await driver.query(statementOf(sql, { frames }), LIVE));
    return server.calls.findLast((call) => call.startsWith('GetFlightInfo'))?.replace('GetFlightInfo ', '');
  }
  const FILES = '(SELECT * FROM parquet.`file:///a` UNION ALL SELECT * FROM parquet.`file:///b`)';

  test.each<[string, string, (probe: string) => boolean, string]>([
    ['standard SQL', 'SELECT 1', () => true, `WITH "T" AS ${FILES} (\nSELECT 1\n)`],
    ['backticks', 'SELECT 1', (text) => !text.includes('"'), `WITH \`T\` AS ${FILES} (\nSELECT 1\n)`],
    [
      'no WITH inside of WITH',
      'WITH a AS (SELECT 1) SELECT 2',
      (text) => !/\(\nWITH svc/.test(text),
      `(\nWITH "T" AS ${FILES}, a AS (SELECT 1) SELECT 2\n)`,
    ],
  ])('are bound for an engine that reads %s', async (_dialect, sql, reads, expected) => {
    expect(await textFor(sql, reads)).toBe(expected);
  });

  test('cannot be bound for an engine without WITH', async () => {
    await expect(textFor('SELECT 1', () => false)).rejects.toMatchObject({ code: 'scheduler_failed' });
  });

  test('are not bound without readFile', async () => {
    const { driver, server } = await start({ answer: () => ({ endpoints: [ENDPOINT] }) });
    await readRows(await driver.query(statementOf('SELECT 1', { frames }), LIVE));
    expect(server.calls[0]).toBe('GetFlightInfo (\nSELECT 1\n)');
  });
});
