import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient, Metadata, Status } from 'nice-grpc';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bearer, CALLERS, callersFileOf, createCaller } from './callers.ts';
import { queryOf, startFlight } from './flight-client.ts';
import { type LogLine, type ServerProcess, startProcess, testFile } from './server-process.ts';
import { ENDLESS } from './sql-clients.ts';
import { target } from './trades.ts';
import { startUpstream } from './upstream.ts';

/** Rows without end, which a client that does not read keeps back. */
const MANY_ROWS = 'select range, range * 2 as twice from range(1000000000000)';

const SLOW_MS = 50;

const ENGINE_ENDED = 'A process of the engine has ended; another takes its place.';

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly engine: string;
  readonly elapsedMs: number;
  readonly progress: number | null;
}

async function queries(server: ServerProcess, headers: Record<string, string> = {}): Promise<readonly Shown[]> {
  const body = (await (await server.fetch('/queries', { headers })).json()) as { queries: readonly Shown[] };
  return body.queries;
}

/** Sends a request under an id, and waits until its query has a state. */
async function start(
  to: ServerProcess,
  id: string,
  state: string,
  path: string,
  init: RequestInit = {},
): Promise<{ readonly answer: Promise<Response> }> {
  const answer = to.fetch(path, { ...init, headers: { ...init.headers, 'x-request-id': id } });
  // The test checks how it ends.
  answer.catch(() => undefined);
  await isShown(to, { id, state });
  return { answer };
}

async function isShown(to: ServerProcess, query: Partial<Shown>): Promise<void> {
  await expect.poll(() => queries(to), { timeout: 10_000 }).toContainEqual(expect.objectContaining(query));
}

async function isGone(to: ServerProcess): Promise<void> {
  await expect.poll(() => queries(to), { timeout: 10_000 }).toEqual([]);
}

const cancel = (to: ServerProcess, id: string): Promise<Response> => to.fetch(`/queries/${id}`, { method: 'DELETE' });

/** The lines of the log about the queries of a request. */
const linesOf = ({ log }: ServerProcess, message: string, id: string): readonly LogLine[] =>
  log.filter((line) => line.message === message && line['requestId'] === id);

/** Waits for the end of the query of a request, and returns its outcomes: one. */
async function outcomesOf(of: ServerProcess, id: string): Promise<unknown[]> {
  await of.logged((line) => line.message === 'query_ended' && line['requestId'] === id);
  return linesOf(of, 'query_ended', id).map(({ outcome }) => outcome);
}

const CANCELLED = [499, { code: 'cancelled', error: 'The query was cancelled by another request.' }];

async function bodyOf(answer: Promise<Response>): Promise<unknown[]> {
  const response = await answer;
  return [response.status, await response.json()];
}

/** The processes that run SQL for a server. */
function sqlChildrenOf({ child }: ServerProcess): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'latin1')) ?? [];
      const isOwn =
        Number(parent) === child.pid && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes('isLocked');
      return isOwn ? [Number(name)] : [];
    } catch {
      // Not a process, or one that has ended meanwhile.
      return [];
    }
  });
}

let server: ServerProcess;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startProcess({
    env: {
      SERVICE_SQL_MAX_CONCURRENT: '1',
      SERVICE_LOGGING_SLOW_QUERY_MS: String(SLOW_MS),
      SERVICE_LOG_LEVEL: 'debug',
      SERVICE_LOGGING_ACCESS: 'errors',
    },
    onEnd: (end) => void ends.push(end),
  });
});

afterAll(async () => {
  for (const end of ends) await end();
});

