import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { loadConfig } from '@svc/config';
import { createMemoryStore, parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { createService, type Service, type ServiceEvent } from '@svc/service';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createHttpServers } from '../src/http/create-http-server.ts';
import { sendRaw } from './server-process.ts';

const events: ServiceEvent[] = [];
let service: Service;
let http: Server;
let port: number;

beforeAll(async () => {
  const loaded = loadConfig({ name: 'service', argv: [], env: { SERVICE_HTTP_CORS_ORIGINS: '*' }, homeDir: '' });
  if (loaded.kind !== 'config') throw new Error('The configuration is not valid.');
  const store = createMemoryStore();
  await store.put({ tenant: 'default', handle: parseHandle('long') }, longFrame(1_000_000, { batchRows: 10_000 }));
  service = createService({ store, observe: (event) => events.push(event) });
  const options = { isStarting: () => false, tls: undefined, metrics: undefined };
  ({ http } = createHttpServers(loaded.config, service, options).main);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  ({ port } = http.address() as AddressInfo);
});

beforeEach(() => void (events.length = 0));

afterAll(async () => {
  http.closeAllConnections();
  http.close();
  await service.close();
});

const requests = (): readonly ServiceEvent[] => events.filter(({ kind }) => kind.startsWith('request_'));

const GET = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`;

describe('a request is reported once, even if no endpoint sees it', () => {
  test.each<[string, string, object]>([
    ['a path that does not exist', GET('/x/y?z'), { method: 'GET', status: 404, error: { code: 'route_not_found' } }],
    ['a request line that is not HTTP', 'nonsense\r\n\r\n', { method: '', status: 400 }],
    ['a head that is too long', GET('/', `x: ${'x'.repeat(70_000)}\r\n`), { method: '', status: 431 }],
    ['two Host headers', GET('/ping', 'Host: other\r\n'), { method: 'GET', status: 400 }],
    ['no Host header', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', { method: 'GET', status: 400 }],
    ['a Host that is no host', GET('/ping').replace('localhost', 'a b'), { status: 400 }],
    ['a dot segment', GET('/frames/..'), { method: 'GET', status: 400 }],
    ['an unknown transfer coding', GET('/ping', 'Transfer-Encoding: gzip, chunked\r\n'), { status: 400 }],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', { method: 'CONNECT', status: 405 }],
    [
      'a preflight',
      GET('/exec', 'Origin: https://a.example\r\nAccess-Control-Request-Method: PUT\r\n').replace('GET', 'OPTIONS'),
      { method: 'OPTIONS', status: 204, error: undefined },
    ],
  ])('%s', async (_name, bytes, expected) => {
    const [head = '', body = ''] = (await sendRaw(port, bytes)).split('\r\n\r\n');
    const requestId = /x-request-id: (\S+)/i.exec(head)?.[1];
    expect(requests()).toMatchObject([
      { kind: 'request_started', requestId, protocol: 'http' },
      { kind: 'request_answered', requestId, protocol: 'http', route: 'other', ...expected },
    ]);
    expect(requests()).toMatchObject([{}, { responseBytes: Buffer.byteLength(body, 'latin1') }]);
  });

  test('each of several pipelined ones', async () => {
    await sendRaw(port, GET('/ping').replace('close', 'keep-alive').repeat(3) + GET('/x'));
    const kinds = requests().map((event) => (event.kind === 'request_answered' ? event.status : event.kind));
    const [started, ok] = ['request_started', 200];
    expect(kinds).toEqual([started, ok, started, ok, started, ok, started, 404]);
  });
});

describe('a client that goes away', () => {
  test.each([
    ['while it reads a response', GET('/exec?handle=long&fmt=json&limit=1000000'), { route: '/exec' }],
    [
      'while it sends a body',
      'PUT /frames/n?fmt=json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n[',
      { route: '/frames/{handle}', method: 'PUT' },
    ],
  ])('%s is reported once, with its address', async (_name, bytes, expected) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('error', () => undefined);
    await expect.poll(() => requests().length).toBe(1);
    if (expected.route === '/exec') await new Promise((resolve) => socket.once('data', resolve));
    socket.resetAndDestroy();
    await expect.poll(() => requests().length).toBe(2);
    const details = { client: { address: '127.0.0.1' } };
    expect(requests()).toMatchObject([
      {},
      { kind: 'request_answered', error: { code: 'cancelled' }, ...expected, details },
    ]);
  });

  test('and sends chunks that are not HTTP is reported once', async () => {
    const head = 'PUT /frames/n?fmt=json HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';
    await sendRaw(port, `${head}1\r\n[\r\nnonsense\r\n`);
    await expect.poll(() => requests().length).toBe(2);
    expect(requests()).toMatchObject([{}, { route: '/frames/{handle}', error: { code: 'cancelled' } }]);
  });
});
