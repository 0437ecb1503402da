import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { setImmediate as tick, setTimeout as delay } from 'node:timers/promises';
import type { ServiceError } from '@svc/errors';
import { Client } from 'undici';
import { describe, expect, test } from 'vitest';
import {
  aCall,
  bytesOf,
  closed,
  deferred,
  failureOf,
  httpStandIn,
  proxyTo,
  rawStandIn,
  sql,
} from './testing/stand-in.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test('undici is the version whose use of sockets `connection-pool.ts` changes', () => {
  const { version }: { version: string } = createRequire(import.meta.url)('undici/package.json');
  const advice = [
    'undici has changed. Check in lib/dispatcher/client-h1.js that it still reads with `socket.read()` after each `readable`,',
    'and in lib/dispatcher/pool.js that the pool calls `dispatch` of its clients with the request itself.',
    'Run the tests of this package, then set the version here. Version 8 pauses its parser safely: the valve may go.',
  ];
  expect(version, advice.join(' ')).toBe('7.30.2');
  expect(typeof Client.prototype.dispatch, advice.join(' ')).toBe('function');
});

describe('connections', () => {
  test('are reused', async () => {
    const standIn = await rawStandIn((socket) => socket.write(OK));
    const proxy = proxyTo(standIn);
    for (let count = 0; count < 9; count += 1) await bytesOf(await proxy.forward(aCall(), sql('select 1')));
    // Not always one: a connection is free for reuse only on the next turn of the event loop.
    expect(standIn.sockets.length).toBeLessThanOrEqual(2);
  });

  test('are at most maxConnections; further requests wait and are sent in order', async () => {
    let running = 0;
    let most = 0;
    const standIn = await httpStandIn((_request, response) => {
      running += 1;
      most = Math.max(most, running);
      setTimeout(() => {
        running -= 1;
        response.end('ok');
      }, 10);
    });
    const proxy = proxyTo(standIn, { maxConnections: 2 });
    const texts = Array.from({ length: 10 }, async () => {
      return (await bytesOf(await proxy.forward(aCall(), sql('select 1')))).toString();
    });
    expect(await Promise.all(texts)).toEqual(Array(10).fill('ok'));
    expect(most).toBe(2);
    expect(standIn.sockets).toHaveLength(2);
  });

  test('a request that waits too long for a connection is deadline_exceeded and never sent', async () => {
    const heads: string[] = [];
    const standIn = await rawStandIn((socket, head) => {
      heads.push(head.split('\r\n', 1)[0] ?? '');
      socket.write(heads.length > 1 ? OK : 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nha');
    });
    const proxy = proxyTo(standIn, { maxConnections: 1, timeoutMs: 500 });
    // A response that has begun has no deadline, and keeps its connection.
    const first = await proxy.forward(aCall(), sql('first'));
    expect((await failureOf(proxy.forward(aCall(), sql('waiting')))).code).toBe('deadline_exceeded');
    standIn.sockets[0]?.write('lf');
    expect((await bytesOf(first)).toString()).toBe('half');
    await bytesOf(await proxy.forward(aCall(), sql('last')));
    expect(heads.map((head) => /query=(\w+)/.exec(head)?.[1])).toEqual(['first', 'last']);
  });

  test('that the database closes while idle are replaced, and no request is lost', async () => {
    let arrivals = 0;
    const standIn = await rawStandIn((socket) => {
      arrivals += 1;
      socket.write(OK);
    });
    const proxy = proxyTo(standIn);
    for (let count = 1; count <= 5; count += 1) {
      expect((await bytesOf(await proxy.forward(aCall(), sql('insert')))).toString()).toBe('ok');
      const socket = standIn.sockets.at(-1);
      socket?.end();
      await closed(socket);
      expect(arrivals).toBe(count);
    }
    expect(standIn.sockets).toHaveLength(5);
  });

  test.each<[string, (socket: Socket) => void]>([
    ['closes', (socket) => socket.end()],
    ['resets', (socket) => socket.resetAndDestroy()],
  ])('a database that %s right after each response gets every statement at most once', async (_name, close) => {
    const arrivals = new Map<string, number>();
    const standIn = await rawStandIn((socket, head) => {
      const id = /query=(\w+)/.exec(head)?.[1] ?? '';
      arrivals.set(id, (arrivals.get(id) ?? 0) + 1);
      socket.write(OK, () => close(socket));
    });
    const proxy = proxyTo(standIn);
    const answered: string[] = [];
    const failures: ServiceError[] = [];
    for (let count = 0; count < 60; count += 1) {
      const id = `insert${count}`;
      await proxy
        .forward(aCall(), sql(id))
        .then(bytesOf)
        .then(
          () => answered.push(id),
          (error: ServiceError) => failures.push(error),
        );
      await tick();
    }
    expect(failures.filter(({ code }) => code !== 'tsdb_failed')).toEqual([]);
    expect(answered.filter((id) => arrivals.get(id) !== 1)).toEqual([]);
    expect(answered.length).toBeGreaterThan(0);
    expect(Math.max(...arrivals.values())).toBe(1);
  });

  test.each(['on a new connection', 'on one used before'])(
    'a statement that is read and then reset %s has arrived once and is not sent again',
    async (place) => {
      let inserts = 0;
      const standIn = await rawStandIn((socket, head) => {
        if (!head.includes('insert')) return socket.write(OK);
        inserts += 1;
        return socket.resetAndDestroy();
      });
      const proxy = proxyTo(standIn);
      if (place === 'on one used before') await bytesOf(await proxy.forward(aCall(), sql('select 1')));
      const failure = await failureOf(proxy.forward(aCall(), sql('insert')));
      expect(failure).toMatchObject({ code: 'tsdb_failed', hint: expect.stringContaining('check before') });
      await bytesOf(await proxy.forward(aCall(), sql('select 1')));
      expect(inserts).toBe(1);
    },
  );

  test.each([
    ['with a length', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 300000\r\n\r\n'],
    ['without a length', 'HTTP/1.1 200 OK\r\n\r\n'],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 300000\r\n\r\n'],
  ])('the last response of a connection, %s, reaches a slow reader complete', async (_name, head) => {
    const standIn = await rawStandIn((socket) => {
      socket.write(head);
      socket.end(Buffer.alloc(300_000, 'x'));
    });
    const response = await proxyTo(standIn).forward(aCall(), sql('select 1'));
    await delay(50);
    let received = 0;
    for await (const bytes of response.body ?? []) {
      received += bytes.length;
      await delay(10);
    }
    expect(received).toBe(300_000);
  });

  test('have a client that reads from its socket as undici 7 does: from `read`, after each `readable`', async () => {
    const standIn = await rawStandIn((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n');
      socket.write(Buffer.alloc(8_000_000, 'x'));
    });
    const { chunks } = await proxyTo(standIn).forward(aCall(), sql('select 1'));
    const buffers: unknown[] = [];
    for (let next = await chunks?.next(); next?.done === false; next = await chunks?.next()) {
      buffers.push(next.value.buffer);
    }
    // If undici read in another way, each chunk would have a buffer of its own.
    expect(new Set(buffers).size).toBeLessThan(buffers.length / 2);
  });

  test('a reset while the reader pauses fails that response and nothing else', async () => {
    const standIn = await rawStandIn((socket, head) => {
      if (!head.includes('broken')) return socket.write(OK);
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9000000\r\n\r\n');
      socket.write(Buffer.alloc(40_000));
      return setTimeout(() => socket.resetAndDestroy(), 30);
    });
    const proxy = proxyTo(standIn);
    const response = await proxy.forward(aCall(), sql('broken'));
    await delay(100);
    expect((await failureOf(bytesOf(response))).code).toBe('tsdb_failed');
    expect((await bytesOf(await proxy.forward(aCall(), sql('select 1')))).toString()).toBe('ok');
  });
});

describe('close', () => {
  test('closes idle connections and refuses later requests', async () => {
    const standIn = await rawStandIn((socket) => socket.write(OK));
    const proxy = proxyTo(standIn);
    await bytesOf(await proxy.forward(aCall(), sql('select 1')));
    await proxy.close();
    await closed(standIn.sockets[0]);
    expect((await failureOf(proxy.forward(aCall(), sql('select 1')))).code).toBe('unavailable');
    await proxy.close();
  });

  test('fails requests in flight with unavailable', async () => {
    const arrived = deferred<undefined>();
    const standIn = await rawStandIn((socket, head) => {
      if (head.includes('body')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf');
      else arrived.resolve(undefined);
    });
    const proxy = proxyTo(standIn, { maxConnections: 2 });
    const body = await proxy.forward(aCall(), sql('body'));
    const head = failureOf(proxy.forward(aCall(), sql('head')));
    const waiting = failureOf(proxy.forward(aCall(), sql('waiting')));
    await arrived.promise;
    await proxy.close();
    expect((await head).code).toBe('unavailable');
    expect((await waiting).code).toBe('unavailable');
    expect((await failureOf(bytesOf(body))).code).toBe('unavailable');
  });
});
