import { constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { FrameServiceDefinition, HealthDefinition } from '@svc/proto';
import { ChannelCredentials, createChannel, createClient, Metadata } from 'nice-grpc';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { createCaller } from './callers.ts';
import { goawayCode, grpcHeaders, grpcMessage, PING, PREFACE, rstStream, SETTINGS } from './http2-frames.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';
import { fetchTls } from './tls-client.ts';

const authority = await createTestAuthority();
const { cert, key } = await authority.issue(['localhost', '127.0.0.1']);
const caller = createCaller('alpha', ['read']);
const TLS = { SERVICE_TLS_CERT_FILE: testFile('cert.pem', cert), SERVICE_TLS_KEY_FILE: testFile('key.pem', key) };

const WATCH = `/${HealthDefinition.fullName}/Watch`;
const NOTHING = new Uint8Array(0);
const LAST = { isLast: true };

function start(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const callersFile = testFile('callers.toml', caller.row);
  const required = { SERVICE_AUTH_MODE: 'required', SERVICE_AUTH_CALLERS_FILE: callersFile };
  const onEnd = (end: () => Promise<void>) => void ends.push(end);
  return startProcess({ env: { ...required, SERVICE_HTTP_MAX_CONNECTIONS: '100', ...env }, onEnd });
}

const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

const portsOf = (server: ServerProcess) => ({ http: server.port, grpc: Number(server.grpcAddress.split(':')[1]) });

/** Opens connections that send these bytes and nothing more. */
async function openSockets(port: number, count: number, bytes: string | Uint8Array): Promise<readonly Socket[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined).resume();
      await new Promise<void>((resolve) => void socket.once('connect', () => resolve()));
      if (bytes.length > 0) socket.write(bytes);
      return socket;
    }),
  );
}

const isClosed = (socket: Socket) => socket.destroyed || socket.readableEnded;

/** Lists the frames of the caller, over a new connection. */
async function listFrames(server: ServerProcess, credentials = ChannelCredentials.createInsecure()) {
  const channel = createChannel(server.grpcAddress, credentials);
  onTestFinished(() => channel.close());
  const metadata = Metadata({ authorization: `Bearer ${caller.token}` });
  return (await createClient(FrameServiceDefinition, channel).listFrames({}, { metadata })).frames;
}

describe('more idle clients without credentials than there are slots', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await start();
  });

  test.each([
    ['that send nothing', ''],
    ['that only greet', Buffer.concat([PREFACE, SETTINGS])],
    ['that watch the health', Buffer.concat([PREFACE, SETTINGS, grpcHeaders(WATCH), grpcMessage(NOTHING, LAST)])],
  ])('%s leave gRPC to others', async (_what, bytes) => {
    await openSockets(portsOf(server).grpc, 150, bytes);
    expect(await listFrames(server)).toEqual([]);
  });

  test.each([
    ['that send nothing', ''],
    ['that send a part of a head', 'GET /frames HTTP/1.1\r\n'],
    ['that keep a used connection open', 'GET /ping HTTP/1.1\r\nhost: localhost\r\n\r\n'],
  ])('%s leave HTTP to others', async (_what, bytes) => {
    await openSockets(server.port, 150, bytes);
    const response = await server.fetch('/frames', { headers: { authorization: `Bearer ${caller.token}` } });
    expect(response.status).toBe(200);
  });

  test('that do not complete the TLS handshake leave both listeners to others', async () => {
    const withTls = await start(TLS);
    const { http, grpc } = portsOf(withTls);
    await Promise.all([openSockets(http, 150, ''), openSockets(grpc, 150, '')]);
    expect(await listFrames(withTls, ChannelCredentials.createSsl(Buffer.from(authority.cert)))).toEqual([]);
    expect((await fetchTls(withTls, '/ping', { ca: authority.cert })).status).toBe(200);
  });
});