describe('a query is shown until it ends, and ends once,', () => {
  test('when it is cancelled: its client gets the code, and the engine is free', { tags: ['slow'] }, async () => {
    const running = await start(server, 'first', 'running', target('/exec', `${ENDLESS} and 'secret' <> 'x'`));
    const waiting = await start(server, 'second', 'queued', target('/exec', ENDLESS));
    expect(await queries(server)).toMatchObject([
      { id: 'first', engine: 'local', progress: null },
      { id: 'second', engine: 'local', queuePosition: 1 },
    ]);
    expect((await cancel(server, 'second')).status).toBe(204);
    expect(await bodyOf(waiting.answer)).toMatchObject(CANCELLED);
    expect((await cancel(server, 'first')).status).toBe(204);
    expect(await bodyOf(running.answer)).toMatchObject(CANCELLED);
    expect(await queries(server)).toEqual([]);
    expect((await cancel(server, 'first')).status).toBe(404);
    const next = await server.fetch(target('/exec', 'select 1'));
    expect(await next.json()).toMatchObject({ dataset: [[1]] });
    expect(await outcomesOf(server, 'first')).toEqual(['cancelled']);
    expect(await outcomesOf(server, 'second')).toEqual(['cancelled']);
  });

  test('slow ones leave a line with their SQL, but without its values', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const { answer } = await start(server, 'slow', 'running', target('/exec', `${ENDLESS} and 'secret' <> 'x'`), {
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: 'vendor=secret' },
    });
    await expect.poll(async () => (await queries(server))[0]?.elapsedMs).toBeGreaterThan(SLOW_MS);
    await cancel(server, 'slow');
    await answer;
    const line = await server.logged(({ message, requestId }) => message === 'slow_query' && requestId === 'slow');
    expect(line).toMatchObject({ level: 'warn', engine: 'local', outcome: 'cancelled', rows: 0, traceId });
    expect(line['fingerprint']).toBe(
      'select count(*) from range(?) a, range(?) b where a.range + b.range = -? and ? <> ?',
    );
    await server.fetch(target('/exec', 'select 2'), { headers: { 'x-request-id': 'quick' } });
    expect(await outcomesOf(server, 'quick')).toEqual(['ok']);
    const isQuick = ({ durationMs }: LogLine): boolean => Number(durationMs) < SLOW_MS;
    expect(linesOf(server, 'slow_query', 'quick').filter(isQuick)).toEqual([]);
    expect(JSON.stringify(server.log)).not.toContain('secret');
  });

  test('when its client is gone, while it runs or sends rows', async () => {
    for (const [id, state, sql] of [
      ['gone-1', 'running', ENDLESS],
      ['gone-2', 'sending', MANY_ROWS],
    ] as const) {
      const controller = new AbortController();
      await start(server, id, state, target('/exp', sql, { fmt: 'csv' }), { signal: controller.signal });
      controller.abort();
      await isGone(server);
      expect(await outcomesOf(server, id)).toEqual(['cancelled']);
    }
  });

  test('when it is cancelled while its client does not read: the answer is cut', async () => {
    const { answer } = await start(server, 'unread', 'sending', target('/exp', MANY_ROWS, { fmt: 'csv' }));
    expect(await queries(server)).toMatchObject([
      { rows: expect.any(Number) as number, bytes: expect.any(Number) as number },
    ]);
    await cancel(server, 'unread');
    await isGone(server);
    const response = await answer;
    expect(response.status).toBe(200);
    expect(response.headers.get('server-timing')).toMatch(/^queue;dur=[\d.]+, execute;dur=[\d.]+$/);
    await expect(response.text()).rejects.toThrow();
    expect(await outcomesOf(server, 'unread')).toEqual(['cancelled']);
  });

  test('when its result is to be stored, and nothing is', async () => {
    const body = JSON.stringify({ sql: MANY_ROWS, handle: 'kept' });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const { answer } = await start(server, 'kept', 'sending', '/frames', init);
    await cancel(server, 'kept');
    expect(await bodyOf(answer)).toMatchObject(CANCELLED);
    await isGone(server);
    expect((await server.fetch('/frames/kept')).status).toBe(404);
    expect(await outcomesOf(server, 'kept')).toEqual(['cancelled']);
  });

  test.runIf(existsSync('/proc'))('when its engine is killed: all lines have its request and its trace', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const { answer } = await start(server, 'killed', 'running', target('/exec', ENDLESS), { headers });
    const killed = sqlChildrenOf(server);
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    expect((await answer).status).toBeGreaterThanOrEqual(500);
    await isGone(server);
    expect(await outcomesOf(server, 'killed')).toEqual([expect.stringMatching(/^(error|oom)$/)]);
    await server.logged((line) => line.message === 'access' && line['requestId'] === 'killed');
    const lines = server.log.filter((line) => line['requestId'] === 'killed');
    const messages = [ENGINE_ENDED, 'query_ended', 'request_answered', 'access'];
    expect(lines.map(({ message }) => message)).toEqual(expect.arrayContaining(messages));
    expect(new Set(lines.map((line) => line['traceId']))).toEqual(new Set([traceId]));
    // Until the server has seen that the idle ones ended too.
    await expect.poll(() => sqlChildrenOf(server).filter((pid) => killed.includes(pid))).toEqual([]);
    const next = await server.fetch(target('/exec', 'select 1'));
    expect(await next.json()).toMatchObject({ dataset: [[1]] });
  });

  test('when it is answered, in every format', { tags: ['slow'] }, async () => {
    for (const fmt of ['csv', 'ndjson', 'arrow', 'parquet']) {
      const id = `ok-${fmt}`;
      const sql = 'from range(200000)';
      const answer = await server.fetch(target('/exp', sql, { fmt }), { headers: { 'x-request-id': id } });
      const { byteLength } = await answer.arrayBuffer();
      expect(await outcomesOf(server, id)).toEqual(['ok']);
      expect(linesOf(server, 'query_ended', id)).toMatchObject([{ rows: 200_000, bytes: byteLength }]);
    }
    expect(await queries(server)).toEqual([]);
  });
});

