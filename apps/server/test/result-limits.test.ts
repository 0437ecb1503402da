// The limits of whole results hold on every way to read or store one, and a result over its limit never looks complete.
import { PERMISSIONS } from '@svc/auth';
import { flightSql, FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient } from 'nice-grpc';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, callersFileOf, createCaller } from './callers.ts';
import { startProcess, testFile } from './server-process.ts';
import { startUpstream } from './upstream.ts';
import { commandOf, flights, get, prepare } from './ways-in/flight-messages.ts';
import { drain, grpc, type Send, type Target } from './ways-in/way.ts';

/** Tenants, and their limits: the first one has those of the settings. */
const TENANTS = {
  plain: '',
  wide: 'max_result_bytes = 100_000_000',
  hasty: 'max_result_ms = 300',
  calm: 'max_result_ms = 30_000',
} as const;
const callers = {
  plain: createCaller('plain', PERMISSIONS),
  wide: createCaller('wide', PERMISSIONS),
  hasty: createCaller('hasty', PERMISSIONS),
  calm: createCaller('calm', PERMISSIONS),
};
const as = (tenant: keyof typeof TENANTS): string => bearer(callers[tenant].token);

/** Starts a server with a frame `log` of each tenant. */
async function start(env: Readonly<Record<string, string>>): Promise<Target> {
  const limits = Object.entries(TENANTS).map(([name, lines]) => `[[tenant]]\nname = "${name}"\n${lines}\n`);
  const callersFile = testFile('callers.toml', `${callersFileOf(callers)}\n${limits.join('\n')}`);
  const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: callersFile, ...env } });
  for (const tenant of ['plain', 'wide', 'hasty', 'calm'] as const) {
    const put = await server.put('log', [{ x: 'first' }], { headers: { authorization: as(tenant) } });
    expect(put.status).toBe(201);
  }
  const channel = createChannel(server.grpcAddress);
  onTestFinished(() => channel.close());
  const none = new Uint8Array(0);
  return { url: server.url, channel, ticket: none, query: none, update: none, insert: none };
}

/** Sends an HTTP request, and resolves to `ok`, to the code of the error, or to `cut` if the response has no end. */
function http(path: string, init: RequestInit = {}): Send {
  return async ({ url }, authorization = '') => {
    const response = await fetch(`${url}${path}`, { ...init, headers: { ...init.headers, authorization } });
    if (!response.ok) return ((await response.json()) as { code: string }).code;
    try {
      for await (const _ of response.body ?? []);
      return 'ok';
    } catch {
      return 'cut';
    }
  };
}

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const local = (sql: string): string => `engine=local&query=${encodeURIComponent(sql)}`;
const frames = (run: (client: ReturnType<typeof framesOf>, options: object) => Promise<unknown>): Send =>
  grpc((target, options) => run(framesOf(target), options));
const framesOf = ({ channel }: Target) => createClient(FrameServiceDefinition, channel);
const statement = (query: string) =>
  commandOf(
    'CommandStatementQuery',
    flightSql.CommandStatementQuery.encode({ query, transactionId: undefined }).finish(),
  );

/** The ways to read or store the result of a statement. */
const WAYS: Readonly<Record<string, (sql: string) => Send>> = {
  'GET /exec': (sql) => http(`/exec?fmt=json&${local(sql)}`),
  'GET /exec, compressed': (sql) => http(`/exec?fmt=json&${local(sql)}`, { headers: { 'accept-encoding': 'gzip' } }),
  'POST /exec': (sql) =>
    http('/exec?fmt=json', { method: 'POST', body: new URLSearchParams({ query: sql, engine: 'local' }) }),
  'GET /exp, csv': (sql) => http(`/exp?fmt=csv&${local(sql)}`),
  'GET /exp, parquet': (sql) => http(`/exp?fmt=parquet&${local(sql)}`),
  'POST /frames': (sql) => http('/frames', json({ sql, engine: 'local', handle: 'kept' })),
  'POST /frames/:handle': (sql) => http('/frames/log', json({ sql, engine: 'local' })),
  'FrameService.Query': (sql) => frames((client, options) => drain(client.query({ sql }, options))),
  'FrameService.KeepQuery': (sql) => frames((client, options) => client.keepQuery({ sql, handle: 'kept' }, options)),
  'Flight SQL': (sql) => flights((client, options) => get(client, statement(sql), options)),
  'Flight SQL, prepared': (sql) =>
    flights(async (client, options) => {
      const preparedStatementHandle = await prepare(client, sql, options);
      const command = flightSql.CommandPreparedStatementQuery.encode({ preparedStatementHandle }).finish();
      await get(client, commandOf('CommandPreparedStatementQuery', command), options);
    }),
  'Flight SQL, CREATE TABLE AS': (sql) =>
    flights((client, options) => get(client, statement(`create or replace table kept as ${sql}`), options)),
  'Flight SQL, INSERT': (sql) =>
    flights((client, options) => get(client, statement(`insert into log ${sql}`), options)),
};

