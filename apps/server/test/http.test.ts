import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sendRaw, sharedProcess, startProcess } from './server-process.ts';
import { startUpstream } from './upstream.ts';

describe('every answer', () => {
  test("carries x-request-id, the client's where it is sane", async () => {
    const server = await sharedProcess();
    const id = async (sent?: string): Promise<string | null> =>
      (await server.fetch('/ping', sent === undefined ? {} : { headers: { 'x-request-id': sent } })).headers.get(
        'x-request-id',
      );
    expect(await id('abc-123')).toBe('abc-123');
    for (const sent of [undefined, 'has space', 'x'.repeat(129), '"quoted"']) {
      expect(await id(sent)).toMatch(/^[0-9a-f-]{36}$/);
    }
    for (const path of ['/', '/nope', '/exec', '/health', '/frames']) {
      expect((await server.fetch(path)).headers.get('x-request-id')).toBeTruthy();
    }
  });

  test('/ping is ok as plain text', async () => {
    const server = await sharedProcess();
    const response = await server.fetch('/ping');
    expect([response.status, await response.text(), response.headers.get('content-type')]).toEqual([
      200,
      'ok',
      'text/plain; charset=utf-8',
    ]);
  });

  test('/ lists the endpoints, /health the state of the parts', async () => {
    const server = await sharedProcess();
    expect(await (await server.fetch('/')).text()).toContain('/exec?handle=');
    expect(await (await server.fetch('/health')).json()).toEqual({
      status: 'ok',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      uptimeSeconds: expect.any(Number),
      defaultEngine: 'tsdb',
      parts: {
        store: { status: 'ok', frames: 0, bytes: 0, freeBytes: expect.any(Number) },
        local: { status: 'configured', running: 0, queued: 0, processes: expect.any(Number) },
        scheduler: { status: 'not_configured' },
        tsdb: { status: 'not_configured' },
      },
    });
  });

  test('an unknown path is 404 in JSON', async () => {
    const server = await sharedProcess();
    for (const path of ['/nope', '/exec/', '/frames/a/b', '//exec']) {
      const response = await server.fetch(path);
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ code: 'route_not_found' });
    }
  });

  test('another method is 405 with Allow', async () => {
    const server = await sharedProcess();
    const cases: [method: string, path: string, allow: string][] = [
      ['POST', '/ping', 'GET, HEAD'],
      ['PUT', '/exec', 'GET, HEAD, POST'],
      ['DELETE', '/', 'GET, HEAD'],
      ['PUT', '/frames', 'GET, HEAD, POST'],
      ['OPTIONS', '/frames/t', 'GET, HEAD, PUT, POST, PATCH, DELETE'],
      ['OPTIONS', '/health', 'GET, HEAD'],
      ['PROPFIND', '/exec', 'GET, HEAD, POST'],
    ];
    for (const [method, path, allow] of cases) {
      const response = await server.fetch(path, { method });
      expect([method, path, response.status, response.headers.get('allow')]).toEqual([method, path, 405, allow]);
      expect(await response.json()).toMatchObject({
        code: 'method_not_allowed',
        error: expect.stringContaining(method),
      });
    }
  });

  test('HEAD works where GET does', async () => {
    const server = await sharedProcess();
    for (const path of ['/', '/ping', '/health', '/frames']) {
      const response = await server.fetch(path, { method: 'HEAD' });
      expect([path, response.status, await response.text()]).toEqual([path, 200, '']);
    }
  });
});

