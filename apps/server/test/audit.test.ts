import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PERMISSIONS } from '@svc/auth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditLine } from '../src/observers/audit.ts';
import { bearer, callersFileOf, createCaller } from './callers.ts';
import { runToEnd, type ServerProcess, startProcess, testFile } from './server-process.ts';
import { startUpstream } from './upstream.ts';
import { nameOf, type Target, type Way } from './ways-in/way.ts';
import { isPreparation, openTarget, SAMPLE } from './ways-in/ways.ts';

const callers = { all: createCaller('alpha', PERMISSIONS), read: createCaller('alpha', ['read']) };
const idOf = ({ token }: { readonly token: string }): string => token.slice(4, 12);
const auditFile = testFile('audit.log', '');

let server: ServerProcess;
let target: Target;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startProcess({
    args: ['--log-level', 'error'],
    env: {
      SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', callersFileOf(callers)),
      SERVICE_LOGGING_AUDIT_FILE: auditFile,
    },
    onEnd: (end) => void ends.push(end),
  });
  target = await openTarget(server, bearer(callers.all.token));
});

afterAll(async () => {
  target.channel.close();
  for (const end of ends) await end();
});

const lines = (): AuditLine[] =>
  readFileSync(auditFile, 'utf8')
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text) as AuditLine);

/** Sends a request and a marker after it; returns the lines of the request. */
async function linesOf(send: () => Promise<unknown>): Promise<AuditLine[]> {
  const before = lines().length;
  await send();
  const marker = `marker-${before}`;
  await server.fetch('/metrics', { headers: { authorization: bearer(callers.all.token), 'x-request-id': marker } });
  await expect.poll(() => lines().some(({ requestId }) => requestId === marker)).toBe(true);
  return lines()
    .slice(before)
    .filter(({ requestId }) => requestId !== marker);
}

const WRITES: ReadonlySet<string | undefined> = new Set([
  'putFrame',
  'appendFrame',
  'keepQuery',
  'appendRows',
  'appendQuery',
  'writeLines',
  'expireFrame',
  'renameFrame',
  'dropFrame',
]);
/** The rows that need a caller, but not the permission `admin`. Preparing a statement writes nothing. */
const ROWS = SAMPLE.filter((way) => way.access === undefined && way.permission !== 'admin' && !isPreparation(way));
/** The operations that show more to an administrator. */
const ADMIN_USES: ReadonlySet<string | undefined> = new Set(['listQueries', 'findQuery', 'cancelQuery']);
const audited = ROWS.filter(({ operation }) => WRITES.has(operation) || ADMIN_USES.has(operation));
const isForwarded = ({ operation }: Way): boolean => operation === 'forward';

/** Sends a request on every way in, one after the other. */
const sendAll = (token: string) => async () => {
  for (const { send } of ROWS) await send(target, bearer(token));
};

describe('on every way in', () => {
  test(
    'a write leaves one line with its outcome, a use of the permission admin one, and a read none',
    { tags: ['slow'] },
    async () => {
      expect(await linesOf(sendAll(callers.all.token))).toEqual(
        audited.map(({ operation, allowed = 'ok', audited: outcome = allowed }) => ({
          time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          requestId: expect.stringMatching(/^.{8,}$/),
          tenant: 'alpha',
          caller: idOf(callers.all),
          operation,
          ...(operation === 'renameFrame' && { newHandle: 'renamed' }),
          ...(ADMIN_USES.has(operation)
            ? { handle: null, outcome: 'ok' }
            : { handle: expect.stringMatching(/^(put|shown|none|kept|made|ingested|lines|f-.{26})$/), outcome }),
        })),
      );
    },
  );

  test('a write, and SQL for the database, without the permission leaves one line', { tags: ['slow'] }, async () => {
    // SQL in a body is not known before the body is read.
    const operationOf = (way: Way) => {
      if (nameOf(way).startsWith('POST /frames, ')) return 'putFrame';
      if (nameOf(way).startsWith('PATCH ')) return 'expireFrame';
      return nameOf(way).startsWith('POST /frames/:handle, ') ? 'appendFrame' : way.operation;
    };
    const caller = idOf(callers.read);
    const refused = ROWS.filter((way) => WRITES.has(way.operation) || isForwarded(way));
    expect(await linesOf(sendAll(callers.read.token))).toMatchObject(
      refused.map((way) => ({ tenant: 'alpha', caller, operation: operationOf(way), outcome: 'permission_denied' })),
    );
  });

  test('a refused credential is counted, and leaves no part of it', async () => {
    const token = callers.all.token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    const before = lines().length;
    await sendAll(token)();
    const refused = () => lines().slice(before);
    const counted = () => refused().reduce((sum, { count = 1 }) => sum + count, 0);
    await expect.poll(counted, { timeout: 10_000 }).toBe(ROWS.length);
    for (const { count: _count, ...line } of refused()) {
      expect(line).toEqual({
        time: expect.any(String),
        requestId: expect.any(String),
        tenant: null,
        caller: null,
        operation: expect.stringMatching(/^([A-Z]+ \/|[\w.]+\/\w+$)/),
        handle: null,
        outcome: 'unauthenticated',
        reason: 'The token is unknown, wrong or revoked.',
        client: '127.0.0.1',
      });
    }
    expect(readFileSync(auditFile, 'utf8')).not.toContain(token.slice(-43));
  });
});