test('the progress of a query over a frame rises', { tags: ['slow'] }, async () => {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const body = JSON.stringify({ sql: 'select range as id from range(2000000)', handle: 'long' });
  expect((await server.fetch('/frames', { ...init, body })).status).toBe(201);
  const sql = 'select count(*) from long where len(list_sort(range(15 + id % 7))) > 1000';
  const { answer } = await start(server, 'progress', 'running', target('/exec', sql));
  const seen: (number | null)[] = [];
  await expect
    .poll(
      async () => {
        const { progress = null } = (await (await server.fetch('/queries/progress')).json()) as Partial<Shown>;
        seen.push(progress);
        return progress ?? 0;
      },
      { timeout: 20_000 },
    )
    .toBeGreaterThan(0);
  await cancel(server, 'progress');
  await answer;
  expect(seen.every((progress) => progress === null || (progress >= 0 && progress < 1))).toBe(true);
});

test('/info has the limits and the kinds of credentials of the configuration', async () => {
  const info = (await (await server.fetch('/info')).json()) as object;
  expect(info).toMatchObject({
    engines: ['local'],
    defaultEngine: 'tsdb',
    formats: {
      in: expect.arrayContaining(['csv', 'parquet']) as string[],
      out: ['json', 'ndjson', 'csv', 'arrow', 'parquet'],
      files: expect.arrayContaining(['parquet', 'arrow']) as string[],
    },
    limits: {
      maxRows: null,
      maxUploadBytes: 10 * 1024 ** 3,
      sqlTimeoutMs: 60_000,
      sqlMemoryBytes: 1e9,
      sqlMaxConcurrent: 1,
      sqlMaxQueued: 64,
    },
    authentication: { isRequired: false, kinds: [] },
  });
});

describe('SQL for the time-series database', () => {
  test('is shown, and cancelled before and while it answers', { tags: ['slow'] }, async () => {
    const upstream = await startUpstream((request, response) => {
      if (request.url?.includes('rows') === true) response.writeHead(200).write('{"rows":');
    });
    const proxy = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: upstream.url, SERVICE_LOG_LEVEL: 'debug' } });
    const silent = await start(proxy, 't-1', 'running', '/exec?fmt=json&query=select+1');
    expect(await queries(proxy)).toMatchObject([{ id: 't-1', engine: 'tsdb', progress: null }]);
    await cancel(proxy, 't-1');
    expect(await bodyOf(silent.answer)).toMatchObject(CANCELLED);
    const sending = await start(proxy, 't-2', 'sending', '/exec?fmt=json&query=rows');
    await cancel(proxy, 't-2');
    await isGone(proxy);
    await expect(sending.answer.then((response) => response.text())).rejects.toThrow();
    await expect.poll(() => upstream.requests.map(({ socket }) => socket.destroyed)).toEqual([true, true]);
    for (const id of ['t-1', 't-2']) expect(await outcomesOf(proxy, id)).toEqual(['cancelled']);
  });
});

