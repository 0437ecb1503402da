import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { FrameServiceDefinition, HealthDefinition } from '@svc/proto';
import { createClient } from 'nice-grpc';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectRaw, PREFACE, startServer } from '../test/start-server.ts';

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
