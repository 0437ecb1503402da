import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type Permission, PERMISSIONS } from '@svc/auth';
import { flight, FrameServiceDefinition } from '@svc/proto';
import { type OperationName, REQUIRED_PERMISSIONS, SQL_TARGETS } from '@svc/service';
import { createClient, Metadata } from 'nice-grpc';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, doGet } from './flight-client.ts';
import { basic, bearer, CALLERS, callersFileOf, callerWith, EVERY_CALLER, type TestCaller } from './callers.ts';
import { type LogLine, runToEnd, sendRaw, type ServerProcess, startProcess, testFile } from './server-process.ts';
import { allEntries } from './ways-in/entries.ts';
import { FORWARDED_WAYS } from './ways-in/forwarded-ways.ts';
import { nameOf, RESPONSES, type Target } from './ways-in/way.ts';
import { openTarget, outcomeFor, outcomesOfStrangers, permissionsOf, SAMPLE, WAYS } from './ways-in/ways.ts';

const PLANTED_PASSWORD = 'planted-7f3c9a';

let server: ServerProcess;
let target: Target;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const file = testFile('callers.toml', callersFileOf({ ...CALLERS, ...EVERY_CALLER }));
  server = await startProcess({
    args: ['--log-level', 'debug'],
    // Without the URL of a database the password has no effect, but it is a secret.
    env: { SERVICE_AUTH_CALLERS_FILE: file, SERVICE_TSDB_USER: 'ada', SERVICE_TSDB_PASSWORD: PLANTED_PASSWORD },
    onEnd: (end) => void ends.push(end),
  });
  target = await openTarget(server, bearer(CALLERS.all.token));
});

afterAll(async () => {
  target.channel.close();
  for (const end of ends) await end();
});

describe('the table of ways in (auth.slow.test.ts has the rest of its cells)', () => {
  test('has a row for every route, method, action and command of the code, and no other', async () => {
    const actions: string[] = [];
    const metadata = Metadata({ authorization: bearer(CALLERS.admin.token) });
    const client = createClient(flight.FlightServiceDefinition, target.channel);
    for await (const { type } of client.listActions({}, { metadata })) actions.push(type);
    const entries = await allEntries(actions);
    const covered = new Set(WAYS.flatMap((way) => way.entries));
    expect(entries.filter((entry) => !covered.has(entry))).toEqual([]);
    expect(WAYS.filter((way) => !way.entries.some((entry) => entries.includes(entry))).map(nameOf)).toEqual([
      'GET /none',
      'DELETE /frames',
      'OPTIONS /frames',
    ]);
    expect(new Set(WAYS.map(nameOf)).size).toBe(WAYS.length);
  });

  test('uses every operation, and SQL at every target', () => {
    const cells = (row: (typeof REQUIRED_PERMISSIONS)[OperationName], name: string): string[] =>
      Array.isArray(row) ? [name] : SQL_TARGETS.filter((at) => at in row).map((at) => `${name} ${at}`);
    const all = Object.entries(REQUIRED_PERMISSIONS).flatMap(([name, row]) => cells(row, name));
    const used = [...WAYS, ...FORWARDED_WAYS].flatMap(({ operation, target: at = 'local' }) =>
      operation === undefined
        ? []
        : cells(REQUIRED_PERMISSIONS[operation], operation).filter(
            (cell) => !cell.includes(' ') || cell.endsWith(` ${at}`),
          ),
    );
    expect([...new Set(used)].toSorted()).toEqual(all.toSorted());
  });

  const [, id = '', secret = ''] = /^svc_(.{8})_(.*)$/.exec(CALLERS.all.token) ?? [];
  const wrongSecret = bearer(`svc_${id}_${secret.replace(/./, (first) => (first === 'x' ? 'y' : 'x'))}`);

  test.each(SAMPLE.map((way) => [nameOf(way), way] as const))(
    '%s: allowed with its permissions and not with the others alone, nor without credentials',
    async (_name, way) => {
      const needed = permissionsOf(way);
      const own: readonly Permission[] = needed.length === 0 ? ['admin'] : needed;
      const strangers = outcomesOfStrangers(way);
      const cells: readonly (readonly [caller: string, authorization: string | undefined, outcome: string])[] = [
        ['no credentials', undefined, strangers.none],
        ['a wrong secret', wrongSecret, strangers.wrong],
        ['another tenant', bearer(CALLERS.beta.token), outcomeFor(way, CALLERS.beta)],
        [`only ${own.join(', ')}`, basic(callerWith(own).token), outcomeFor(way, callerWith(own))],
        ...needed.map((name) => {
          const others = callerWith(PERMISSIONS.filter((other) => other !== name));
          return [`all but ${name}`, bearer(others.token), outcomeFor(way, others)] as const;
        }),
      ];
      const outcomes = cells.map(async ([caller, authorization]) => [caller, await way.send(target, authorization)]);
      expect(await Promise.all(outcomes)).toEqual(cells.map(([caller, , outcome]) => [caller, outcome]));
    },
  );
});

