import { EventEmitter, once } from 'node:events';
import { connect, Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { FrameServiceDefinition, HealthDefinition } from '@svc/proto';
import { createClient } from 'nice-grpc';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectRaw, PREFACE, startServer } from '../test/start-server.ts';
import { beginCalls } from './connections.ts';

function frame(type: number, stream: number, payload: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const BROKEN = frame(0, 1, Buffer.from('x'));
const GREETING = Buffer.concat([PREFACE, frame(4, 0, new Uint8Array(0))]);
const SETTINGS_ACK = frame(4, 0, new Uint8Array(0), 1);

/** Sends bytes on a new connection, and closes it after the last response of the server. */
async function sendAndLeave(port: number, bytes: Uint8Array): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  const gone = once(socket, 'close').then(() => true);
  socket.write(bytes);
  // After an error, the last frame of a session is GOAWAY.
  let received = Buffer.alloc(0);
  const saidGoodbye = new Promise<boolean>((resolve) => {
    socket.on('data', (data) => {
      received = Buffer.concat([received, data]);
      if (hasGoaway(received)) resolve(true);
    });
  });
  await Promise.race([gone, saidGoodbye]);
  socket.destroy();
}

function hasGoaway(bytes: Buffer): boolean {
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) if (bytes[at + 3] === 7) return true;
  return false;
}

/** Resolves when the server accepts a new connection. */
async function untilServed(port: number): Promise<void> {
  await expect
    .poll(
      async () => {
        const socket = connect(port, '127.0.0.1');
        socket.on('error', () => undefined);
        socket.write(PREFACE);
        const served = await Promise.race([
          once(socket, 'data').then(() => true),
          once(socket, 'close').then(() => false),
        ]);
        socket.destroy();
        return served;
      },
      { timeout: 1000, interval: 50 },
    )
    .toBe(true);
}

test.each([
  ['data of no stream', BROKEN],
  ['a broken header block', frame(1, 1, Buffer.alloc(6, 0xff), 4)],
  ['a frame larger than any', Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])],
  ['settings of a wrong length', frame(4, 0, Buffer.from('abc'))],
  ['an acknowledgement, and then data of no stream', Buffer.concat([SETTINGS_ACK, BROKEN])],
])('clients that send %s and disconnect block others for less than a second', async (_name, bytes) => {
  const { port } = await startServer({ maxConnections: 2 });
  for (let round = 0; round < 3; round++) {
    await Promise.all([1, 2].map(() => sendAndLeave(port, Buffer.concat([GREETING, bytes]))));
    await untilServed(port);
  }
});

/** More headers than may come at once, of one byte each. */
const MANY_HEADERS = Buffer.alloc(6000, 0x82);
const END_HEADERS = 4;

test.each([
  ['alone', [frame(1, 1, MANY_HEADERS, END_HEADERS)]],
  // As a header, these bytes would have a name or a value as long as the rest.
  [
    'after a priority',
    [frame(1, 1, Buffer.concat([Buffer.of(0, 0x7f, 255, 255, 255), MANY_HEADERS]), 0x20 + END_HEADERS)],
  ],
  ['in padding', [frame(1, 1, Buffer.concat([Buffer.of(15), MANY_HEADERS, Buffer.alloc(15)]), 0x8 + END_HEADERS)]],
  [
    'after the value of another',
    [frame(1, 1, Buffer.of(0, 1, 0x61, 1)), frame(9, 1, Buffer.concat([Buffer.of(15), MANY_HEADERS]), END_HEADERS)],
  ],
])('6000 headers with the greeting close the connection unanswered: %s', async (_, frames) => {
  const { port } = await startServer();
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(Buffer.concat([GREETING, ...frames]));
  const first = once(socket, 'data').then(() => 'answered');
  const closed = once(socket, 'close').then(() => 'closed');
  expect(await Promise.race([first, closed])).toBe('closed');
});

test('a client whose session breaks during a call keeps its slot for a few seconds', { tags: ['slow'] }, async () => {
  const { port } = await startServer({ maxConnections: 1 });
  const socket = connect(port, '127.0.0.1');
  const session = await connectRaw(port, socket);
  const path = `/${FrameServiceDefinition.fullName}/PutFrame`;
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
  const call = session.request(headers);
  call.on('error', () => undefined);
  await new Promise((resolve) => session.ping(resolve));
  socket.write(frame(0, 9, Buffer.from('x')));
  await once(session, 'goaway');
  socket.destroy();
  await expect
    .poll(
      () =>
        untilServed(port).then(
          () => true,
          () => false,
        ),
      { timeout: 12_000, interval: 50 },
    )
    .toBe(true);
});

