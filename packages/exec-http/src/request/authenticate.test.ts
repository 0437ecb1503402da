import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '@svc/errors';
import { type Caller, createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { expect, test } from 'vitest';
import { createExecApp } from '../create-exec-app.ts';

/** An app whose host knows its users by a cookie. */
function createHostedApp() {
  const service = createService({ store: createMemoryStore() });
  const app = createExecApp({
    service,
    authenticate(request) {
      const [, id] = /^user=(\w+)$/.exec(request.headers.get('cookie') ?? '') ?? [];
      if (id === undefined) throw new ServiceError('unauthenticated', 'Log in first.');
      return { id, tenant: id, permissions: new Set(id === 'guest' ? ['read'] : ['read', 'write']) };
    },
  });
  return async (user: string | undefined, path: string, init: RequestInit = {}) =>
    app.request(path, { ...init, headers: { ...init.headers, ...(user !== undefined && { cookie: `user=${user}` }) } });
}

const ROWS = { method: 'PUT', body: '[{"id":1}]', headers: { 'content-type': 'application/json' } };

test('a host brings its own callers: tenants, permissions and refusals', async () => {
  const ask = createHostedApp();
  expect((await ask('ada', '/frames/x', ROWS)).status).toBe(201);
  expect((await ask('ada', '/frames/x')).status).toBe(200);
  expect((await ask('bob', '/frames/x')).status).toBe(404);
  expect((await ask('guest', '/frames/x', ROWS)).status).toBe(403);
  const refused = await ask(undefined, '/frames/x');
  expect(refused.status).toBe(401);
  expect(await refused.json()).toMatchObject({ error: 'Log in first.', code: 'unauthenticated' });
});

test('a request for which the host returns no caller is refused', async () => {
  const service = createService({ store: createMemoryStore() });
  // A host in JavaScript can return anything.
  for (const missing of [undefined, null]) {
    const app = createExecApp({ service, authenticate: async () => missing as never });
    for (const init of [ROWS, {}]) expect((await app.request('/frames/x', init)).status).toBe(401);
    expect((await app.request('/frames')).status).toBe(401);
  }
});

test('the health of a host with callers shows its parts only to them', async () => {
  const ask = createHostedApp();
  expect(await (await ask(undefined, '/health')).json()).toEqual({ status: 'ok' });
  expect(await (await ask('ada', '/health')).json()).toMatchObject({ parts: { store: { status: 'ok' } } });
  expect((await ask(undefined, '/ping')).status).toBe(200);
});

/** What a function of a host may return by mistake. */
const MISTAKES: readonly (readonly [what: string, caller: unknown])[] = [
  ['a caller without a tenant', { id: 'ada', permissions: new Set(['read']) }],
  ['a path as the tenant', { id: 'ada', tenant: '../beta', permissions: new Set(['read']) }],
  ['an e-mail address as the tenant', { id: 'ada', tenant: 'ada@example.com', permissions: new Set(['read']) }],
  ['a caller without permissions', { id: 'ada', tenant: 'alpha' }],
  ['a list of permissions', { id: 'ada', tenant: 'alpha', permissions: ['read'] }],
  ['a caller without an id', { tenant: 'alpha', permissions: new Set(['read']) }],
];

test.each(MISTAKES)('a host that returns %s as the caller serves no request', async (_what, caller) => {
  for (const answer of [caller, Promise.resolve(caller)]) {
    const errors: unknown[] = [];
    const service = createService({
      store: createMemoryStore(),
      observe: (event) => event.kind === 'request_answered' && errors.push(event.error?.cause),
    });
    const app = createExecApp({ service, authenticate: () => answer as Caller });
    for (const path of ['/frames', '/exec?handle=x&fmt=json', '/health']) {
      const response = await app.request(path);
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([500, 'internal']);
    }
    expect((await app.request('/frames/x', ROWS)).status).toBe(500);
    expect(String(errors[0])).toContain('authenticate');
  }
});

/** Runs a program of a host that has no observer: each expression is a request. Returns what it prints. */
function runHost(authenticate: string, requests: readonly string[]): { statuses: unknown; stderr: string } {
  const program = `
    import { createExecApp } from '@svc/exec-http';
    import { createMemoryStore } from '@svc/frames';
    import { createService } from '@svc/service';
    const service = createService({ store: createMemoryStore() });
    const app = createExecApp({ service, authenticate: ${authenticate} });
    const put = (path) => new Request('http://localhost' + path, ${JSON.stringify(ROWS)});
    const readBefore = async (request) => (await request.text(), request);
    const statuses = [];
    for (const request of [${requests.join(', ')}]) statuses.push((await app.request(await request)).status);
    console.log(JSON.stringify(statuses));
    await service.close();`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    encoding: 'utf8',
  });
  return { statuses: JSON.parse(stdout), stderr };
}

const CALLER = "() => ({ id: 'ada', tenant: 'alpha', permissions: new Set(['read', 'write']) })";

test.each([
  [
    'throws',
    "() => { throw new RangeError('The user database is gone.'); }",
    ["'/frames'"],
    'RangeError: The user database is gone.\n    at ',
  ],
  [
    'returns a bad tenant',
    "() => ({ id: 'ada', tenant: 'Alpha Team', permissions: new Set(['read']) })",
    ["'/frames'"],
    'authenticate returned the tenant "Alpha Team".',
  ],
  [
    'returns a list of permissions',
    "() => ({ id: 'ada', tenant: 'alpha', permissions: ['read'] })",
    ["'/frames'"],
    'permissions: new Set(["read"])',
  ],
  [
    'reads the body first',
    CALLER,
    ["readBefore(put('/frames/x'))"],
    'Mount the API before middleware that reads bodies',
  ],
])(
  'without an observer, a host that %s sees the cause on stderr, once',
  { tags: ['slow'] },
  (_what, authenticate, requests, printed) => {
    const { statuses, stderr } = runHost(authenticate, [...requests, ...requests, ...requests]);
    expect(statuses).toEqual([500, 500, 500]);
    expect(stderr.split(printed).length - 1, stderr).toBe(1);
  },
);

test('without an observer, mistakes of clients print nothing', () => {
  const { statuses, stderr } = runHost(CALLER, ["put('/frames/x')", "'/frames/y'", "'/exec?fmt=nope'"]);
  expect({ statuses, stderr }).toEqual({ statuses: [201, 404, 400], stderr: '' });
});
