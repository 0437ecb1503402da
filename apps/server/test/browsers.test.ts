import { describe, expect, test } from 'vitest';
import { sendRaw, sharedProcess, type ServerProcess, startProcess } from './server-process.ts';
import { startUpstream } from './upstream.ts';

type Headers = Readonly<Record<string, string>>;

/** Sends a request with exactly these headers, as a browser may and `fetch` may not. */
async function send(
  { port }: ServerProcess,
  line: string,
  headers: Headers = {},
  body = '',
): Promise<{ readonly status: number; readonly code?: string; readonly text: string }> {
  const all = { Host: `127.0.0.1:${port}`, Connection: 'close', ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const length = body === '' ? [] : [`Content-Length: ${body.length}`];
  const text = await sendRaw(port, [`${line} HTTP/1.1`, ...head, ...length, '', body].join('\r\n'));
  const status = Number(text.split(' ', 2)[1]);
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return { status, ...(code !== undefined && { code }), text };
}

const REFUSED = { status: 403, code: 'permission_denied' };
const FOREIGN: readonly Headers[] = [
  { 'Sec-Fetch-Site': 'cross-site' },
  { 'Sec-Fetch-Site': 'same-site' },
  { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' },
  { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' },
  { 'Sec-Fetch-Site': 'same-origin, cross-site' },
  { 'Sec-Fetch-Site': 'something-new' },
  { Origin: 'https://evil.example' },
  { Origin: 'null' },
  { Origin: 'not a URL' },
  { Origin: 'http://127.0.0.1:1' },
  { Origin: 'https://127.0.0.1' },
  { Origin: 'http://app.example, https://evil.example' },
];

describe('a web page of another origin', () => {
  const requests: readonly (readonly [line: string, headers?: Headers, body?: string])[] = [
    ['POST /frames/x?fmt=csv', { 'Content-Type': 'text/plain' }, 'a\n1\n'],
    ['POST /frames/t?fmt=csv', { 'Content-Type': 'text/plain' }, 'id\n2\n'],
    ['PUT /frames/t?fmt=csv', {}, 'id\n3\n'],
    ['POST /frames?fmt=csv', { 'Content-Type': 'text/plain' }, 'a\n1\n'],
    ['POST /frames', { 'Content-Type': 'application/json' }, '{"sql":"select 1","engine":"local"}'],
    ['PATCH /frames/t', {}, '{"ttl":1}'],
    ['DELETE /frames/t'],
    ['POST /exec?fmt=json', { 'Content-Type': 'text/plain' }, 'select 1'],
    ['POST /exp', { 'Content-Type': 'application/x-www-form-urlencoded' }, 'query=select+1'],
    ['GET /exec?fmt=json&query=select%201'],
    ['GET /exec?fmt=json&qu%65ry=select%201'],
    ['GET /exp?query=select%201&engine=local'],
    ['GET /chk?f=json&j=t'],
    ['PROPFIND /frames/t'],
    ['POST /ping'],
    ['POST /nothing-there'],
  ];

  test('cannot change anything or run SQL', async () => {
    const upstream = await startUpstream((_request, response) => void response.end('ran'));
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: upstream.url } });
    await server.put('t', [{ id: 1 }]);
    const before = await (await server.fetch('/frames')).text();
    for (const [line, headers, body] of requests) {
      for (const foreign of FOREIGN) {
        expect([line, foreign, await send(server, line, { ...headers, ...foreign }, body)]).toMatchObject([
          line,
          foreign,
          REFUSED,
        ]);
      }
    }
    expect(upstream.requests).toEqual([]);
    expect(await (await server.fetch('/frames')).text()).toBe(before);
  });

  test('may link to reads, and send preflights', { tags: ['slow'] }, async () => {
    const server = await sharedProcess();
    await server.put('t', [{ id: 1 }]);
    for (const foreign of FOREIGN) {
      for (const line of ['GET /exec?handle=t&fmt=json', 'HEAD /exp?handle=t', 'GET /frames', 'GET /ping']) {
        expect([line, foreign, await send(server, line, foreign)]).toMatchObject([line, foreign, { status: 200 }]);
      }
      expect(await send(server, 'OPTIONS /frames/t', foreign)).toMatchObject({ status: 405 });
    }
  });

  test('can do what it likes if http.cors_origins lists its origin', async () => {
    const server = await startProcess({ toml: '[http]\ncors_origins = ["https://app.example"]\n' });
    const page = { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://app.example' };
    const preflight = { ...page, 'Access-Control-Request-Method': 'PUT' };
    expect(await send(server, 'OPTIONS /frames/x', preflight)).toMatchObject({
      status: 204,
      text: expect.stringMatching(/access-control-allow-origin: https:\/\/app\.example/i),
    });
    expect(await send(server, 'PUT /frames/x?fmt=csv', page, 'a\n1\n')).toMatchObject({ status: 201 });
    for (const other of ['http://app.example', 'https://app.example:444', 'https://app.example.evil', 'null']) {
      const headers = { 'Sec-Fetch-Site': 'cross-site', Origin: other };
      expect(await send(server, 'PUT /frames/x?fmt=csv', headers, 'a\n1\n')).toMatchObject(REFUSED);
    }
  });

  test('of any origin can, if http.cors_origins is *', { tags: ['slow'] }, async () => {
    const server = await startProcess({ toml: '[http]\ncors_origins = ["*"]\n' });
    for (const origin of ['https://app.example', 'null']) {
      const page = { 'Sec-Fetch-Site': 'cross-site', Origin: origin };
      expect(await send(server, 'PUT /frames/x?fmt=csv', page, 'a\n1\n')).toMatchObject({
        status: expect.toBeOneOf([200, 201]),
        text: expect.stringMatching(/access-control-allow-origin: \*/i),
      });
    }
  });
});

test(
  'a page of the server itself, a typed address and other programs may change frames',
  { tags: ['slow'] },
  async () => {
    const server = await sharedProcess();
    const own: readonly Headers[] = [
      {},
      { 'Sec-Fetch-Site': 'same-origin', Origin: server.url },
      { 'Sec-Fetch-Site': 'same-origin' },
      // A proxy changed Host; the Origin of the browser is authoritative.
      { 'Sec-Fetch-Site': 'same-origin', Origin: 'https://data.example' },
      { 'Sec-Fetch-Site': 'none' },
      { Origin: server.url },
      { Origin: `http://localhost:${server.port}`, Host: `LOCALHOST:${server.port}` },
      { Origin: 'http://localhost', Host: 'localhost:80' },
    ];
    for (const headers of own) {
      const { status } = await send(server, 'PUT /frames/x?fmt=csv', headers, 'a\n1\n');
      expect([headers, status]).toEqual([headers, expect.toBeOneOf([200, 201])]);
    }
  },
);

describe('Host', () => {
  test('is a name of the loopback on a listener there', async () => {
    const server = await sharedProcess();
    const { port } = server;
    const good = ['localhost', `localhost:${port}`, 'LocalHost', 'localhost.', `localhost.:${port}`, '127.0.0.1'];
    for (const Host of [...good, 'localhost:1', '[::1]', `[::1]:${port}`]) {
      expect([Host, await send(server, 'GET /ping', { Host })]).toMatchObject([Host, { status: 200 }]);
    }
    const bad = ['evil.example', `evil.example:${port}`, 'localhost.evil.example', '127.0.0.1.nip.io', '127.0.0.2'];
    for (const Host of [...bad, '[::2]', '0.0.0.0', 'xn--localhost-1a']) {
      for (const line of ['GET /ping', 'GET /exec?query=x', 'PUT /frames/x', 'GET /nothing-there', 'GET /']) {
        expect([Host, line, await send(server, line, { Host })]).toMatchObject([Host, line, REFUSED]);
      }
    }
    for (const Host of ['user@localhost', 'localhost/x', 'localhost:port', 'local host', 'localhost, evil.example']) {
      expect([Host, (await send(server, 'GET /ping', { Host })).status]).toEqual([Host, expect.toBeOneOf([400, 403])]);
    }
    expect((await send(server, 'GET /ping', { Host: 'evil.example' })).text).toContain('\\"evil.example\\"');
  });

  test('of a target that is a whole URL counts, too', async () => {
    const server = await sharedProcess();
    expect(await send(server, 'GET http://localhost/ping')).toMatchObject({ status: 200 });
    expect(await send(server, 'GET http://evil.example/ping')).toMatchObject(REFUSED);
    expect(await send(server, 'GET http://localhost/ping', { Host: 'evil.example' })).toMatchObject(REFUSED);
  });

  test('may be left out by a client of HTTP/1.0', async () => {
    const { port } = await sharedProcess();
    expect(await sendRaw(port, 'GET /ping HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200/);
    expect(await sendRaw(port, 'GET /ping HTTP/1.0\r\nHost: evil.example\r\n\r\n')).toMatch(/^HTTP\/1.1 403/);
  });

  test('is what http.allowed_hosts lists', { tags: ['slow'] }, async () => {
    const server = await startProcess({ toml: '[http]\nallowed_hosts = ["Data.example"]\n' });
    for (const [Host, status] of [
      ['data.example', 200],
      ['DATA.example.:9000', 200],
      ['localhost', 403],
      ['sub.data.example', 403],
    ] as const) {
      expect([Host, (await send(server, 'GET /ping', { Host })).status]).toEqual([Host, status]);
    }
    const any = await startProcess({ toml: '[http]\nallowed_hosts = ["*"]\n' });
    expect(await send(any, 'GET /ping', { Host: 'evil.example' })).toMatchObject({ status: 200 });
  });
});

describe('Cross-Origin-Resource-Policy', () => {
  const paths = ['/', '/ping', '/exec?handle=t&fmt=json', '/exp?handle=t', '/nope', '/exec', '/exec?query=x&fmt=json'];

  test('prevents other pages from embedding any response', async () => {
    const upstream = await startUpstream((_request, response) => void response.end('ran'));
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: upstream.url } });
    await server.put('t', [{ id: 1 }]);
    for (const path of paths) {
      const { headers } = await server.fetch(path);
      expect([path, headers.get('cross-origin-resource-policy')]).toEqual([path, 'same-origin']);
    }
    expect(await sendRaw(server.port, 'garbage\r\n\r\n')).toMatch(/cross-origin-resource-policy: same-origin/i);
  });

  test('is left out if http.cors_origins is set', { tags: ['slow'] }, async () => {
    const server = await startProcess({ toml: '[http]\ncors_origins = ["https://app.example"]\n' });
    for (const path of paths)
      expect((await server.fetch(path)).headers.has('cross-origin-resource-policy')).toBe(false);
  });
});