test('a use of admin leaves a line, and /health without it none', async () => {
  const health = (token: string) => () => server.fetch('/health', { headers: { authorization: bearer(token) } });
  expect(await linesOf(health(callers.read.token))).toEqual([]);
  const scrape = () => server.fetch('/metrics', { headers: { authorization: bearer(callers.all.token) } });
  expect(await linesOf(scrape)).toMatchObject([{ operation: 'metrics', handle: null, outcome: 'ok' }]);
  expect(await linesOf(health(callers.all.token))).toMatchObject([
    { tenant: 'alpha', caller: idOf(callers.all), operation: 'health', handle: null, outcome: 'ok' },
  ]);
});

test('a failed write names the code of its error and the request', async () => {
  const headers = { authorization: bearer(callers.all.token), 'x-request-id': 'bad-json' };
  const send = () => server.fetch('/frames/x?fmt=json', { method: 'PUT', body: '[{]', headers });
  expect(await linesOf(send)).toMatchObject([
    { requestId: 'bad-json', operation: 'putFrame', handle: 'x', outcome: 'invalid_data' },
  ]);
});

describe('SQL for the time-series database', () => {
  const PLANTED = 'planted-5d1e';
  const STATUSES = { accepted: 200, refused: 400, forbidden: 403, failed: 503 } as const;

  async function startProxy() {
    const file = testFile('audit.log', '');
    const database = await startUpstream(({ url = '' }, response) => {
      const word = Object.entries(STATUSES).find(([name]) => url.includes(name));
      response.writeHead(word?.[1] ?? 200, { 'content-type': 'application/json' }).end('{"ddl":"OK"}');
    });
    const proxy = await startProcess({
      args: ['--log-level', 'error'],
      env: {
        SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', callersFileOf(callers)),
        SERVICE_LOGGING_AUDIT_FILE: file,
        SERVICE_TSDB_HTTP_URL: database.url,
      },
    });
    const send = (path: string, { token }: { readonly token: string }, init: RequestInit = {}) =>
      proxy.fetch(path, { ...init, headers: { ...init.headers, authorization: bearer(token) } });
    return { send, database, text: () => readFileSync(file, 'utf8') };
  }

  test('leaves one line with its outcome and without the SQL, and /chk none', async () => {
    const { send, database, text } = await startProxy();
    for (const word of Object.keys(STATUSES)) {
      await send(`/exec?query=insert+into+${PLANTED}+${word}&fmt=json`, callers.all);
    }
    await send('/exec?fmt=json', callers.all, { method: 'POST', body: `drop table ${PLANTED} accepted` });
    await send(`/exp?query=drop+table+${PLANTED}+accepted`, callers.all);
    await send(`/chk?f=json&j=${PLANTED}`, callers.all);
    expect(database.requests.length).toBe(7);
    await send(`/exec?query=insert+into+${PLANTED}&fmt=json`, callers.read);
    const caller = idOf(callers.all);
    const forwarded = { tenant: 'alpha', caller, operation: 'forward', handle: null };
    await expect
      .poll(() =>
        text()
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line || '{}') as AuditLine),
      )
      .toMatchObject([
        { ...forwarded, outcome: 'ok' },
        { ...forwarded, outcome: 'invalid_sql' },
        { ...forwarded, outcome: 'permission_denied' },
        { ...forwarded, outcome: 'tsdb_failed' },
        { ...forwarded, outcome: 'ok' },
        { ...forwarded, outcome: 'ok' },
        { ...forwarded, caller: idOf(callers.read), outcome: 'permission_denied' },
      ]);
    expect(database.requests.length).toBe(7);
    expect(text()).not.toContain(PLANTED);
  });
});

test('without a file the lines are in the log, at every level', async () => {
  const env = { SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', callersFileOf(callers)) };
  const logging = await startProcess({ args: ['--log-level', 'off'], env });
  const headers = { authorization: bearer(callers.all.token), 'x-request-id': 'put-1' };
  await logging.put('a', [{ id: 1 }], { headers });
  expect(await logging.logged(({ message, requestId }) => message === 'audit' && requestId === 'put-1')).toMatchObject({
    tenant: 'alpha',
    caller: idOf(callers.all),
    operation: 'putFrame',
    handle: 'a',
    outcome: 'ok',
  });
});

test('a file that cannot be opened keeps the server from starting, with exit code 2', async () => {
  const path = join(auditFile, 'below-a-file');
  const { code, stderr } = await runToEnd(['--http-bind-address', '127.0.0.1:0', '--grpc-port', '0'], {
    SERVICE_LOGGING_AUDIT_FILE: path,
  });
  expect(code).toBe(2);
  expect(stderr).toContain('variable SERVICE_LOGGING_AUDIT_FILE');
  expect(stderr).toContain(`The audit file "${path}" cannot be opened`);
});