/** A way of each kind: an HTTP response, a stored result, and a gRPC stream. */
const SAMPLE = ['GET /exec', 'FrameService.KeepQuery', 'Flight SQL'];
const REST = Object.keys(WAYS).filter((name) => !SAMPLE.includes(name));

// Random, so that it is as long in a compressed file.
const LONG = 'select random()::varchar as x from range(50000)';
const ENDLESS = "select 'row' as x from repeat_row(1, num_rows=1000000000000)";
const SHORT = "select 'row' as x";

/** Expects an outcome of a statement on each way. */
async function expectOutcome(
  target: Target,
  ways: readonly string[],
  sql: string,
  [tenant, outcome]: [keyof typeof TENANTS, string],
) {
  for (const name of ways) {
    // The connection of an HTTP response that has begun is cut.
    const canBeCut = /^GET|^POST \/exec/.test(name) && outcome !== 'ok';
    const expected = canBeCut ? [outcome, 'cut'] : [outcome];
    expect(expected, name).toContain(await WAYS[name]?.(sql)(target, as(tenant)));
  }
}

async function expectLimits(ways: readonly string[]): Promise<void> {
  const target = await start({ SERVICE_SQL_MAX_RESULT_BYTES: '100000' });
  await expectOutcome(target, ways, LONG, ['plain', 'payload_too_large']);
  await expectOutcome(target, ways, SHORT, ['calm', 'ok']);
  const patient = await start({});
  await expectOutcome(patient, ways, ENDLESS, ['hasty', 'deadline_exceeded']);
}

test('a result over its limit of bytes or time fails on a sample of all ways in, and a short one does not', async () => {
  await expectLimits(SAMPLE);
});

test('so it does on all other ways in', { tags: ['slow'], timeout: 240_000 }, async () => {
  await expectLimits(REST);
});

test('the limit of a tenant replaces that of the settings', async () => {
  const target = await start({ SERVICE_SQL_MAX_RESULT_BYTES: '100000' });
  await expectOutcome(target, SAMPLE, LONG, ['wide', 'ok']);
});

test('the refusal names the limit and what to do', async () => {
  const target = await start({ SERVICE_SQL_MAX_RESULT_BYTES: '10' });
  const response = await fetch(`${target.url}/frames`, {
    ...json({ sql: 'select * from range(100)', engine: 'local' }),
    headers: { authorization: as('plain'), 'content-type': 'application/json' },
  });
  expect([response.status, await response.json()]).toMatchObject([
    413,
    {
      error: 'The query result is longer than 10 bytes (max_result_bytes).',
      hint: expect.stringContaining('sql.max_result_bytes'),
    },
  ]);
});

test('responses of the time-series database have the same limits', { tags: ['slow'] }, async () => {
  const chunk = Buffer.alloc(10_000, 'x');
  const upstream = await startUpstream((request, response) => {
    const chunks = Number(new URL(request.url ?? '', 'http://localhost').searchParams.get('query'));
    let left = chunks;
    const write = (): void => {
      for (; left > 0; left -= 1) if (!response.write(chunk)) return void response.once('drain', write);
      response.end();
    };
    if (chunks === 1) response.end(chunk);
    else write();
  });
  const target = await start({ SERVICE_TSDB_HTTP_URL: upstream.url, SERVICE_SQL_MAX_RESULT_BYTES: '100000' });
  const read = (chunks: number, tenant: keyof typeof TENANTS) =>
    http(`/exec?query=${chunks}&fmt=json`)(target, as(tenant));
  expect(await read(1, 'plain')).toBe('ok');
  expect(await read(100, 'plain')).toBe('cut');
  expect(await read(100, 'wide')).toBe('ok');
  const small = await start({ SERVICE_TSDB_HTTP_URL: upstream.url, SERVICE_SQL_MAX_RESULT_BYTES: '1000' });
  expect(await http('/exec?query=1&fmt=json')(small, as('plain'))).toBe('payload_too_large');
  const late = await start({ SERVICE_TSDB_HTTP_URL: upstream.url });
  expect(await http('/exec?query=Infinity&fmt=json')(late, as('hasty'))).toBe('cut');
});
