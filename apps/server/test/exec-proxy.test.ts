import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.ts';
import { sendRaw, type ServerProcess, startProcess } from './server-process.ts';
import { growthOfSlowRead } from './slow-reader.ts';
import { closedPort, startTcpUpstream, startUpstream } from './upstream.ts';

const SQL = '/exec?query=select%201&fmt=json';

function behind(url: string, toml = ''): Promise<ServerProcess> {
  return startProcess({ env: { SERVICE_TSDB_HTTP_URL: url, SERVICE_LOG_LEVEL: 'debug' }, toml });
}

async function codeOf(response: Response): Promise<[status: number, code: string]> {
  return [response.status, ((await response.json()) as { code: string }).code];
}

describe('GET /exec?query= with a time-series database', () => {
  test('requests {tsdb_url}/exec once and returns status, content type and body unchanged', async () => {
    const body = '{"query":"select 1","columns":[{"name":"1","type":"INT"}],"dataset":[[1]],"count":1}';
    const upstream = await startUpstream((_request, response) => {
      response.setHeader('content-type', 'application/json; charset=utf-8');
      response.setHeader('set-cookie', 'a=b');
      response.setHeader('server', 'questDB/1.0');
      response.end(body);
    });
    const server = await behind(upstream.url);
    const response = await server.fetch('/exec?fmt=json&limit=%201&query=select+1%2B2%20--%C3%A9&nm=true&other=x');
    expect([response.status, await response.text()]).toEqual([200, body]);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect([response.headers.get('set-cookie'), response.headers.get('server')]).toEqual([null, null]);
    expect(upstream.requests).toHaveLength(1);
    const { url, headers, method } = upstream.requests[0];
    expect([method, url]).toEqual(['GET', '/exec?query=select%201%2B2%20--%C3%A9&fmt=json&limit=%201&nm=true']);
    expect(headers['accept-encoding']).toBe('identity');
  });

  test('TSDB_HTTP_URL is the same setting, and SERVICE_TSDB_HTTP_URL wins', { tags: ['slow'] }, async () => {
    const [first, second] = await Promise.all(
      ['first', 'second'].map((name) => startUpstream((_request, response) => void response.end(name))),
    );
    const only = await startProcess({ env: { TSDB_HTTP_URL: first.url } });
    expect(await (await only.fetch(SQL)).text()).toBe('first');
    const both = await startProcess({ env: { TSDB_HTTP_URL: first.url, SERVICE_TSDB_HTTP_URL: second.url } });
    expect(await (await both.fetch(SQL)).text()).toBe('second');
  });

  for (const [options, rows] of byTier<[status: number, type: string, body: string]>([
    [400, 'application/json; charset=utf-8', '{"query":"selec","error":"bad","position":0}'],
    [403, 'application/json', '{"error":"read only"}'],
    [500, 'text/html', '<h1>it broke</h1>'],
    [503, 'text/plain', 'busy'],
  ])) {
    test.each(rows)('%i of the database passes with its body', options, async (status, type, body) => {
      const upstream = await startUpstream((_request, response) => {
        response.writeHead(status, { 'content-type': type });
        response.end(body);
      });
      const response = await (await behind(upstream.url)).fetch(SQL);
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        status,
        type,
        body,
      ]);
    });
  }

  test('its credentials come from the settings and never from the client; a 401 is 502 and logged', async () => {
    const upstream = await startUpstream(({ headers }, response) => {
      response.statusCode = headers.authorization === `Basic ${btoa('me:right')}` ? 200 : 401;
      response.end('answer');
    });
    const right = await behind(upstream.url, '[tsdb]\nuser = "me"\npassword = "right"\n');
    const client = { headers: { authorization: 'Basic eA==', cookie: 'a=b', 'statement-timeout': '1' } };
    expect(await (await right.fetch(SQL, client)).text()).toBe('answer');
    expect(upstream.requests[0].headers).not.toHaveProperty('cookie');
    expect(upstream.requests[0].headers).not.toHaveProperty('statement-timeout');
    const wrong = await behind(upstream.url, '[tsdb]\ntoken = "hunter2"\n');
    const refused = await wrong.fetch(SQL);
    const text = await refused.text();
    expect([refused.status, JSON.parse(text)]).toMatchObject([502, { code: 'tsdb_failed' }]);
    expect(text).not.toMatch(/hunter2|127\.0\.0\.1/);
    await wrong.logged((line) => line.level === 'error' && line.message.includes('refused the credentials'));
    expect(JSON.stringify(wrong.log)).not.toContain('hunter2');
  });

  test('the first bytes go out as they come in', { tags: ['slow'] }, async () => {
    let finish = (): void => {};
    const upstream = await startUpstream((_request, response) => {
      response.write('{"part":1');
      finish = () => response.end(',"part":2}');
    });
    const response = await (await behind(upstream.url)).fetch(SQL);
    const reader = response.body!.getReader();
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('{"part":1');
    finish();
    expect(Buffer.from((await reader.read()).value!).toString()).toBe(',"part":2}');
  });

  test('POST takes the SQL as its body, HEAD does not run SQL', { tags: ['slow'] }, async () => {
    const upstream = await startUpstream((_request, response) => void response.end('ok'));
    const server = await behind(upstream.url);
    const headers = { 'content-type': 'application/sql' };
    const posted = await server.fetch('/exec?fmt=json', { method: 'POST', body: 'select 1', headers });
    expect(await posted.text()).toBe('ok');
    expect(upstream.requests.map(({ method, url }) => [method, url])).toEqual([
      ['GET', '/exec?query=select%201&fmt=json'],
    ]);
    const head = await server.fetch(SQL, { method: 'HEAD' });
    expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET, POST']);
    expect(upstream.requests).toHaveLength(1);
  });

  test('its bytes are not compressed, and a token is sent unchanged', { tags: ['slow'] }, async () => {
    const upstream = await startUpstream(
      ({ headers }, response) => void response.end(`${headers.authorization}${'x'.repeat(5000)}`),
    );
    const server = await behind(upstream.url, '[tsdb]\ntoken = "right"\n');
    const response = await server.fetch(SQL, { headers: { 'accept-encoding': 'gzip' } });
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(await response.text()).toMatch(/^Bearer rightx+$/);
  });

  test('http.default_fmt stands for a missing fmt here too', { tags: ['slow'] }, async () => {
    const upstream = await startUpstream(({ url }, response) => void response.end(url));
    const server = await behind(upstream.url, '[http]\ndefault_fmt = "json"\n');
    expect(await (await server.fetch('/exec?query=x')).text()).toBe('/exec?query=x&fmt=json');
    const strict = await behind(upstream.url);
    expect(await codeOf(await strict.fetch('/exec?query=x'))).toEqual([400, 'invalid_argument']);
  });

  test('a kept-alive connection that the database has closed is replaced', { tags: ['slow'] }, async () => {
    const upstream = await startUpstream((_request, response) => {
      response.end('ok');
      setImmediate(() => response.socket?.destroy());
    });
    const server = await behind(upstream.url);
    for (let i = 0; i < 5; i++) expect(await (await server.fetch(SQL)).text()).toBe('ok');
    expect(upstream.requests).toHaveLength(5);
  });

  test('SQL that is too long for the database is 414 and is not sent', async () => {
    const upstream = await startUpstream((_request, response) => void response.end('ok'));
    const server = await behind(upstream.url);
    const sized = (bytes: number): string =>
      `/exec?query=${'a'.repeat(bytes - '/exec?query=&fmt=json'.length)}&fmt=json`;
    expect((await server.fetch(sized(32_000))).status).toBe(200);
    expect(await codeOf(await server.fetch(sized(32_001)))).toEqual([414, 'uri_too_long']);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('a time-series database that fails', () => {
  for (const [options, rows] of byTier<[name: string, upstream: () => Promise<string>, status: number, code: string]>([
    ['refuses the connection', closedPort, 502, 'tsdb_failed'],
    [
      'resets before it answers',
      () => startTcpUpstream((socket) => socket.once('data', () => socket.resetAndDestroy())),
      502,
      'tsdb_failed',
    ],
    [
      'closes without a word',
      () => startTcpUpstream((socket) => socket.once('data', () => socket.end())),
      502,
      'tsdb_failed',
    ],
    [
      'answers something else than HTTP',
      () => startTcpUpstream((socket) => socket.once('data', () => socket.end('SSH-2.0\r\n'))),
      502,
      'tsdb_failed',
    ],
    [
      'redirects',
      async () =>
        (
          await startUpstream(
            (_request, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
          )
        ).url,
      502,
      'tsdb_failed',
    ],
    ['hangs', () => startTcpUpstream(() => {}), 504, 'deadline_exceeded'],
    [
      'does not finish the connection',
      async () => (await startTcpUpstream(() => {})).replace('http:', 'https:'),
      504,
      'deadline_exceeded',
    ],
  ])) {
    test.each(rows)('%s', options, async (_name, start, status, code) => {
      const url = await start();
      const server = await behind(url, '[tsdb]\ntimeout_ms = 1000\nconnect_timeout_ms = 500\n');
      const response = await server.fetch(SQL);
      const text = await response.text();
      expect([response.status, (JSON.parse(text) as { code: string }).code]).toEqual([status, code]);
      expect(text).not.toContain(new URL(url).port);
      expect((await server.fetch('/ping')).status).toBe(200);
    });
  }

  test('an INSERT is sent once, though its connection breaks', async () => {
    let arrived = 0;
    const url = await startTcpUpstream((socket) =>
      socket.once('data', () => {
        arrived++;
        socket.resetAndDestroy();
      }),
    );
    const server = await behind(url);
    expect((await server.fetch('/exec?query=insert%20into%20t%20values%20(1)&fmt=json')).status).toBe(502);
    expect(arrived).toBe(1);
  });

  test.each([
    ['a length that is not kept', 'Content-Length: 1000\r\n\r\n{"dataset":[[1]'],
    ['chunks without an end', 'Transfer-Encoding: chunked\r\n\r\n9\r\n{"dataset\r\n'],
  ])('half a body never looks complete: %s', { tags: ['slow'] }, async (_name, head) => {
    const url = await startTcpUpstream((socket) => socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${head}`)));
    const server = await behind(url);
    await expect(server.fetch(SQL).then((response) => response.text())).rejects.toThrow();
    const raw = await sendRaw(server.port, `GET ${SQL} HTTP/1.1\r\nHost: localhost\r\n\r\n`).catch(() => '');
    expect(raw).not.toContain('\r\n0\r\n\r\n');
    await server.logged((line) => line.level === 'error' && line['code'] === 'tsdb_failed');
    expect(server.log.filter((line) => line.level === 'not JSON')).toEqual([]);
  });

  test('a stalled body is cut after tsdb.idle_timeout_ms, a slow one is not', { tags: ['slow'] }, async () => {
    const upstream = await startUpstream(({ url }, response) => {
      response.write('{');
      if (url!.includes('drip')) {
        let left = 20;
        const timer = setInterval(() => {
          response.write(' ');
          if (--left === 0) {
            clearInterval(timer);
            response.end('}');
          }
        }, 100);
      }
    });
    const server = await behind(upstream.url, '[tsdb]\nidle_timeout_ms = 1500\n');
    await expect(server.fetch(SQL).then((response) => response.text())).rejects.toThrow();
    expect(await (await server.fetch('/exec?query=drip&fmt=json')).text()).toBe(`{${' '.repeat(20)}}`);
  });

  test('a client that disconnects cancels its query, and those pipelined after it never run', async () => {
    const asked = new Set<Socket>();
    let asks = 0;
    const url = await startTcpUpstream((socket) => {
      socket.on('data', () => {
        asks += 1;
        asked.add(socket);
      });
      socket.once('close', () => asked.delete(socket));
    });
    const server = await behind(url);
    const client = connect(server.port, '127.0.0.1', () =>
      client.write(`GET ${SQL} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(5)),
    );
    await expect.poll(() => asked.size).toBe(1);
    client.destroy();
    await expect.poll(() => asked.size).toBe(0);
    await server.fetch('/ping');
    expect(asks).toBe(1);
  });

  test('a client that disconnects cancels the query of the database within 100 ms', async () => {
    let isAsked: (socket: Socket) => void;
    const url = await startTcpUpstream((socket) => socket.once('data', () => isAsked(socket)));
    const server = await behind(url);
    const timesMs: number[] = [];
    // A busy machine spoils one measurement, a real delay shows in all.
    for (let i = 0; i < 5; i++) {
      const asked = new Promise<Socket>((resolve) => (isAsked = resolve));
      const client = connect(server.port, '127.0.0.1', () =>
        client.write(`GET ${SQL} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
      );
      const closed = once(await asked, 'close');
      const leftAt = performance.now();
      client.destroy();
      await closed;
      timesMs.push(performance.now() - leftAt);
    }
    expect(Math.min(...timesMs)).toBeLessThan(100);
    await server.logged((line) => line['code'] === 'cancelled');
  });
});

test.runIf(process.platform === 'linux')('128 MB to a slow reader keep memory flat', { tags: ['slow'] }, async () => {
  expect(await growthOfSlowRead(64, 128)).toBeLessThan(64);
});

describe('a web page of another origin', () => {
  const page = (site: string, origin?: string): RequestInit => ({
    headers: { 'sec-fetch-site': site, ...(origin !== undefined && { origin }) },
  });

  test('cannot run SQL, unless its origin is allowed', { tags: ['slow'] }, async () => {
    const upstream = await startUpstream((_request, response) => void response.end('ran'));
    const server = await behind(upstream.url, '[http]\ncors_origins = ["https://app.example"]\n');
    for (const path of [SQL, '/exec?fmt=json&qu%65ry=select%201', '/exp?query=select%201']) {
      for (const init of [page('cross-site'), page('same-site'), page('cross-site', 'https://evil.example')]) {
        expect(await codeOf(await server.fetch(path, init))).toEqual([403, 'permission_denied']);
      }
    }
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      const post = { method: 'POST', body: 'select 1', headers };
      expect(await codeOf(await server.fetch('/exec?fmt=json', post))).toEqual([403, 'permission_denied']);
    }
    expect(upstream.requests).toEqual([]);
    for (const init of [
      page('none'),
      page('same-origin'),
      page('cross-site', 'https://app.example'),
      page('same-origin', server.url),
      {},
    ]) {
      expect(await (await server.fetch(SQL, init)).text()).toBe('ran');
    }
  });

  test('may link to a frame', { tags: ['slow'] }, async () => {
    const server = await startProcess();
    await server.put('t', [{ id: 1 }]);
    for (const method of ['GET', 'HEAD']) {
      expect((await server.fetch('/exec?handle=t&fmt=json', { ...page('cross-site'), method })).status).toBe(200);
    }
  });
});
