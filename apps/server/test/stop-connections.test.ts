// Clients that do nothing, or stop half-way, do not block the shutdown.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { FrameServiceDefinition, GetFrameRequest, ListFramesRequest, PutFrameRequest } from '@svc/proto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { countTrailers, grpcHeaders, grpcMessage, PREFACE, SETTINGS } from './http2-frames.ts';
import { type ServerProcess, startProcess } from './server-process.ts';

const SPOKEN = Buffer.concat([PREFACE, SETTINGS]);
const GRACE_MS = 300;
/** Longer than a test may take. */
const LONG_MS = 600_000;
const MANY_ROWS = 100_000;

/** A server with one frame that no flow-control window holds as a whole. */
async function start(graceMs: number): Promise<ServerProcess> {
  const server = await startProcess({ env: { SERVICE_SERVER_SHUTDOWN_GRACE_MS: String(graceMs) } });
  const body = `id\n${Array.from({ length: MANY_ROWS }, (_, id) => id).join('\n')}\n`;
  await server.fetch('/frames/many', { method: 'PUT', body, headers: { 'content-type': 'text/csv' } });
  return server;
}

interface Client {
  /** Sent at once. */
  readonly sends?: string | Uint8Array;
  /** Then sends FIN, and continues to receive. */
  readonly halfCloses?: boolean;
  /** The part of the response that the client reads before it stops. */
  readonly awaits?: string | ((received: Buffer) => boolean);
}

/** A client that never closes its connection, whatever the server does. */
async function open(port: number, { sends = '', halfCloses = false, awaits }: Client): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  if (sends.length > 0) socket.write(sends);
  if (halfCloses) socket.end();
  const hasAll = typeof awaits === 'string' ? (received: Buffer) => received.includes(awaits) : awaits;
  if (hasAll !== undefined) {
    let received = Buffer.alloc(0);
    for await (const data of socket.iterator({ destroyOnReturn: false })) {
      received = Buffer.concat([received, data]);
      if (hasAll(received)) break;
    }
  }
  socket.pause();
}

const grpcPort = ({ grpcAddress }: ServerProcess): number => Number(grpcAddress.split(':').at(-1));

/** How the process ended after SIGTERM, and what it logged from then on. */
async function stop(server: ServerProcess): Promise<{ code: number | null; log: readonly string[] }> {
  const { length } = server.log;
  server.child.kill('SIGTERM');
  const { code } = await server.exited;
  return { code, log: server.log.slice(length).map(({ message }) => message) };
}

/** A process that waits for its grace period, or has not exited two seconds after it, logs more. */
const STOPPED = { code: 0, log: ['stopping', 'stopped'] };

const call = (method: string, message?: Uint8Array, isLast = true): Buffer =>
  Buffer.concat([
    SPOKEN,
    grpcHeaders(`/${FrameServiceDefinition.fullName}/${method}`),
    ...(message === undefined ? [] : [grpcMessage(message, { isLast })]),
  ]);
const LIST = ListFramesRequest.encode(ListFramesRequest.fromPartial({})).finish();
const GET = GetFrameRequest.encode(GetFrameRequest.fromPartial({ handle: 'many' })).finish();
const PUT = PutFrameRequest.encode(PutFrameRequest.fromPartial({ target: { handle: 'half' } })).finish();

type Clients = Readonly<Record<string, Client>>;

/** Opens a connection for each client, and stops the server; resolves to how the process ended. */
async function stopWith(server: ServerProcess, { http, grpc }: { readonly http?: Clients; readonly grpc?: Clients }) {
  for (const client of Object.values(http ?? {})) await open(server.port, client);
  for (const client of Object.values(grpc ?? {})) await open(grpcPort(server), client);
  // A call ends on the server a moment after its trailers have left.
  await server.fetch('/ping');
  return stop(server);
}

