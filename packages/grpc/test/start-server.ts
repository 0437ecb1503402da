import { once } from 'node:events';
import http2 from 'node:http2';
import { connect } from 'node:net';
import { createMemoryStore, type Engine } from '@svc/frames';
import { FrameServiceDefinition, type PutFrameTarget } from '@svc/proto';
import { createService, type EngineName, type EventOf, type Service, type ServiceEvent } from '@svc/service';
import { type Table, tableFromIPC, tableToIPC } from 'apache-arrow';
import { type Channel, ClientError, createChannel, createClient, Metadata } from 'nice-grpc';
import { onTestFinished } from 'vitest';
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from '../src/index.ts';

/** A running server with a client and the events of its service. */
export interface TestServer {
  readonly server: GrpcServer;
  readonly service: Service;
  readonly port: number;
  readonly channel: Channel;
  readonly client: ReturnType<typeof createFrameClient>;
  readonly events: ServiceEvent[];
  /** The events of answered calls, newest last. */
  readonly answered: () => EventOf<'request_answered'>[];
}

type Overrides = Partial<Service> &
  Omit<GrpcServerOptions, 'service'> & {
    readonly engine?: Engine;
    /** Default `local`. */
    readonly engineName?: EngineName;
    /** Takes what ends the server. Default: it ends with the test. */
    readonly onEnd?: (end: () => Promise<void>) => void;
  };

/** Starts a server on a free port. */
export async function startServer({
  maxConnections,
  maxMessageBytes,
  idleTimeoutMs,
  connectionIdleMs,
  firstCallMs,
  httpPort,
  engine,
  engineName,
  onEnd = onTestFinished,
  ...overrides
}: Overrides = {}): Promise<TestServer> {
  const events: ServiceEvent[] = [];
  const taken = engine === undefined ? takeService(events) : createTestService(events, engine, engineName);
  const service = { ...taken.service, ...overrides };
  const server = createGrpcServer({
    service,
    ...(maxConnections === undefined ? {} : { maxConnections }),
    ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
    ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }),
    ...(connectionIdleMs === undefined ? {} : { connectionIdleMs }),
    ...(firstCallMs === undefined ? {} : { firstCallMs }),
    ...(httpPort === undefined ? {} : { httpPort }),
  });
  const port = await server.listen('127.0.0.1', 0);
  const channel = createChannel(`127.0.0.1:${port}`);
  onEnd(async () => {
    channel.close();
    await server.shutdown({ signal: AbortSignal.abort() });
    await (engine === undefined ? returnService(taken) : taken.service.close());
  });
  return {
    server,
    service,
    port,
    channel,
    client: createFrameClient(channel),
    events,
    answered: () => events.filter((event) => event.kind === 'request_answered'),
  };
}

/** A service, and where its events go. */
interface TestService {
  readonly service: Service;
  events: ServiceEvent[];
}

function createTestService(events: ServiceEvent[], engine?: Engine, engineName: EngineName = 'local'): TestService {
  const service = createService({
    store: createMemoryStore(),
    ...(engine && { engines: { [engineName]: engine } }),
    observe: (event) => void created.events.push(event),
  });
  const created: TestService = { service, events };
  return created;
}

/** Services of ended tests, without frames. To start the thread of a new decoder takes longer than most tests. */
const idle: TestService[] = [];

function takeService(events: ServiceEvent[]): TestService {
  const taken = idle.pop();
  if (taken === undefined) return createTestService(events);
  taken.events = events;
  return taken;
}

async function returnService(taken: TestService): Promise<void> {
  const call = { tenant: 'default', requestId: 'end-of-test', signal: new AbortController().signal };
  taken.events = [];
  if ((await taken.service.health()).status === 'stopping') return taken.service.close();
  for (const { handle } of await taken.service.listFrames(call)) await taken.service.dropFrame(call, handle);
  idle.push(taken);
}

/** A client of the frame service. */
export function createFrameClient(channel: Channel) {
  return createClient(FrameServiceDefinition, channel);
}

/** The messages of an upload, in chunks of the given size. */
export async function* upload(target: Partial<PutFrameTarget>, bytes: Uint8Array, chunkSize = 1 << 20) {
  yield { target };
  for (let start = 0; start < bytes.length; start += chunkSize)
    yield { chunk: bytes.subarray(start, start + chunkSize) };
}

/** A promise with its `resolve`. */
export function deferred() {
  const resolvers: (() => void)[] = [];
  const promise = new Promise<void>((resolve) => resolvers.push(resolve));
  return { promise, resolve: () => resolvers.forEach((resolve) => resolve()) };
}

/** All items of a stream. */
export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

/** Puts a table under a handle. */
export function putTable(client: TestServer['client'], handle: string, table: Table) {
  return client.putFrame(upload({ handle }, tableToIPC(table, 'stream')));
}

/** Reads a frame: its metadata, the table, and the received chunks. */
export async function getTable(client: TestServer['client'], request: Parameters<TestServer['client']['getFrame']>[0]) {
  const [first, ...rest] = await collect(client.getFrame(request));
  const chunks = rest.map(({ chunk }) => chunk ?? new Uint8Array(0));
  return { frame: first?.frame, chunks, table: tableFromIPC(Buffer.concat(chunks)) };
}

/** Returns the status, text and trailing metadata of a call that must fail. */
export async function failureOf(call: (options: { onTrailer: (trailer: Metadata) => void }) => Promise<unknown>) {
  let trailer = Metadata();
  try {
    await call({ onTrailer: (received) => (trailer = received) });
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    return {
      code: error.code,
      details: error.details,
      errorCode: trailer.get('svc-error-code'),
      hint: trailer.get('svc-error-hint'),
      requestId: trailer.get('x-request-id'),
    };
  }
  throw new Error('The call succeeded.');
}

/** The first bytes of a client of HTTP/2. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** An HTTP/2 connection without a gRPC library. */
export async function connectRaw(port: number, socket = connect(port, '127.0.0.1')): Promise<http2.ClientHttp2Session> {
  socket.on('error', () => undefined);
  const session = http2.connect(`http://127.0.0.1:${port}`, { createConnection: () => socket });
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  await once(session, 'connect');
  return session;
}

/** A gRPC message with its length prefix. */
export function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
