import { describe, expect, test } from 'vitest';
import { responseHeaders } from './response-headers.ts';
import type { TsdbResponse } from './index.ts';
import { aCall, bytesOf, proxyTo, rawStandIn } from './testing/stand-in.ts';

describe('responseHeaders', () => {
  test.each([
    'Access-Control-Allow-Origin: *',
    'Access-Control-Expose-Headers: x',
    'Alt-Svc: h2="db:443"',
    'Clear-Site-Data: "*"',
    'Connection: keep-alive',
    'Date: Tue, 02 Jan 2024 03:04:05 GMT',
    'Keep-Alive: timeout=5, max=10000',
    'Proxy-Authenticate: Basic',
    'Server: questDB/1.0',
    'Set-Cookie: qdb_session=1',
    'Strict-Transport-Security: max-age=1',
    'TE: trailers',
    'Trailer: x',
    'Upgrade: h2c',
    'Via: 1.1 db',
    'X-Powered-By: db',
    'X-Request-Id: theirs',
  ])('does not forward %s', async (line) => {
    expect(await passedOn([line])).toEqual({ 'content-length': '2' });
  });

  test.each([
    ['Content-Type: application/json; charset=utf-8', 'content-type', 'application/json; charset=utf-8'],
    ['Content-Disposition: attachment; filename="a.csv"', 'content-disposition', 'attachment; filename="a.csv"'],
    ['ETag: "1"', 'etag', '"1"'],
    ['Cache-Control: no-store', 'cache-control', 'no-store'],
    ['X-Influxdb-Version: v2', 'x-influxdb-version', 'v2'],
  ])('forwards %s', async (line, name, value) => {
    expect(await passedOn([line])).toEqual({ 'content-length': '2', [name]: value });
  });

  test('does not forward headers that Connection names', async () => {
    expect(await passedOn(['Connection: close, X-Hop', 'X-Hop: 1', 'X-End: 2'])).toEqual({
      'content-length': '2',
      'x-end': '2',
    });
  });

  test('without a body there is no Content-Length and no Content-Encoding', () => {
    const upstream = { 'content-length': '5', 'content-encoding': 'gzip', etag: '"1"' };
    expect(responseHeaders(upstream, false)).toEqual({ etag: '"1"' });
  });

  test('forwards each of several headers of one name', () => {
    const upstream = { 'x-note': ['1', '2'], connection: 'X-Hop, Close', 'x-hop': '1' };
    expect(responseHeaders(upstream, true)).toEqual({ 'x-note': '1, 2' });
  });

  test('forwards headers that arrive in two reads, split anywhere', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-First: one\r\nX-Second: two\r\n\r\n';
    for (let cut = 1; cut < head.length; cut += 7) {
      const standIn = await rawStandIn((socket) => {
        // Late enough to arrive in a read of its own.
        socket.write(head.slice(0, cut), () => setTimeout(() => socket.write(`${head.slice(cut)}ok`), 10));
      });
      const { headers } = await proxyTo(standIn).forward(aCall(), { path: '/exec', params: [] });
      expect(headers).toEqual({ 'content-length': '2', 'x-first': 'one', 'x-second': 'two' });
    }
  });

  test('text beyond Latin-1 in a header does not break the response', async () => {
    expect(await passedOn(['X-Note: \u010a\u0100', 'X-End: 2'])).toMatchObject({ 'x-end': '2' });
  });
});

/** The headers that a client gets from a response with these header lines and the body `ok`. */
async function passedOn(lines: readonly string[]): Promise<TsdbResponse['headers']> {
  const standIn = await rawStandIn((socket) => {
    socket.write(['HTTP/1.1 200 OK', 'Content-Length: 2', ...lines, '', 'ok'].join('\r\n'));
  });
  const response = await proxyTo(standIn).forward(aCall(), { path: '/exec', params: [] });
  expect((await bytesOf(response)).toString()).toBe('ok');
  return response.headers;
}