describe('refused calls', () => {
  const LIST = `/${FrameServiceDefinition.fullName}/ListFrames`;
  const FLOOD = Array.from({ length: 100 }, (_, i) => grpcHeaders(LIST, 2 * i + 1));

  test('100 on one connection close it with GOAWAY, and leave few lines with their count', async () => {
    const server = await start();
    const [socket] = await openSockets(portsOf(server).grpc, 1, Buffer.concat([PREFACE, SETTINGS, ...FLOOD]));
    const chunks: Buffer[] = [];
    socket?.on('data', (data: Buffer) => void chunks.push(data));
    await expect.poll(() => socket !== undefined && isClosed(socket), { timeout: 20_000 }).toBe(true);
    expect(goawayCode(Buffer.concat(chunks))).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    for (const message of ['caller_refused', 'audit']) {
      const lines = () => server.log.filter((line) => line.message === message);
      const counted = () => lines().reduce((sum, line) => sum + Number(line['count'] ?? 1), 0);
      await expect.poll(counted, { timeout: 20_000 }).toBe(100);
      expect(lines().length).toBeLessThan(10);
      expect(lines().every((line) => line['client'] === '127.0.0.1')).toBe(true);
    }
    expect(await listFrames(server)).toEqual([]);
  });

  test('that are cancelled before they begin count, too: 100 on one connection close it', async () => {
    const server = await start();
    const [socket] = await openSockets(portsOf(server).grpc, 1, Buffer.concat([PREFACE, SETTINGS]));
    if (socket === undefined) throw new Error('There is no socket.');
    const chunks: Buffer[] = [];
    socket.on('data', (data: Buffer) => void chunks.push(data));
    // A few at a time: the server cuts off a client that sends more than 128 at once.
    for (let i = 0; i < 20 && !isClosed(socket); i += 1) {
      const streams = Array.from({ length: 20 }, (_, j) => 2 * (20 * i + j) + 1);
      const answered = new Promise<void>((resolve) => {
        socket.once('data', () => resolve());
        socket.once('close', () => resolve());
      });
      socket.write(
        Buffer.concat([...streams.flatMap((stream) => [grpcHeaders(LIST, stream), rstStream(stream)]), PING]),
      );
      await answered;
    }
    await expect.poll(() => isClosed(socket), { timeout: 5000 }).toBe(true);
    expect(goawayCode(Buffer.concat(chunks))).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(server.log.filter((line) => line.message === 'caller_refused').length).toBeLessThan(10);
    expect(await listFrames(server)).toEqual([]);
  });

  test('over HTTP are counted in the audit up to the last one before a stop', async () => {
    const server = await start();
    for (let i = 0; i < 30; i += 1) expect((await server.fetch('/frames')).status).toBe(401);
    server.child.kill('SIGTERM');
    await server.exited;
    const lines = server.log.filter((line) => line.message === 'audit');
    expect(lines.map((line) => Number(line['count'] ?? 1)).reduce((sum, count) => sum + count, 0)).toBe(30);
  });
});

describe('server.first_request_timeout_ms', () => {
  const SOON = { SERVICE_SERVER_FIRST_REQUEST_TIMEOUT_MS: '2000' };

  test('closes new connections on both listeners, answers a part of a head, and keeps those with a call', async () => {
    const server = await start(SOON);
    const { http, grpc } = portsOf(server);
    const channel = createChannel(server.grpcAddress);
    onTestFinished(() => channel.close());
    const client = createClient(FrameServiceDefinition, channel);
    const metadata = Metadata({ authorization: `Bearer ${caller.token}` });
    await client.listFrames({}, { metadata });
    const silent = await Promise.all([openSockets(http, 3, ''), openSockets(grpc, 3, PREFACE)]);
    const [late] = await openSockets(http, 1, 'GET /frames HTTP/1.1\r\n');
    let answer = '';
    late?.on('data', (data) => (answer += String(data)));
    await expect.poll(() => silent.flat().every(isClosed), { timeout: 20_000 }).toBe(true);
    await expect.poll(() => answer, { timeout: 20_000 }).toContain('did not arrive in time');
    expect((await client.listFrames({}, { metadata })).frames).toEqual([]);
  });

  test('closes pending TLS handshakes', { tags: ['slow'] }, async () => {
    const server = await start({ ...TLS, ...SOON });
    const { http, grpc } = portsOf(server);
    const silent = await Promise.all([openSockets(http, 3, ''), openSockets(grpc, 3, '')]);
    await expect.poll(() => silent.flat().every(isClosed), { timeout: 20_000 }).toBe(true);
  });
});
