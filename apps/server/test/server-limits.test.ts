import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { flight, FrameServiceDefinition } from '@svc/proto';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { createChannel, createClient } from 'nice-grpc';
import { pathOf } from './flight-client.ts';
import { type ServerProcess, startProcess } from './server-process.ts';
import { upload } from './ways-in/flight-messages.ts';
import { drain } from './ways-in/way.ts';

let server: ServerProcess;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  server = await startProcess({
    env: {
      SERVICE_HTTP_MAX_CONNECTIONS: '8',
      SERVICE_HTTP_MAX_IN_FLIGHT: '2',
      SERVICE_HTTP_IDLE_TIMEOUT_MS: '1000',
      SERVICE_HTTP_MIN_BODY_BYTES_PER_SECOND: '1000',
    },
    onEnd: (end) => void ends.push(end),
  });
});

afterAll(async () => {
  for (const end of ends) await end();
});

interface Client {
  readonly socket: Socket;
  /** What the server has sent. */
  readonly received: () => string;
  readonly closed: Promise<unknown>;
}

async function connected(): Promise<Client> {
  const socket = connect(server.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  return { socket, received: () => received, closed };
}

const CLOSE = { headers: { connection: 'close' } };
const head = (line: string, ...headers: readonly string[]): string =>
  [line, 'host: localhost', ...headers, '', ''].join('\r\n');
const put = (handle: string, length: number): string =>
  head(`PUT /frames/${handle}?fmt=csv HTTP/1.1`, `content-length: ${length}`);

/** Sends some bytes ten times a second, until the connection closes or `count` were sent. */
async function drip({ socket, closed }: Client, text: string, count: number): Promise<void> {
  let sent = 0;
  const done = new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (sent++ < count && socket.writable) return void socket.write(text);
      clearInterval(timer);
      return resolve();
    }, 100);
  });
  await Promise.race([done, closed]);
}

describe('http.max_connections', () => {
  test('a further one takes the place of the oldest one without a request', async () => {
    const clients: Client[] = [];
    for (let i = 0; i < 8; i += 1) clients.push(await connected());
    expect((await server.fetch('/ping', CLOSE)).status).toBe(200);
    await clients[0]?.closed;
    expect(clients[0]?.received()).toBe('');
    for (const { socket } of clients) socket.destroy();
  });
});

describe('http.max_in_flight', () => {
  test('one more is 429 with Retry-After, and passes when another has ended; probes always pass', async () => {
    const uploads = [await connected(), await connected()];
    uploads.forEach(({ socket }, i) => socket.write(`${put(`held-${i}`, 100_000)}id\n`));
    await expect.poll(async () => (await server.fetch('/frames', CLOSE)).status).toBe(429);
    const refused = await server.fetch('/frames', CLOSE);
    expect([refused.headers.get('retry-after'), await refused.json()]).toMatchObject([
      '1',
      { code: 'too_many_requests', error: 'The server already has 2 requests in flight (http.max_in_flight).' },
    ]);
    for (const path of ['/ping', '/ready', '/livez', '/health'])
      expect((await server.fetch(path, CLOSE)).status).toBe(200);
    uploads[0]?.socket.destroy();
    await expect.poll(async () => (await server.fetch('/frames', CLOSE)).status).toBe(200);
  });
});

describe('http.min_body_bytes_per_second', () => {
  test('a body that arrives more slowly is cut off, and leaves nothing', async () => {
    const client = await connected();
    client.socket.write(`${put('slow', 100_000)}id\n`);
    await drip(client, '1\n', 600);
    await client.closed;
    expect(client.received()).toBe('');
    expect((await server.fetch('/frames/slow', CLOSE)).status).toBe(404);
  });

  test('a body that arrives fast enough may take any time', { tags: ['slow'] }, async () => {
    const client = await connected();
    const line = '1\n'.repeat(200);
    client.socket.write(`${put('steady', 3 + 30 * line.length)}id\n`);
    await drip(client, line, 30);
    await expect.poll(() => client.received()).toMatch(/^HTTP\/1\.1 201 /);
  });

  /** Yields messages ten times a second. */
  async function* dripped<T>(messages: readonly T[]): AsyncGenerator<T> {
    for (const message of messages) {
      yield message;
      await delay(100);
    }
  }

  function openChannel() {
    const channel = createChannel(server.grpcAddress);
    onTestFinished(() => channel.close());
    return channel;
  }

  const arrow = tableToIPC(tableFromArrays({ id: new Int32Array(4000) }), 'stream');
  const chunksOf = (bytes: number) =>
    Array.from({ length: Math.ceil(arrow.length / bytes) }, (_, i) => ({
      chunk: arrow.subarray(i * bytes, (i + 1) * bytes),
    }));
  const TOO_SLOW = 'DEADLINE_EXCEEDED: The client sent its upload more slowly than 1000 bytes per second.';

  test('an upload to FrameService that arrives more slowly ends, and leaves nothing', { tags: ['slow'] }, async () => {
    const client = createClient(FrameServiceDefinition, openChannel());
    const messages = dripped([{ target: { handle: 'slow' } }, ...chunksOf(20)]);
    await expect(client.putFrame(messages)).rejects.toThrow(TOO_SLOW);
    expect((await server.fetch('/frames/slow', CLOSE)).status).toBe(404);
  });

  test('an upload of Flight that arrives more slowly ends, and leaves nothing', { tags: ['slow'] }, async () => {
    const client = createClient(flight.FlightServiceDefinition, openChannel());
    const first = await upload(pathOf('slow')).next();
    // Messages without rows are valid, and never end.
    const others = Array.from({ length: 600 }, () => ({ appMetadata: Buffer.from('x') }));
    const messages = dripped([...(first.done === true ? [] : [first.value]), ...others]);
    await expect(drain(client.doPut(messages))).rejects.toThrow(TOO_SLOW);
    expect((await server.fetch('/frames/slow', CLOSE)).status).toBe(404);
  });

  test('an upload that arrives fast enough may take any time', { tags: ['slow'] }, async () => {
    const client = createClient(FrameServiceDefinition, openChannel());
    const messages = dripped([{ target: { handle: 'steady-upload' } }, ...chunksOf(500)]);
    expect((await client.putFrame(messages)).frame?.rows).toBe(4000n);
  });
});
