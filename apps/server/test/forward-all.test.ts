import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, callersFileOf, createCaller, EVERY_CALLER } from './callers.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';
import { FORWARDED_WAYS } from './ways-in/forwarded-ways.ts';
import { nameOf, type Target } from './ways-in/way.ts';
import { openTarget, outcomeFor, outcomesOfStrangers } from './ways-in/ways.ts';

const callers = {
  reader: createCaller('alpha', ['read', 'write']),
  tsdb: createCaller('alpha', ['tsdb']),
  writer: createCaller('alpha', ['tsdb', 'write']),
};
const as = (name: keyof typeof callers): Record<string, string> => ({ authorization: bearer(callers[name].token) });

let server: ServerProcess;
let target: Target;
/** What reached the database. */
const requests: IncomingMessage[] = [];
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const database = createServer((request, response) => {
    requests.push(request);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'text/plain');
      response.end(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`);
    });
  }).listen(0, '127.0.0.1');
  await once(database, 'listening');
  ends.push(async () => void database.close());
  const { port } = database.address() as AddressInfo;
  server = await startProcess({
    env: {
      SERVICE_TSDB_HTTP_URL: `http://127.0.0.1:${port}`,
      SERVICE_TSDB_FORWARD: 'all',
      SERVICE_HTTP_CONSOLE: 'false',
      SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', [callers, EVERY_CALLER].map(callersFileOf).join('\n')),
    },
    onEnd: (end) => void ends.unshift(end),
  });
  target = await openTarget(server, as('reader')['authorization'] ?? '');
});
afterAll(async () => {
  target.channel.close();
  for (const end of ends) await end();
});

const ask = async (method: string, path: string, caller: keyof typeof callers, body?: string) => {
  const response = await server.fetch(path, { method, headers: as(caller), ...(body !== undefined && { body }) });
  return [response.status, await response.text()] as const;
};

describe('tsdb.forward = all', () => {
  test.each([
    ['GET', '/', undefined],
    ['GET', '/settings', undefined],
    ['GET', '/assets/index.js?v=1', undefined],
    ['POST', '/write?precision=n', 't x=1'],
    ['POST', '/api/v2/write', 't x=1'],
    ['POST', '/imp?name=t', 'a,b'],
    ['PUT', '/settings?version=0', '{}'],
    ['DELETE', '/api/v1/x', undefined],
  ])('%s %s goes to the database', async (method, path, body) => {
    expect(await ask(method, path, 'writer', body)).toEqual([200, `${method} ${path} ${body ?? ''}`]);
  });

  test('the paths of this server stay, with their methods', async () => {
    expect((await ask('GET', '/ping', 'tsdb'))[1]).toBe('ok');
    expect((await ask('PUT', '/exec', 'writer'))[0]).toBe(405);
    expect((await ask('GET', '/frames', 'reader'))[1]).toMatch(/^{"frames":\[{"handle":"shown",/);
    const document = JSON.parse((await ask('GET', '/openapi.json', 'reader'))[1]) as { paths: object };
    expect(Object.keys(document.paths)).not.toContain('/write');
  });

  test('a read needs the permission tsdb, and a change also write; nothing else reaches the database', async () => {
    const before = requests.length;
    const refused = [
      await ask('GET', '/settings', 'reader'),
      await ask('POST', '/write', 'reader', 't x=1'),
      await ask('POST', '/imp', 'tsdb', 'a,b'),
    ];
    expect(refused.map(([status]) => status)).toEqual([403, 403, 403]);
    expect((await server.fetch('/settings', { method: 'PUT', body: '{}' })).status).toBe(401);
    expect(requests).toHaveLength(before);
    expect((await ask('GET', '/warnings', 'tsdb'))[0]).toBe(200);
    const lines = server.log.filter(({ message }) => message === 'audit');
    expect(lines.slice(-4)).toMatchObject([
      { operation: 'forwardRead', outcome: 'permission_denied' },
      { operation: 'forwardChange', outcome: 'permission_denied' },
      { operation: 'forwardChange', outcome: 'permission_denied' },
      { outcome: 'unauthenticated' },
    ]);
  });

  test('without credentials, /settings has the versions of line protocol alone, as without forwarding', async () => {
    const before = requests.length;
    const response = await server.fetch('/settings');
    expect([response.status, await response.json(), requests.length]).toEqual([
      200,
      { config: { 'line.proto.support.versions': [1], 'cairo.max.file.name.length': 127 } },
      before,
    ]);
    expect((await server.fetch('/settings', { headers: { authorization: 'Bearer wrong' } })).status).toBe(401);
  });

  test.each([
    ['a plain one', {}],
    ['with a token', as('writer')],
    ['a preflight', { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' }],
  ])('OPTIONS, %s, says which methods there are, and never reaches the database', async (_name, headers) => {
    const before = requests.length;
    const answer = await server.fetch('/imp?name=t', { method: 'OPTIONS', headers });
    const { status, headers: sent } = answer;
    expect([status, sent.get('allow')]).toEqual([204, 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']);
    expect([...sent.keys()].filter((name) => /^(access-control|www-authenticate)/.test(name))).toEqual([]);
    expect([await answer.text(), requests.length]).toEqual(['', before]);
  });

  test.each(FORWARDED_WAYS.map((way) => [nameOf(way), way] as const))(
    '%s has its outcome for every caller',
    async (_name, way) => {
      expect(await way.send(target, undefined)).toBe(outcomesOfStrangers(way).none);
      for (const [name, caller] of Object.entries(EVERY_CALLER)) {
        expect([name, await way.send(target, bearer(caller.token))]).toEqual([name, outcomeFor(way, caller)]);
      }
    },
  );

  test('a page of another origin can change nothing', async () => {
    const headers = { ...as('writer'), 'sec-fetch-site': 'cross-site', origin: 'https://elsewhere.example' };
    expect((await server.fetch('/write', { method: 'POST', body: 't x=1', headers })).status).toBe(403);
  });
});