test('healthy clients stay while others are refused', async () => {
  const { port, client, channel } = await startServer({ maxConnections: 1 });
  const watching = createClient(HealthDefinition, channel).watch({})[Symbol.asyncIterator]();
  await watching.next();
  for (let round = 0; round < 10; round++) {
    const refused = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(refused, 'close');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const isWatching = await Promise.race([watching.next().then(() => false), delay(100, true)]);
  expect(isWatching).toBe(true);
  expect((await client.listFrames({})).frames).toEqual([]);
});

/** Whether the server closes an idle connection within a few minutes, depending on whether its client answers pings. */
async function isClosedInSilence(answersPings: boolean): Promise<boolean> {
  const { port } = await startServer({ firstCallMs: 3_600_000 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let pings = 0;
  socket.on('error', () => undefined);
  socket.on('data', (data) => {
    const ping = pingIn(data);
    if (ping === undefined) return;
    pings++;
    if (answersPings) socket.write(frame(6, 0, ping, 1));
  });
  socket.write(GREETING);
  for (let second = 0; second < 200 && !socket.closed; second++) {
    await vi.advanceTimersByTimeAsync(1000);
    // Let bytes pass through the socket in both directions.
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(pings).toBeGreaterThan(0);
  return socket.closed;
}

/** Returns the payload of a ping that needs a reply; undefined if these bytes are none. */
function pingIn(bytes: Buffer): Buffer | undefined {
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === 6 && bytes[at + 4] === 0) return bytes.subarray(at + 9, at + 17);
  }
  return undefined;
}

test.each([
  ['answers no ping is closed', false],
  ['answers its pings stays', true],
])('a silent client that %s', async (_what, answersPings) => {
  expect(await isClosedInSilence(answersPings)).toBe(!answersPings);
});

/** Returns for how many seconds a client that sends only this keeps its slot, up to 65. */
async function secondsOpen(bytes: Uint8Array): Promise<number> {
  const { port } = await startServer();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.resume();
  await once(socket, 'connect');
  if (bytes.length > 0) socket.write(bytes);
  let seconds = 0;
  for (; seconds < 65 && !socket.closed; seconds++) {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(1000);
  }
  return seconds;
}

test.each([
  ['no byte', new Uint8Array(0)],
  ['a part of the preface', PREFACE.subarray(0, 10)],
  ['the preface alone', PREFACE],
  ['preface and settings', GREETING],
])('a client that sends only %s is disconnected after ten seconds', async (_what, bytes) => {
  expect(Math.abs((await secondsOpen(bytes)) - 10)).toBeLessThanOrEqual(2);
});

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Writes each chunk when the server has had a chance to read the one before. */
async function writeSlowly(socket: Socket, chunks: Iterable<string | Uint8Array>): Promise<void> {
  for (const chunk of chunks) {
    await new Promise((resolve) => socket.write(chunk, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test.each([
  ['a request', ['GET / HTTP/1.1\r\nhost: a\r\n\r\n']],
  ['a request in pieces', ['P', 'OS', 'T', ' /exec HTTP/1.1\r\n']],
  ['a request whose method begins like HTTP/2', ['PR', 'OPFIND / HTTP/1.1\r\n\r\n']],
  ['a long body', [`PUT /frames/t HTTP/1.1\r\ncontent-length: 900000\r\n\r\n${'x'.repeat(900_000)}`]],
])('%s in HTTP/1.1 is answered with the port of the HTTP API', async (_name, chunks) => {
  const { port, server } = await startServer({ httpPort: 9000 });
  const socket = open(port);
  const answer = text(socket);
  await writeSlowly(socket, chunks);
  const body = 'This port speaks gRPC, over HTTP/2. Send HTTP requests to port 9000.\n';
  expect(await answer).toBe(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${body.length}\r\n` +
      `connection: close\r\n\r\n${body}`,
  );
  await expect.poll(() => server.connectionCount()).toBe(0);
});

test('fetch reads the answer', async () => {
  const { port } = await startServer();
  const response = await fetch(`http://127.0.0.1:${port}/ping`);
  expect([response.status, await response.text()]).toEqual([
    400,
    'This port speaks gRPC, over HTTP/2. Use a gRPC client.\n',
  ]);
});

test('a client of HTTP/2 that sends one byte at a time is served', async () => {
  const { port } = await startServer();
  const socket = open(port);
  const [settings] = await Promise.all([
    once(socket, 'data'),
    writeSlowly(
      socket,
      Array.from(PREFACE, (byte) => Uint8Array.of(byte)),
    ),
  ]);
  expect((settings as [Buffer])[0][3]).toBe(4);
});

test.each(['get / HTTP/1.1\r\n\r\n', '\r\n\r\n', '\u0016\u0003\u0001', 'ABCDEFGHIJKLM'])(
  'other bytes, such as %j, are no HTTP/1.1',
  async (bytes) => {
    const { port } = await startServer();
    const socket = open(port);
    const [first] = (await Promise.all([once(socket, 'data'), writeSlowly(socket, [bytes])]))[0] as [Buffer];
    expect(first.toString('latin1')).not.toContain('HTTP/1.1');
  },
);

test('a client that leaves before its first bytes, or within its method, frees its place', async () => {
  const { port, server } = await startServer({ maxConnections: 1 });
  for (const bytes of ['', 'PO']) {
    const socket = open(port);
    await once(socket, 'connect');
    await writeSlowly(socket, bytes === '' ? [] : [bytes]);
    await expect.poll(() => server.connectionCount()).toBe(1);
    socket.resetAndDestroy();
    await expect.poll(() => server.connectionCount()).toBe(0);
  }
});

test('shutdown closes connections without a first byte', async () => {
  const { port, server } = await startServer();
  const socket = open(port).resume();
  await expect.poll(() => server.connectionCount()).toBe(1);
  await Promise.all([once(socket, 'close'), server.shutdown()]);
});

class FakeStream extends EventEmitter {
  closed = false;
  readonly destroyed = false;
}

class FakeSession extends EventEmitter {
  destroyed = false;
  readonly name: string;
  constructor(name: string) {
    super();
    this.name = name;
  }
  /** Sends calls, whose names are those of the session and a number. */
  send(count: number, headers = 10): readonly FakeStream[] {
    return Array.from({ length: count }, (_, i) => {
      const stream = new FakeStream();
      this.emit('stream', stream, `${this.name}${i}`, 0, Array.from({ length: 2 * headers }));
      return stream;
    });
  }
}

function start(...names: readonly string[]) {
  const listener = new Server();
  const begun: string[] = [];
  const floods: unknown[] = [];
  listener.on('stream', (_stream: unknown, name: string) => begun.push(name));
  const dropped: unknown[] = [];
  beginCalls(listener, {
    onFlood: (session) => {
      floods.push(session);
      Object.assign(session, { destroyed: true });
    },
    onDropped: (session, count) => dropped.push([session, count]),
  });
  const sessions = names.map((name) => new FakeSession(name));
  for (const session of sessions) listener.emit('session', session);
  return { begun, floods, dropped, sessions };
}

test('16 calls begin in each turn, one of each connection at a time', async () => {
  const { begun, sessions } = start('a', 'b');
  for (const session of sessions) session.send(session.name === 'a' ? 30 : 2);
  expect(begun).toEqual([]);
  await nextTurn();
  expect(begun.slice(0, 5)).toEqual(['a0', 'b0', 'a1', 'b1', 'a2']);
  expect(begun).toHaveLength(16);
  await nextTurn();
  expect(begun).toHaveLength(32);
});

test('a cancelled call does not begin, takes no turn, and is counted', async () => {
  const { begun, dropped, sessions } = start('a');
  const [, ...others] = sessions[0]?.send(100) ?? [];
  for (const stream of others.slice(0, -1)) stream.closed = true;
  await nextTurn();
  expect(begun).toEqual(['a0', 'a99']);
  expect(dropped).toEqual([[sessions[0], 98]]);
});

test.each([
  [128, 0],
  [129, 1],
])('%i calls of a connection at once are %i floods', async (count, expected) => {
  const { begun, floods, sessions } = start('a');
  sessions[0]?.send(count);
  expect(floods).toHaveLength(expected);
  await nextTurn();
  expect(begun).toHaveLength(expected === 0 ? 16 : 0);
});

test.each([
  [100, 50, 0],
  [100, 51, 1],
])('%i calls of %i headers at once are %i floods', (count, headers, expected) => {
  const { floods, sessions } = start('a');
  sessions[0]?.send(count, headers);
  expect(floods.length).toBe(expected);
});

test('the headers of calls that have begun do not count', async () => {
  const { begun, floods, sessions } = start('a');
  for (let i = 0; i < 10; i += 1) {
    sessions[0]?.send(16, 120);
    await nextTurn();
  }
  expect(begun).toHaveLength(160);
  expect(floods).toEqual([]);
});

test('a stream that fails before its call begins throws nothing', () => {
  const { sessions } = start('a');
  const [waiting] = sessions[0]?.send(1) ?? [];
  Object.assign(sessions[0] ?? {}, { destroyed: true });
  const [late] = sessions[0]?.send(1) ?? [];
  for (const stream of [waiting, late]) expect(() => stream?.emit('error', new Error('reset'))).not.toThrow();
});