describe('shutdown does not wait for the grace period if the only connections are ones that', () => {
  const http: Clients = {
    'never sent a byte': {},
    'sent FIN and nothing else': { halfCloses: true },
    'are between two requests': { sends: 'GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n', awaits: 'ok' },
  };
  const grpc: Clients = {
    'never sent a byte': {},
    'sent FIN and nothing else': { halfCloses: true },
    'sent a part of the preface': { sends: PREFACE.subarray(0, 10) },
    'sent the preface alone': { sends: PREFACE },
    'sent preface and settings': { sends: SPOKEN },
    'sent preface and settings, and FIN': { sends: SPOKEN, halfCloses: true },
    'are between two calls': { sends: call('ListFrames', LIST), awaits: (bytes: Buffer) => countTrailers(bytes) > 0 },
    'speak HTTP/1': { sends: 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n' },
  };

  test.each([
    ['HTTP', Object.keys(http), { http }],
    ['gRPC', Object.keys(grpc), { grpc }],
  ])('on %s %j', { tags: ['slow'] }, async (_front, _names, clients) => {
    const server = await start(LONG_MS);
    expect(await stopWith(server, clients)).toEqual(STOPPED);
  });
});

describe('two seconds after the grace period the process has exited, even if clients', () => {
  const UPLOAD =
    'PUT /frames/half HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: 100\r\n\r\n';
  const READ = 'GET /exec?engine=local&query=from+range(3000000)&fmt=json HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const http: Clients = {
    'sent a part of a request line': { sends: 'GET /pi' },
    'sent a part of a head': { sends: 'GET /ping HTTP/1.1\r\nHost: localhost\r\n' },
    'sent a part of a head, and FIN': { sends: 'GET /ping HTTP/1.1\r\nHost:', halfCloses: true },
    'sent a head without its body': { sends: UPLOAD },
    'sent a part of a body': { sends: `${UPLOAD}id\n1\n` },
    'stopped reading their answer': { sends: READ, awaits: 'HTTP/1.1 200' },
  };
  const grpc: Clients = {
    'sent the headers of a call alone': { sends: call('ListFrames') },
    'sent the headers of an upload alone': { sends: call('PutFrame') },
    'sent a part of an upload': { sends: call('PutFrame', PUT, false) },
    'sent a part of an upload, and FIN': { sends: call('PutFrame', PUT, false), halfCloses: true },
    'stopped reading their answer': { sends: call('GetFrame', GET), awaits: 'many' },
  };

  test.each([
    ['HTTP', Object.keys(http), { http }],
    ['gRPC', Object.keys(grpc), { grpc }],
  ])('on %s %j', { tags: ['slow'] }, async (front, _names, clients) => {
    const server = await start(GRACE_MS);
    const cancelled = `Requests still in flight after the grace period are cancelled: ${front}.`;
    expect(await stopWith(server, clients)).toEqual({ code: 0, log: ['stopping', cancelled, 'stopped'] });
  });
});

describe('a shutdown that hangs', () => {
  test(
    'exits two seconds after the grace period, and names what keeps the process alive',
    { tags: ['slow'] },
    async () => {
      const preload = 'data:text/javascript,setInterval(() => undefined, 1000)';
      const server = await startProcess({
        // Longer than it takes to close the store on a busy machine.
        env: { SERVICE_SERVER_SHUTDOWN_GRACE_MS: '3000', NODE_OPTIONS: `--import "${preload}"` },
      });
      const late = 'Shutdown is late: exiting without waiting for ';
      expect(await stop(server)).toEqual({ code: 0, log: ['stopping', 'stopped', expect.stringContaining(late)] });
      expect(server.log.at(-1)).toMatchObject({
        level: 'error',
        message: expect.stringContaining('Timeout'),
        deadlineMs: expect.toSatisfy((ms: number) => ms <= 5000, 'at most two seconds after the grace period'),
      });
    },
  );

  test('does not wait for engine children that do not respond', { tags: ['slow'] }, async () => {
    const server = await start(LONG_MS);
    expect((await server.fetch('/exec?query=select 1&engine=local&fmt=json')).status).toBe(200);
    const children = readFileSync(`/proc/${server.child.pid}/task/${server.child.pid}/children`, 'utf8').trim();
    // One for files and one for SQL.
    expect(children.split(' ').length).toBeGreaterThan(1);
    for (const pid of children.split(' ')) process.kill(Number(pid), 'SIGSTOP');
    expect(await stop(server)).toEqual(STOPPED);
  });
});
