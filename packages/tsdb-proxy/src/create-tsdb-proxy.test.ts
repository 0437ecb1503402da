import type { IncomingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Call } from '@svc/frames';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TsdbCredentialsError } from './index.ts';
import { startRecordedDatabase } from './testing/recorded-database.ts';
import { responseOf, comparable, loadRecording } from './testing/recording.ts';
import { aCall, bytesOf, failureOf, httpStandIn, proxyTo, rawStandIn, sql } from './testing/stand-in.ts';

const PATHS = ['/exec', '/exp', '/chk'] as const;
const RECORDED = loadRecording().filter(({ profile, method, path, answer }) => {
  return (
    profile === undefined && method === undefined && /^\/(exec|exp|chk)\b(?!\/)/.test(path) && answer !== undefined
  );
});

describe('forward', () => {
  test.each(RECORDED)('forwards the response of a real database: $id', async (recorded) => {
    const database = await startRecordedDatabase();
    onTestFinished(() => database.close());
    const params = [...new URL(recorded.path, database.url).searchParams];
    const path = PATHS.find((one) => recorded.path.startsWith(one)) ?? '/exec';
    const { status, headers, body } = await proxyTo(database).forward(aCall(), { path, params });
    const response = { status, reason: '', headers, body: await bytesOf({ body }) };
    expect(comparable(recorded, response)).toEqual(comparable(recorded, responseOf(recorded)));
    expect(Object.keys(response.headers)).not.toEqual(expect.arrayContaining(['server']));
    expect([...new URL(database.targets[0] ?? '', database.url).searchParams]).toEqual(params);
  });

  test('passes the trace of the call on, if it has one', async () => {
    const standIn = await httpStandIn(({ headers }, response) =>
      response.end(JSON.stringify([headers['traceparent'], headers['tracestate']])),
    );
    const proxy = proxyTo(standIn, { token: 'abc' });
    const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };
    const sent = async (call: Call): Promise<unknown> =>
      JSON.parse((await bytesOf(await proxy.forward(call, sql('select 1')))).toString());
    expect(await sent({ ...aCall(), trace: { ...trace, traceState: 'a=1' } })).toEqual([
      '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'a=1',
    ]);
    expect(await sent(aCall())).toEqual([null, null]);
  });

  test('sends one GET without compression and without headers of the client', async () => {
    const seen: { method: string | undefined; headers: IncomingHttpHeaders }[] = [];
    const standIn = await httpStandIn((request, response) => {
      seen.push({ method: request.method, headers: request.headers });
      response.end('ok');
    });
    await bytesOf(await proxyTo(standIn).forward(aCall(), sql('select 1')));
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'GET', headers: { 'accept-encoding': 'identity' } });
    for (const name of ['authorization', 'cookie', 'statement-timeout', 'content-length', 'x-request-id']) {
      expect(seen[0]?.headers).not.toHaveProperty(name);
    }
  });

  test.each([
    [{ user: 'admin', password: 'quest' }, 'Basic YWRtaW46cXVlc3Q='],
    [{ token: 'abc' }, 'Bearer abc'],
  ])('sends the credentials %j', async (options, authorization) => {
    const standIn = await httpStandIn((request, response) => response.end(request.headers.authorization));
    const response = await proxyTo(standIn, options).forward(aCall(), sql('select 1'));
    expect((await bytesOf(response)).toString()).toBe(authorization);
  });

  test.each([
    [200, 'text/html', '<h1>200</h1>'],
    [400, 'application/json', '{"error":"x"}'],
    [403, 'application/json', '{"error":"read only"}'],
    [404, 'text/plain', 'Not Found\r\n'],
    [500, 'text/html', '<h1>500</h1>'],
    [503, 'text/plain', ''],
    [599, 'text/plain', 'odd'],
  ])('forwards status %i of type %s with its body', async (status, type, body) => {
    const standIn = await httpStandIn((_request, response) => {
      response.writeHead(status, { 'content-type': type }).end(body);
    });
    const response = await proxyTo(standIn).forward(aCall(), sql('select 1'));
    expect(response.status).toBe(status);
    expect(response.headers['content-type']).toBe(type);
    expect((await bytesOf(response)).toString()).toBe(body);
  });

  test('a 204 response has no body, and its connection is reused', async () => {
    const standIn = await httpStandIn((_request, response) => response.writeHead(204).end());
    const proxy = proxyTo(standIn, { maxConnections: 1 });
    for (let count = 0; count < 3; count += 1) {
      const response = await proxy.forward(aCall(), sql('select 1'));
      expect(response).toMatchObject({ status: 204, body: null });
      expect(response.headers).not.toHaveProperty('content-length');
    }
    expect(standIn.sockets).toHaveLength(1);
  });

  test.each([
    ['gzip', gzipSync('{"dataset":[]}')],
    ['gzip, gzip', gzipSync(gzipSync('x'))],
    ['br', Buffer.from('not brotli at all')],
    ['zstd', Buffer.from([0, 1, 2, 255])],
  ])(
    'bytes that come as %s although plain ones were asked for pass unchanged, with their header',
    async (coding, bytes) => {
      const standIn = await httpStandIn((_request, response) => {
        response.writeHead(200, { 'content-encoding': coding, 'content-length': bytes.length }).end(bytes);
      });
      const response = await proxyTo(standIn).forward(aCall(), sql('select 1'));
      expect(response.headers['content-encoding']).toBe(coding);
      expect(response.headers['content-length']).toBe(String(bytes.length));
      expect(await bytesOf(response)).toEqual(bytes);
    },
  );

  test('a body that is delimited by the close of the connection is complete', async () => {
    const body = Buffer.alloc(300_000, 'x');
    const standIn = await rawStandIn((socket) => {
      socket.write('HTTP/1.0 200 OK\r\nContent-Type: text/csv\r\n\r\n');
      socket.end(body);
    });
    const response = await proxyTo(standIn).forward(aCall(), sql('select 1'));
    expect(body.equals(await bytesOf(response))).toBe(true);
  });

  test('informational responses are skipped', async () => {
    const standIn = await rawStandIn((socket) => {
      const answer = `HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n${'x'.repeat(200_000)}`;
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n');
      setTimeout(() => socket.write(answer), 50);
    });
    const response = await proxyTo(standIn, { timeoutMs: 2_000 }).forward(aCall(), sql('select 1'));
    expect(response.status).toBe(200);
    expect(await bytesOf(response)).toHaveLength(200_000);
  });

  test('rejected credentials have their own error class, and the response is not shown', async () => {
    const standIn = await httpStandIn((_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Basic' }).end('Unauthorized for admin');
    });
    const failure = await failureOf(proxyTo(standIn, { token: 's3cret' }).forward(aCall(), sql('select 1')));
    expect(failure).toBeInstanceOf(TsdbCredentialsError);
    expect(failure).toMatchObject({ name: 'ServiceError', code: 'tsdb_failed' });
    expect(`${failure.message} ${failure.hint}`).not.toMatch(/s3cret|admin|127\.0\.0\.1/);
  });

  test.each([300, 301, 302, 303, 304, 307, 308])('a redirect (%i) is not followed', async (status) => {
    const targets: (string | undefined)[] = [];
    const standIn = await httpStandIn((request, response) => {
      targets.push(request.url);
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
    const failure = await failureOf(proxyTo(standIn).forward(aCall(), sql('select 1')));
    expect(failure).toMatchObject({ code: 'tsdb_failed', message: expect.stringContaining(String(status)) });
    expect(failure).not.toBeInstanceOf(TsdbCredentialsError);
    expect(targets).toEqual(['/exec?query=select%201&fmt=json']);
  });
});