describe('a malformed request is answered in JSON', () => {
  test.each<[name: string, bytes: string, status: number, code: string]>([
    ['garbage', 'this is not HTTP\r\n\r\n', 400, 'invalid_argument'],
    ['a bad header', 'GET /ping HTTP/1.1\r\nHost: localhost\r\nbad header\r\n\r\n', 400, 'invalid_argument'],
    ['TLS on the plain port', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'invalid_argument'],
    ['no Host', 'GET /ping HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_argument'],
    [
      'a second Host after thousands of headers',
      `GET /ping HTTP/1.1\r\nHost: localhost\r\n${'a:b\r\n'.repeat(2500)}Host: evil\r\nConnection: close\r\n\r\n`,
      400,
      'invalid_argument',
    ],
    ['a broken Host', 'GET /ping HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400, 'invalid_argument'],
    [
      'a target that is no path',
      'GET nonsense HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      400,
      'invalid_argument',
    ],
    [
      'an over-long head',
      `GET /ping HTTP/1.1\r\nHost: localhost\r\nx-long: ${'a'.repeat(66_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'an over-long URL',
      `GET /exec?query=${'a'.repeat(66_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      431,
      'headers_too_large',
    ],
  ])('%s', async (_name, bytes, status, code) => {
    const server = await sharedProcess();
    const answer = await sendRaw(server.port, bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/content-type: application\/json/i);
    expect(answer).toMatch(/x-request-id: /i);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({ code });
    expect((await server.fetch('/ping')).status).toBe(200);
  });

  test('a head of just under 64 KiB is read', async () => {
    const server = await sharedProcess();
    expect((await server.fetch('/ping', { headers: { 'x-long': 'a'.repeat(60_000) } })).status).toBe(200);
  });

  test('a request of HTTP/1.0 needs no Host', async () => {
    const server = await sharedProcess();
    expect(await sendRaw(server.port, 'GET /ping HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200[^]*ok$/);
  });
});

test('a client that disconnects releases the frames of all its pipelined reads', { tags: ['slow'] }, async () => {
  const server = await sharedProcess();
  await server.put(
    't',
    Array.from({ length: 100_000 }, (_, id) => ({ id, text: 'x'.repeat(50) })),
  );
  const read = 'GET /exec?handle=t&fmt=json&limit=100000 HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const client = connect(server.port, '127.0.0.1', () => client.write(read.repeat(4)));
  await new Promise((resolve) => client.once('data', resolve));
  client.destroy();
  await server.fetch('/frames/t', { method: 'DELETE' });
  await expect
    .poll(async () => ((await (await server.fetch('/health')).json()) as { parts: { store: object } }).parts.store)
    .toMatchObject({ frames: 0, bytes: 0 });
});

test('http.keep_alive_ms is how long an idle connection stays open, 65 s by default', { tags: ['slow'] }, async () => {
  const ping = 'GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const brief = await startProcess({ toml: '[http]\nkeep_alive_ms = 1000\n' });
  const start = performance.now();
  expect(await sendRaw(brief.port, ping)).toMatch(/^HTTP\/1\.1 200 /);
  expect(performance.now() - start).toBeGreaterThan(900);
  const { headers } = await (await sharedProcess()).fetch('/ping');
  expect(headers.get('keep-alive')).toBe('timeout=65');
});

describe('http.idle_timeout_ms', () => {
  const toml = '[http]\nidle_timeout_ms = 1000\n';
  const READ = 'GET /exec?handle=t&fmt=json&limit=200000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
  const rows = Array.from({ length: 200_000 }, (_, id) => ({ id, text: 'x'.repeat(50) }));

  test('disconnects a client that stops reading, and releases its frame', { tags: ['slow'] }, async () => {
    const server = await startProcess({ toml });
    await server.put('t', rows);
    const stuck = connect(server.port, '127.0.0.1', () => stuck.write(READ));
    stuck.pause();
    stuck.on('error', () => {});
    onTestFinished(() => void stuck.destroy());
    const heldBytes = async (): Promise<number> => {
      const { parts } = (await (await server.fetch('/health')).json()) as { parts: { store: { bytes: number } } };
      return parts.store.bytes;
    };
    await server.fetch('/frames/t', { method: 'DELETE' });
    await expect.poll(heldBytes).toBe(0);
  });

  test('does not disconnect a slow reader', { tags: ['slow'] }, async () => {
    const server = await startProcess({ toml });
    await server.put('t', rows);
    const slow = connect(server.port, '127.0.0.1', () => slow.write(READ));
    let bytes = 0;
    let tail = '';
    slow.on('data', (chunk) => {
      bytes += chunk.length;
      tail = (tail + chunk.toString('latin1')).slice(-100);
      if (bytes > 4_000_000) return;
      slow.pause();
      setTimeout(() => slow.resume(), 20);
    });
    await new Promise((resolve) => slow.once('close', resolve));
    expect(tail).toContain('"count":200000}');
  });

  test('disconnects a client that stops sending its body', { tags: ['slow'] }, async () => {
    const server = await startProcess({ toml });
    const answer = await sendRaw(
      server.port,
      'PUT /frames/t HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[{"id":1}',
    );
    expect(answer).toBe('');
    expect(await (await server.fetch('/frames')).json()).toEqual({ frames: [] });
  });

  test('does not apply to the database, which has separate timeouts', { tags: ['slow'] }, async () => {
    let finish = (): void => {};
    const upstream = await startUpstream((_request, response) => {
      response.write('{');
      finish = () => response.end('}');
    });
    const server = await startProcess({ toml, env: { SERVICE_TSDB_HTTP_URL: upstream.url } });
    const response = await server.fetch('/exec?query=x&fmt=json');
    await new Promise((resolve) => setTimeout(resolve, 1200));
    finish();
    expect(await response.text()).toBe('{}');
  });
});