describe('SQL over gRPC', () => {
  test('has the x-request-id of its call, and is CANCELLED', { tags: ['slow'] }, async () => {
    const { server: own, client, address } = await startFlight();
    const channel = createChannel(address);
    onTestFinished(() => channel.close());
    const frames = createClient(FrameServiceDefinition, channel);
    const read = (async () => {
      for await (const _ of frames.query({ sql: ENDLESS }, { metadata: Metadata({ 'x-request-id': 'g-1' }) }));
    })();
    const isCancelled = expect(read).rejects.toMatchObject({ code: Status.CANCELLED });
    await isShown(own, { id: 'g-1', engine: 'local', state: 'running' });
    expect((await cancel(own, 'g-1')).status).toBe(204);
    await isCancelled;

    const { endpoint } = await client.getFlightInfo(queryOf(MANY_ROWS), {
      metadata: Metadata({ 'x-request-id': 'g-2' }),
    });
    const rows = client.doGet({ ticket: endpoint[0]?.ticket?.ticket ?? new Uint8Array(0) })[Symbol.asyncIterator]();
    await rows.next();
    await isShown(own, { id: 'g-2', engine: 'local', state: 'sending' });
    await cancel(own, 'g-2');
    const readOn = async (): Promise<void> => {
      while ((await rows.next()).done !== true);
    };
    await expect(readOn()).rejects.toMatchObject({ code: Status.CANCELLED });
    await isGone(own);
  });
});

describe('with authentication', () => {
  test('a query of another tenant is exactly an unknown one, and an administrator sees all', async () => {
    const beta = createCaller('beta', ['read', 'write', 'tsdb', 'scheduler']);
    const file = testFile('callers.toml', callersFileOf({ ...CALLERS, stranger: beta }));
    const closed = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
    const stranger = { authorization: bearer(beta.token) };
    const as = (name: keyof typeof CALLERS) => ({ authorization: bearer(CALLERS[name].token) });
    const answer = closed.fetch(target('/exec', ENDLESS), { headers: { ...as('read'), 'x-request-id': 'mine' } });
    answer.catch(() => undefined);
    await expect.poll(() => queries(closed, as('read')), { timeout: 10_000 }).toMatchObject([{ id: 'mine' }]);
    expect(await queries(closed, as('admin'))).toMatchObject([{ id: 'mine', tenant: 'alpha', state: 'running' }]);
    for (const headers of [as('write'), as('tsdb'), stranger]) expect(await queries(closed, headers)).toEqual([]);
    for (const method of ['GET', 'DELETE']) {
      const ask = async (id: string) => {
        const response = await closed.fetch(`/queries/${id}`, {
          method,
          headers: { ...stranger, 'x-request-id': 'r' },
        });
        const headers = [...response.headers].filter(([key]) => key !== 'date');
        return [response.status, headers, (await response.text()).replaceAll(id, '…')];
      };
      expect(await ask('mine')).toEqual(await ask('none'));
    }
    const cancelled = await closed.fetch('/queries/mine', { method: 'DELETE', headers: as('admin') });
    expect(cancelled.status).toBe(204);
    expect(await bodyOf(answer)).toMatchObject(CANCELLED);
    const info = (await (await closed.fetch('/info', { headers: stranger })).json()) as object;
    expect(info).toMatchObject({ authentication: { isRequired: true, kinds: ['token'] } });
    expect((await closed.fetch('/info')).status).toBe(401);
    const isAudited = ({ message, operation }: LogLine): boolean => message === 'audit' && operation === 'cancelQuery';
    expect(await closed.logged(isAudited)).toMatchObject({ outcome: 'ok', tenant: 'alpha' });
  });
});
