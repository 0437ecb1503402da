import type { Socket } from 'node:net';
import { ServiceError } from '@svc/errors';
import { describe, expect, test } from 'vitest';
import {
  aCall,
  closed,
  closedStandIn,
  failureOf,
  httpStandIn,
  proxyTo,
  rawStandIn,
  socketStandIn,
  sql,
} from './testing/stand-in.ts';
import { noResponse } from './upstream-failures.ts';

const SECRETS = /127\.0\.0\.1|localhost|invalid|s3cret|ECONN|UND_ERR|<h1>|select|undici|fetch/;

function expectDiscreet(failure: ServiceError): void {
  expect(`${failure.message} ${failure.hint}`).not.toMatch(SECRETS);
  expect(failure.message).toMatch(/^[A-Z][^.]*(\.[^ ][^.]*)*\.$/);
}

describe('before the response headers', () => {
  test('a refused connection is tsdb_failed, and the cause is kept for the log', async () => {
    const proxy = proxyTo(await closedStandIn());
    const failure = await failureOf(proxy.forward(aCall(), sql('select 1')));
    expect(failure).toMatchObject({ code: 'tsdb_failed', message: expect.stringContaining('refused the connection') });
    expect(failure.cause).toMatchObject({ code: 'ECONNREFUSED' });
    expectDiscreet(failure);
  });

  test('a host name that does not resolve is tsdb_failed', async () => {
    const standIn = await socketStandIn(() => undefined);
    const proxy = proxyTo(standIn, { url: 'http://s3cret.invalid:9000', connectTimeoutMs: 15_000 });
    const failure = await failureOf(proxy.forward(aCall(), sql('select 1')));
    expect(failure).toMatchObject({ code: 'tsdb_failed', message: expect.stringContaining('host name') });
    expectDiscreet(failure);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['closes', (socket) => socket.end()],
    ['resets', (socket) => socket.resetAndDestroy()],
    ['closes inside the head', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Ty')],
    ['resets inside the head', (socket) => socket.write('HTTP/1.1 200', () => socket.resetAndDestroy())],
    ['sends garbage', (socket) => socket.write('\u0000\u0001garbage <h1>s3cret</h1>\r\n\r\n')],
    ['speaks another protocol', (socket) => socket.write('220 smtp.s3cret ESMTP\r\n')],
    [
      'sends two lengths',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx'),
    ],
    ['sends an over-long head', (socket) => socket.write(`HTTP/1.1 200 OK\r\nX: ${'s3cret'.repeat(20_000)}\r\n\r\n`)],
    ['switches protocols', (socket) => socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')],
    ['asks to continue', (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n')],
    ['answers with status 205', (socket) => socket.write(`HTTP/1.1 205 X\r\nContent-Length: 3\r\n\r\nabc`)],
    ['answers with status 700', (socket) => socket.write('HTTP/1.1 700 X\r\nContent-Length: 0\r\n\r\n')],
    ['answers with status 042', (socket) => socket.write('HTTP/1.1 042 X\r\nContent-Length: 0\r\n\r\n')],
  ])('a database that %s is tsdb_failed, and gets one request', async (_name, answer) => {
    let arrivals = 0;
    const standIn = await rawStandIn((socket) => {
      arrivals += 1;
      answer(socket);
    });
    const failure = await failureOf(proxyTo(standIn, { timeoutMs: 5_000 }).forward(aCall(), sql('select 1')));
    expect(failure.code).toBe('tsdb_failed');
    expectDiscreet(failure);
    expect(arrivals).toBe(1);
  });

  test('a database that closes every connection at once is tsdb_failed', async () => {
    const standIn = await socketStandIn((socket) => socket.destroy());
    const failure = await failureOf(proxyTo(standIn, { timeoutMs: 5_000 }).forward(aCall(), sql('select 1')));
    expect(failure.code).toBe('tsdb_failed');
  });

  test('a plain HTTP database with an https URL is tsdb_failed, and the message mentions TLS', async () => {
    const standIn = await httpStandIn((_request, response) => response.end());
    const proxy = proxyTo(standIn, { url: `https://127.0.0.1:${standIn.port}` });
    const failure = await failureOf(proxy.forward(aCall(), sql('select 1')));
    expect(failure).toMatchObject({ code: 'tsdb_failed', message: expect.stringContaining('TLS') });
    expectDiscreet(failure);
  });

  test(
    'a connection that is not established is deadline_exceeded, and the message names the setting',
    { tags: ['slow'] },
    async () => {
      // A TLS handshake without a reply never becomes a connection.
      const standIn = await socketStandIn((socket) => socket.resume());
      const proxy = proxyTo(standIn, { url: `https://127.0.0.1:${standIn.port}`, connectTimeoutMs: 100 });
      const timesMs: number[] = [];
      // A busy machine distorts one measurement.
      for (let count = 0; count < 3; count += 1) {
        const started = performance.now();
        const failure = await failureOf(proxy.forward(aCall(), sql('select 1')));
        timesMs.push(performance.now() - started);
        expect(failure.code).toBe('deadline_exceeded');
        expect(failure.message).toContain('within 100 ms (tsdb.connect_timeout_ms)');
        expectDiscreet(failure);
      }
      expect(Math.min(...timesMs)).toBeLessThan(500);
      for (const socket of standIn.sockets) await closed(socket);
    },
  );

  test('missing response headers are deadline_exceeded, the message names the setting, and the connection is closed', async () => {
    let gone: Promise<unknown> | undefined;
    const standIn = await rawStandIn((socket) => {
      gone = new Promise((resolve) => {
        socket.once('close', resolve);
      });
      socket.write('HTTP/1.1 200 OK\r\n');
    });
    const failure = await failureOf(proxyTo(standIn, { timeoutMs: 100 }).forward(aCall(), sql('select 1')));
    expect(failure.code).toBe('deadline_exceeded');
    expect(failure.message).toContain('within 100 ms (tsdb.timeout_ms)');
    expectDiscreet(failure);
    await gone;
  });

  test('headers that arrive slowly do not extend the timeout', async () => {
    const standIn = await rawStandIn((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const drip = setInterval(() => socket.write('x-drip: 1\r\n'), 10);
      socket.once('close', () => clearInterval(drip));
    });
    const failure = await failureOf(proxyTo(standIn, { timeoutMs: 150 }).forward(aCall(), sql('select 1')));
    expect(failure.code).toBe('deadline_exceeded');
  });
});

describe('noResponse', () => {
  test.each([
    ['ECONNREFUSED', 'tsdb_failed', 'refused the connection'],
    ['EAI_AGAIN', 'tsdb_failed', 'host name'],
    ['EHOSTUNREACH', 'tsdb_failed', 'no route'],
    ['ETIMEDOUT', 'deadline_exceeded', 'tsdb.connect_timeout_ms'],
    ['CERT_HAS_EXPIRED', 'tsdb_failed', 'not valid at this time'],
    ['CERT_NOT_YET_VALID', 'tsdb_failed', 'not valid at this time'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tsdb_failed', 'another host name'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tsdb_failed', 'authority'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tsdb_failed', 'authority'],
    ['CERT_REVOKED', 'tsdb_failed', 'TLS'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tsdb_failed', 'TLS'],
    ['ECONNRESET', 'tsdb_failed', 'before it answered'],
    ['EPIPE', 'tsdb_failed', 'before it answered'],
  ])('%s is %s', (code, expected, words) => {
    const thrown = new TypeError('fetch failed', { cause: Object.assign(new Error('s3cret'), { code }) });
    const failure = noResponse(thrown, 2_000);
    expect(failure).toMatchObject({ code: expected, message: expect.stringContaining(words), cause: thrown });
    expectDiscreet(failure);
  });

  test.each([undefined, null, 'text', 7])('even %j thrown is a ServiceError', (thrown) => {
    expect(noResponse(thrown, 1)).toBeInstanceOf(ServiceError);
  });
});
