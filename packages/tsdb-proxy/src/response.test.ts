import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ServiceError } from '@svc/errors';
import { describe, expect, test, vi } from 'vitest';
import type { TsdbResponse } from './index.ts';
import { responseHeaders } from './response.ts';
import { aCall, bytesOf, closed, deferred, failureOf, proxyTo, rawStandIn, sql } from './testing/stand-in.ts';

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const MIB = 1024 * 1024;

describe('a body', () => {
  test('forwards its first bytes before the rest has arrived', async () => {
    const sent = deferred<Socket>();
    const standIn = await rawStandIn((socket) => {
      socket.write(`${CHUNKED}5\r\nfirst\r\n`);
      sent.resolve(socket);
    });
    const reader = readerOf(await proxyTo(standIn).forward(aCall(), sql('select 1')));
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('first');
    (await sent.promise).write('4\r\nlast\r\n0\r\n\r\n');
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('last');
    expect((await reader.read()).done).toBe(true);
  });

  test.each([
    ['in one chunk', `${CHUNKED}5\r\nwhole\r\n0\r\n\r\n`, 'whole'],
    ['in two chunks', `${CHUNKED}3\r\nwho\r\n2\r\nle\r\n0\r\n\r\n`, 'whole'],
    ['with its length', 'HTTP/1.1 400 Bad\r\nContent-Length: 5\r\n\r\nwhole', 'whole'],
    ['without a byte', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', ''],
  ])('that arrives together with the headers %s is complete', async (_name, text, expected) => {
    const standIn = await rawStandIn((socket) => socket.write(text));
    const proxy = proxyTo(standIn, { maxConnections: 1 });
    for (let count = 0; count < 3; count += 1) {
      const response = await proxy.forward(aCall(), sql('select 1'));
      expect((await bytesOf(response)).toString()).toBe(expected);
    }
    expect(standIn.sockets).toHaveLength(1);
  });

  test('that breaks in the same read as its headers fails as a body', async () => {
    const standIn = await rawStandIn((socket) => socket.write(`${CHUNKED}4\r\nhalf\r\nzz\r\n`));
    const failure = await failureOf(drain(await proxyTo(standIn).forward(aCall(), sql('select 1'))));
    expect(failure).toMatchObject({ code: 'tsdb_failed', message: expect.stringContaining('broke in the middle') });
  });

  test('that arrives slowly is complete, however long it takes in total', { tags: ['slow'] }, async () => {
    const standIn = await rawStandIn((socket) => {
      socket.write(CHUNKED);
      let left = 20;
      const drip = setInterval(() => {
        left -= 1;
        socket.write(left > 0 ? '1\r\nx\r\n' : '0\r\n\r\n');
        if (left === 0) clearInterval(drip);
      }, 100);
    });
    const response = await proxyTo(standIn, { timeoutMs: 1000, idleTimeoutMs: 1500 }).forward(aCall(), sql('select 1'));
    expect((await bytesOf(response)).toString()).toBe('x'.repeat(19));
  });

  test.each<[string, string, (socket: Socket) => void]>([
    [
      'shorter than its length, then closed',
      'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n',
      (socket) => socket.end('half'),
    ],
    [
      'shorter than its length, announced as the last, then closed',
      'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\n',
      (socket) => socket.end('half'),
    ],
    ['cut between two chunks', CHUNKED, (socket) => socket.end('4\r\nhalf\r\n')],
    ['cut inside a chunk', CHUNKED, (socket) => socket.end('9\r\nhalf')],
    [
      'cut between two chunks, announced as the last',
      'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n',
      (socket) => socket.end('4\r\nhalf\r\n'),
    ],
    ['with a chunk size that is none', CHUNKED, (socket) => socket.write('4\r\nhalf\r\nzz\r\n')],
  ])('%s, ends with tsdb_failed', async (_name, head, breakOff) => {
    const standIn = await rawStandIn((socket) => socket.write(head, () => breakOff(socket)));
    const response = await proxyTo(standIn).forward(aCall(), sql('select 1'));
    const failure = await failureOf(drain(response));
    expect(failure).toMatchObject({ code: 'tsdb_failed', message: expect.stringContaining('broke in the middle') });
    expect(failure.cause).toBeInstanceOf(Error);
  });

  test.each<[string, string, string]>([
    ['shorter than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n', 'half'],
    ['between two chunks', CHUNKED, '4\r\nhalf\r\n'],
    [
      'between two chunks, announced as the last',
      'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n',
      '4\r\nhalf\r\n',
    ],
    ['that only the close delimits', 'HTTP/1.0 200 OK\r\n\r\n', 'half'],
  ])('%s, then reset, ends with tsdb_failed', async (_name, head, half) => {
    const standIn = await rawStandIn((socket) => socket.write(head, () => socket.write(half)));
    const reader = readerOf(await proxyTo(standIn).forward(aCall(), sql('select 1')));
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('half');
    // The bytes have been read by now: a reset discards whatever is still buffered.
    standIn.sockets[0]?.resetAndDestroy();
    const failure = await failureOf(reader.read());
    expect(failure).toMatchObject({ code: 'tsdb_failed', message: expect.stringContaining('broke in the middle') });
    expect(failure.cause).toBeInstanceOf(Error);
  });

  test('that is delimited by the close of the connection fails if a reset follows unread bytes', async () => {
    const standIn = await rawStandIn((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n');
      socket.write(Buffer.alloc(200_000), () => socket.resetAndDestroy());
    });
    const readAll = async () => {
      const { chunks } = await proxyTo(standIn).forward(aCall(), sql('select 1'));
      while ((await chunks?.next())?.done === false);
    };
    const failure = await failureOf(readAll());
    expect(failure).toMatchObject({ code: 'tsdb_failed', message: expect.stringContaining('broke in the middle') });
    expect(failure.cause).toBeInstanceOf(Error);
  });

  test('that stalls fails with deadline_exceeded, and the connection is closed', async () => {
    const standIn = await rawStandIn((socket) => socket.write(`${CHUNKED}4\r\nhalf\r\n`));
    const response = await proxyTo(standIn, { idleTimeoutMs: 100 }).forward(aCall(), sql('select 1'));
    const failure = await failureOf(drain(response));
    expect(failure.code).toBe('deadline_exceeded');
    expect(failure.message).toContain('for 100 ms in the middle of its response (tsdb.idle_timeout_ms)');
    await closed(standIn.sockets[0]);
  });

  test('that is not being read does not time out', { tags: ['slow'] }, async () => {
    const begun = deferred<Socket>();
    const standIn = await rawStandIn((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf');
      begun.resolve(socket);
    });
    const response = await proxyTo(standIn, { idleTimeoutMs: 500 }).forward(aCall(), sql('select 1'));
    const reader = readerOf(response);
    await reader.read();
    await delay(1000);
    (await begun.promise).write('rest');
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('rest');
    expect((await reader.read()).done).toBe(true);
  });

  test('that is cancelled closes the connection', async () => {
    const standIn = await rawStandIn((socket) => socket.write(`${CHUNKED}4\r\nhalf\r\n`));
    const reader = readerOf(await proxyTo(standIn).forward(aCall(), sql('select 1')));
    await reader.read();
    const pending = reader.read();
    await reader.cancel();
    expect((await pending).done).toBe(true);
    await closed(standIn.sockets[0]);
  });
});

describe('a long body', () => {
  const long = Buffer.from(Uint32Array.from({ length: MIB }, (_, i) => i * 2_654_435_761).buffer);
  const shifted = Buffer.concat([Buffer.from('shifted'), long]);
  const responseOf = (bytes: Buffer) => (socket: Socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n`);
    socket.write(bytes);
  };

  test('has stream chunks that stay valid while more is read', async () => {
    const standIn = await rawStandIn((socket, head) => responseOf(head.includes('shifted') ? shifted : long)(socket));
    const proxy = proxyTo(standIn);
    const bodies = Array.from({ length: 6 }, async (_, i) => {
      const response = await proxy.forward(aCall(), sql(i % 2 === 0 ? 'plain' : 'shifted'));
      return (await bytesOf(response)).equals(i % 2 === 0 ? long : shifted);
    });
    expect(await Promise.all(bodies)).toEqual(Array(6).fill(true));
  });

  test('has chunks in reused buffers, each valid until the next `next()`', async () => {
    const standIn = await rawStandIn(responseOf(long));
    const proxy = proxyTo(standIn);
    const memory = new Set<ArrayBufferLike>();
    for (let count = 0; count < 4; count += 1) {
      const { chunks } = await proxy.forward(aCall(), sql('select 1'));
      let offset = 0;
      for (let chunk = await chunks?.next(); chunk?.done === false; chunk = await chunks?.next()) {
        memory.add(chunk.value.buffer);
        expect(long.compare(chunk.value, 0, chunk.value.length, offset, offset + chunk.value.length)).toBe(0);
        offset += chunk.value.length;
      }
      expect(offset).toBe(long.length);
    }
    expect(memory.size).toBeLessThan((4 * long.length) / (64 * 1024) / 4);
  });

  test('keeps its unread chunks intact when the next response arrives', async () => {
    const standIn = await rawStandIn((socket, head) => {
      if (head.includes('next')) return responseOf(shifted)(socket);
      socket.write(CHUNKED);
      return setTimeout(() => socket.write('5\r\nfirst\r\n'), 20);
    });
    const proxy = proxyTo(standIn, { maxConnections: 1 });
    const { chunks } = await proxy.forward(aCall(), sql('first'));
    const first = await chunks?.next();
    const waiting = chunks?.next();
    standIn.sockets[0]?.write('6\r\nsecond\r\n5\r\nthird\r\n0\r\n\r\n');
    const second = await waiting;
    expect((await bytesOf(await proxy.forward(aCall(), sql('next')))).equals(shifted)).toBe(true);
    const texts = [second, await chunks?.next()].map((chunk) => Buffer.from(chunk?.value ?? []).toString());
    expect([first?.done, ...texts]).toEqual([false, 'second', 'third']);
    expect((await chunks?.next())?.done).toBe(true);
  });

  test('that its reader closes also ends a pending `next()`', async () => {
    const standIn = await rawStandIn((socket) => socket.write(`${CHUNKED}4\r\nhalf\r\n`));
    const { chunks } = await proxyTo(standIn).forward(aCall(), sql('select 1'));
    await chunks?.next();
    const waiting = chunks?.next();
    await chunks?.return?.();
    expect((await waiting)?.done).toBe(true);
    await closed(standIn.sockets[0]);
  });
});

describe('a client that disconnects', () => {
  test('before the request is sent prevents it', async () => {
    const standIn = await rawStandIn(() => undefined);
    const failure = await failureOf(proxyTo(standIn).forward(aCall(AbortSignal.abort()), sql('select 1')));
    expect(failure.code).toBe('cancelled');
    expect(standIn.sockets).toHaveLength(0);
  });

  test('unnoticed until the request is prepared prevents it, too', async () => {
    const standIn = await rawStandIn(() => undefined);
    const call = { ...aCall(AbortSignal.abort()), isCancelled: false };
    const failure = await failureOf(proxyTo(standIn).forward(call, sql('select 1')));
    expect(failure.code).toBe('cancelled');
    expect(standIn.sockets).toHaveLength(0);
  });

  test('before the response headers closes the connection within 100 ms', async () => {
    const times = await threeTimes(async () => {
      const client = new AbortController();
      const arrived = deferred<Socket>();
      const standIn = await rawStandIn((socket) => arrived.resolve(socket));
      const failure = failureOf(proxyTo(standIn).forward(aCall(client.signal), sql('select 1')));
      const socket = await arrived.promise;
      const started = performance.now();
      client.abort();
      expect((await failure).code).toBe('cancelled');
      await closed(socket);
      return performance.now() - started;
    });
    expect(Math.min(...times)).toBeLessThan(100);
  });

  test.each([
    ['while bytes are awaited', true],
    ['while it is not being read', false],
  ])('in the middle of the body, %s, closes the connection within 100 ms', async (_name, isReading) => {
    const times = await threeTimes(async () => {
      const client = new AbortController();
      const standIn = await rawStandIn((socket) => {
        socket.write(isReading ? `${CHUNKED}4\r\nhalf\r\n` : `${CHUNKED}${(8 * MIB).toString(16)}\r\n`);
        if (!isReading) socket.write(Buffer.alloc(8 * MIB));
      });
      const reader = readerOf(await proxyTo(standIn).forward(aCall(client.signal), sql('select 1')));
      await reader.read();
      const pending = isReading ? failureOf(reader.read()) : undefined;
      const started = performance.now();
      client.abort();
      expect((await (pending ?? failureOf(reader.read()))).code).toBe('cancelled');
      await closed(standIn.sockets[0]);
      return performance.now() - started;
    });
    expect(Math.min(...times)).toBeLessThan(100);
  });

  test.each(['head', 'body'])(
    'before the end of the %s reaches the database after a garbage collection too',
    async (part) => {
      const client = new AbortController();
      const arrived = deferred<Socket>();
      const standIn = await rawStandIn((socket) => {
        if (part === 'body') socket.write(`${CHUNKED}4\r\nhalf\r\n`);
        arrived.resolve(socket);
      });
      const outcome = proxyTo(standIn).forward(aCall(client.signal), sql('select 1')).then(drain);
      const socket = await arrived.promise;
      for (let count = 0; count < 5; count += 1) {
        await delay(20);
        collectGarbage();
      }
      client.abort();
      expect((await failureOf(outcome)).code).toBe('cancelled');
      await closed(socket);
    },
  );

  test('fails with the reason of the signal if that is a ServiceError', async () => {
    const client = new AbortController();
    const standIn = await rawStandIn(() => client.abort(new ServiceError('deadline_exceeded', 'Too late.')));
    const failure = await failureOf(proxyTo(standIn).forward(aCall(client.signal), sql('select 1')));
    expect(failure).toMatchObject({ code: 'deadline_exceeded', message: 'Too late.' });
  });

  test('after the response changes nothing, and no listener is left', async () => {
    const client = new AbortController();
    const added = vi.spyOn(client.signal, 'addEventListener');
    const removed = vi.spyOn(client.signal, 'removeEventListener');
    const standIn = await rawStandIn((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    const response = await proxyTo(standIn).forward(aCall(client.signal), sql('select 1'));
    expect((await bytesOf(response)).toString()).toBe('ok');
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
    client.abort();
  });
});

describe('backpressure', () => {
  test('a reader that pauses stops the database within a few MB, and nothing is lost', { tags: ['slow'] }, async () => {
    const total = 200 * MIB;
    const block = Buffer.alloc(MIB, 'x');
    let taken = 0;
    const standIn = await rawStandIn((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
      let written = 0;
      const writeMore = () => {
        if (written === total) return;
        written += block.length;
        // The callback runs when the block has left this process.
        socket.write(block, () => {
          taken += block.length;
          writeMore();
        });
      };
      writeMore();
    });
    const reader = readerOf(await proxyTo(standIn).forward(aCall(), sql('select 1')));
    const before = process.memoryUsage.rss();
    let received = (await reader.read()).value?.length ?? 0;
    await delay(300);
    expect(taken).toBeLessThan(8 * MIB);

    let mostMemory = 0;
    let mostAhead = 0;
    for (let pauses = 0; ;) {
      const { done, value } = await reader.read();
      if (done) break;
      received += value.length;
      if (received / total < pauses / 10) continue;
      pauses += 1;
      await delay(5);
      mostMemory = Math.max(mostMemory, process.memoryUsage.rss() - before);
      mostAhead = Math.max(mostAhead, taken - received);
    }
    expect(mostAhead).toBeLessThan(8 * MIB);
    expect(mostMemory).toBeLessThan(100 * MIB);
    expect(received).toBe(total);
  });
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
}

/** Measures three times: a busy machine distorts one measurement, a real delay shows in all. */
async function threeTimes(measure: () => Promise<number>): Promise<number[]> {
  return [await measure(), await measure(), await measure()];
}

function readerOf(response: TsdbResponse): ReadableStreamDefaultReader<Uint8Array> {
  if (response.body === null) throw new Error('the response has no body');
  return response.body.getReader();
}

async function drain(response: TsdbResponse): Promise<void> {
  const reader = readerOf(response);
  while (!(await reader.read()).done);
}

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