const ask = (path: string, caller?: TestCaller, init: RequestInit = {}) =>
  server.fetch(path, { ...init, headers: { ...init.headers, ...(caller && { authorization: bearer(caller.token) }) } });

describe('a refusal', () => {
  test.each([
    ['without credentials', undefined, 'Bearer realm="svc"'],
    ['of a wrong token', 'Bearer svc_nonsense', 'Bearer realm="svc", error="invalid_token"'],
  ])('%s is a 401 with a challenge', async (_why, authorization, challenge) => {
    const response = await server.fetch('/frames', { headers: authorization === undefined ? {} : { authorization } });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(challenge);
    expect(response.headers.get('x-request-id')).not.toBeNull();
  });

  test('meets a request with two credentials, whichever comes first', async () => {
    const credentials = [bearer(CALLERS.all.token), 'Bearer svc_nonsense'];
    for (const [first, second] of [credentials, credentials.toReversed()]) {
      const head = `GET /frames HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`;
      const answer = await sendRaw(server.port, `${head}Authorization: ${first}\r\nauthorization: ${second}\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    }
  });

  test.each(PERMISSIONS.filter((name) => name === 'read' || name === 'write'))(
    'for want of %s names it',
    async (name) => {
      const path = name === 'read' ? '/frames/shown' : '/frames/x';
      const response = await ask(path, CALLERS.admin, {
        method: name === 'read' ? 'GET' : 'PUT',
        ...(name === 'write' && { body: 'x' }),
      });
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ error: `The caller lacks the permission ${name}.` });
    },
  );

  test('comes before the body is read', async () => {
    const client = new AbortController();
    // It never ends.
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(64 * 1024)) });
    const init = { method: 'PUT', body, duplex: 'half', signal: client.signal } as RequestInit;
    expect((await ask('/frames/x?fmt=csv', undefined, init)).status).toBe(401);
    client.abort();
  });
});

test.each([
  ['has no columns for a caller that may only write', CALLERS.write, false],
  ['has the columns for a caller that may also read', callerWith(['read', 'write']), true],
])('the response to a new expiry %s', async (_fact, caller, hasColumns) => {
  const patched = await ask('/frames/shown', caller, { method: 'PATCH', body: '{"ttl":null}' });
  const info = (await patched.json()) as object;
  expect(info).toMatchObject({ handle: 'shown', rows: 1, expires: null });
  expect('columns' in info).toBe(hasColumns);
  const frames = createClient(FrameServiceDefinition, target.channel);
  const metadata = Metadata({ authorization: bearer(caller.token) });
  const { frame } = await frames.extendFrame({ handle: 'shown' }, { metadata });
  expect(frame?.columns.map(({ name }) => name)).toEqual(hasColumns ? ['id'] : []);
});

test.each([
  ['has no columns for a caller that may only write', CALLERS.write, false],
  ['has the columns for a caller that may also read', callerWith(['read', 'write']), true],
])('the response to an append %s', async (fact, caller, hasColumns) => {
  const handle = `appended-${fact.length}`;
  const csv = { headers: { 'content-type': 'text/csv' }, body: 'id\n1\n' };
  await ask(`/frames/${handle}`, CALLERS.all, { method: 'PUT', ...csv });
  const appended = await ask(`/frames/${handle}`, caller, { method: 'POST', ...csv });
  const info = (await appended.json()) as object;
  expect(info).toMatchObject({ handle, rows: 2 });
  expect('columns' in info).toBe(hasColumns);
});

test('/health shows the status to all, parts to callers, and the store to admins', async () => {
  const shown = async (caller?: TestCaller) => (await ask('/health', caller)).json() as Promise<Record<string, never>>;
  expect(await shown()).toEqual({ status: 'ok' });
  expect(Object.keys(await shown(CALLERS.read))).toEqual([
    'status',
    'version',
    'uptimeSeconds',
    'defaultEngine',
    'parts',
  ]);
  expect((await shown(CALLERS.read))['parts']).toMatchObject({
    store: { status: 'ok' },
    local: { status: 'configured' },
  });
  for (const name of ['store', 'local', 'scheduler', 'tsdb']) {
    expect(Object.keys((await shown(CALLERS.read))['parts'][name] ?? {})).toEqual(['status']);
  }
  expect((await shown(CALLERS.admin))['parts']['store']).toMatchObject({ status: 'ok', frames: expect.any(Number) });
  expect((await server.fetch('/health', { headers: { authorization: 'Bearer x' } })).status).toBe(401);
});

test('the log says who changed what, and why a caller was refused', async () => {
  const headers = { authorization: bearer(CALLERS.all.token), 'x-request-id': 'audited' };
  await server.put('audited', [{ id: 1 }], { headers });
  const caller = CALLERS.all.token.slice(4, 12);
  const put = await server.logged(({ message, requestId }) => message === 'frame_put' && requestId === 'audited');
  expect(put).toMatchObject({ tenant: 'alpha', caller, handle: 'audited' });
  await server.fetch('/frames', { headers: { authorization: 'Bearer x', 'x-request-id': 'refused' } });
  const isRefused = ({ message, requestId }: LogLine) => message === 'caller_refused' && requestId === 'refused';
  const refused = await server.logged(isRefused);
  expect(refused).toMatchObject({ client: '127.0.0.1', reason: 'The token is unknown, wrong or revoked.' });
});

/** The processes that the server started, and theirs. */
function descendantsOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** What every user of the machine, or the child itself, can see of a process. */
const shownOf = (pid: number): string =>
  ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'utf8')).join('\n');

describe('after all these requests, no secret', () => {
  const secrets = [
    PLANTED_PASSWORD,
    ...Object.values({ ...CALLERS, ...EVERY_CALLER }).flatMap(({ token, row }) => [
      token.slice(-43),
      Buffer.from(`any:${token}`).toString('base64'),
      /sha256:([0-9a-f]{64})/.exec(row)?.[1] ?? 'no hash',
    ]),
  ];
  const found = (text: string): string[] => secrets.filter((secret) => text.includes(secret));

  test('is in a response', async () => {
    const { token } = CALLERS.all;
    const echoes = await Promise.all(
      ['Digest', '', 'Bearer,'].map((scheme) =>
        server.fetch('/none', { headers: { authorization: `${scheme} ${token}` } }),
      ),
    );
    for (const response of echoes) RESPONSES.push(await response.text());
    expect(RESPONSES.length).toBeGreaterThan(SAMPLE.length);
    expect(found(RESPONSES.join('\n'))).toEqual([]);
  });

  test('is in the log', () => {
    expect(server.log.length).toBeGreaterThan(SAMPLE.length);
    expect(found(JSON.stringify(server.log))).toEqual([]);
  });

  test('is in the log because it came with a character that gRPC does not allow', async () => {
    const session = await connect(server.grpcAddress);
    const headers = { authorization: `${bearer(CALLERS.all.token)}\u00e9`, 'x-request-id': 'not-ascii' };
    const stream = doGet(session, new Uint8Array(0), headers);
    const [trailers] = await once(stream.resume(), 'response');
    expect(trailers).toMatchObject({ 'grpc-status': '16' });
    await server.logged(({ requestId }) => requestId === 'not-ascii');
    expect(found(JSON.stringify(server.log))).toEqual([]);
  });

  test.runIf(existsSync('/proc/self/task'))('is in an argument or the environment of a child process', () => {
    const { pid = 0 } = server.child;
    const children = descendantsOf(pid);
    expect(children.length).toBeGreaterThan(0);
    expect(found(children.map(shownOf).join('\n'))).toEqual([]);
    expect(found(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))).toEqual([]);
  });

  test('is in /health, for any caller', async () => {
    const shown = await Promise.all(
      [undefined, CALLERS.read, CALLERS.admin].map(async (caller) => (await ask('/health', caller)).text()),
    );
    expect(found(shown.join('\n'))).toEqual([]);
  });
});

describe('the start fails with exit code 2', () => {
  test.each([
    ['if the callers file is missing', undefined, 'There is no such file.'],
    ['if the callers file is not valid', '[[token]]\nid = 1\n', 'Entry 1 of [[token]]'],
  ])('%s', async (_what, text, sentence) => {
    const file = text === undefined ? '/none/callers.toml' : testFile('callers.toml', text);
    const { code, stderr } = await runToEnd(['--http-bind-address', '127.0.0.1:0', '--grpc-port', '0'], {
      SERVICE_AUTH_CALLERS_FILE: file,
    });
    expect(code).toBe(2);
    expect(stderr).toContain('variable SERVICE_AUTH_CALLERS_FILE');
    expect(stderr).toContain(sentence);
  });
});
