import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { SLOW } from '../../../test/tier.ts';
import type { TsdbPassRequest } from './index.ts';
import {
  aCall,
  bytesOf,
  closed,
  failureOf,
  httpStandIn,
  proxyTo,
  rawStandIn,
  type StandIn,
} from './testing/stand-in.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A database that answers with the status in the path, and remembers the requests. */
async function database(): Promise<StandIn & { readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const standIn = await httpStandIn((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url = '', headers } = request;
      seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      const status = Number(/\/status\/(\d+)/.exec(url)?.[1] ?? 200);
      const location = new URL(url, 'http://x').searchParams.get('location');
      response.writeHead(status, { etag: '"e"', ...(location !== null && { location }) });
      response.end(status === 304 ? undefined : 'answer');
    });
  });
  return Object.assign(standIn, { seen });
}

const get = (target: string, method = 'GET'): TsdbPassRequest => ({ method, target, headers: {} });

describe('a request that is passed on', () => {
  test('keeps its method, target, body and the headers about them, and no others', async () => {
    const standIn = await database();
    const headers = {
      'content-type': 'text/csv',
      'content-length': '6',
      'if-none-match': '"x"',
      authorization: 'Bearer secret',
      cookie: 'a=b',
      'accept-encoding': 'gzip',
      'statement-timeout': '1',
      host: 'elsewhere',
    };
    const body = Readable.from([Buffer.from('a,'), Buffer.from('b\n1,')]);
    const proxy = proxyTo({ url: `${standIn.url}/base/` }, { user: 'u', password: 'p' });
    const request = { method: 'POST', target: '/imp?name=a%20b&x', headers, body };
    const response = await proxy.forward(aCall(), request);
    expect([response.status, (await bytesOf(response)).toString()]).toEqual([200, 'answer']);
    expect(standIn.seen).toMatchObject([{ method: 'POST', url: '/base/imp?name=a%20b&x', body: 'a,b\n1,' }]);
    const sent = standIn.seen[0]?.headers;
    expect(sent).toMatchObject({ 'content-type': 'text/csv', 'content-length': '6', 'if-none-match': '"x"' });
    expect(sent).toMatchObject({ 'accept-encoding': 'identity', authorization: `Basic ${btoa('u:p')}` });
    expect([sent?.cookie, sent?.['statement-timeout'], sent?.host]).toEqual([
      undefined,
      undefined,
      `127.0.0.1:${standIn.port}`,
    ]);
  });

  test('streams a body of unknown length', async () => {
    const standIn = await database();
    const body = Readable.from(Array.from({ length: 1000 }, () => Buffer.alloc(1000, 'x')));
    const response = await proxyTo(standIn).forward(aCall(), { method: 'PUT', target: '/x', headers: {}, body });
    expect(response.status).toBe(200);
    expect(standIn.seen[0]?.headers['transfer-encoding']).toBe('chunked');
    expect(standIn.seen[0]?.body).toHaveLength(1_000_000);
  });

  test('of a client that stops sending fails, and the database sees no whole request', async () => {
    const standIn = await database();
    const client = new AbortController();
    async function* body() {
      yield Buffer.from('abc');
      client.abort();
      await new Promise(() => undefined);
    }
    const headers = { 'content-length': '6' };
    const sent = proxyTo(standIn).forward(aCall(client.signal), {
      method: 'POST',
      target: '/x',
      headers,
      body: body(),
    });
    expect(await failureOf(sent)).toMatchObject({ code: 'cancelled' });
    expect(standIn.seen).toEqual([]);
  });

  test('has its deadline after its body, which may take longer', SLOW, async () => {
    const standIn = await database();
    async function* body() {
      for (let i = 0; i < 4; i++) {
        await new Promise((resolve) => setTimeout(resolve, 800));
        yield Buffer.from('x');
      }
    }
    const proxy = proxyTo(standIn, { timeoutMs: 2400 });
    expect((await proxy.forward(aCall(), { method: 'POST', target: '/x', headers: {}, body: body() })).status).toBe(
      200,
    );
    const hanging = await httpStandIn(() => undefined);
    const late = proxyTo(hanging, { timeoutMs: 50 }).forward(aCall(), get('/x'));
    expect(await failureOf(late)).toMatchObject({ code: 'deadline_exceeded' });
  });

  test('a redirect whose body has no end is complete without it, and its connection is closed', async () => {
    const standIn = await rawStandIn((socket) => socket.write('HTTP/1.1 301 X\r\nLocation: /index.html\r\n\r\n\r\n'));
    const proxy = proxyTo(standIn);
    const response = await proxy.forward(aCall(), get('/'));
    expect([response.status, response.headers]).toEqual([301, { location: '/index.html' }]);
    expect(await bytesOf(response)).toHaveLength(0);
    await closed(standIn.sockets[0]);
    expect((await proxy.forward(aCall(), get('/'))).status).toBe(301);
  });

  test.each([
    ['GET', '/status/304', '', 304],
    ['GET', '/status/301?location=/index.html', '', 301],
    ['HEAD', '/x', '', 200],
    ['GET', '/status/404', '', 404],
    ['GET', '/status/301?location=//elsewhere/', '', 'tsdb_failed'],
    ['GET', '/status/302?location=https://elsewhere/', '', 'tsdb_failed'],
    ['GET', '/status/301?location=/index.html', '/base', 'tsdb_failed'],
    ['GET', '/status/401', '', 'tsdb_failed'],
    ['GET', `/${'x'.repeat(32_000)}`, '', 'uri_too_long'],
  ])('%s %.40s below "%s" is %s', async (method, target, base, expected) => {
    const standIn = await database();
    const sent = proxyTo({ url: standIn.url + base }).forward(aCall(), get(target, method));
    if (typeof expected === 'string') {
      expect(await failureOf(sent)).toMatchObject({ code: expected });
      return;
    }
    const { status, headers, body } = await sent;
    expect([status, headers['etag']]).toEqual([expected, '"e"']);
    const isEmpty = method === 'HEAD' || expected === 304;
    expect((await bytesOf({ body })).length === 0).toBe(isEmpty);
  });
});
