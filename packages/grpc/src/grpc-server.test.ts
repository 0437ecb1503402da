import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { status as Status } from '@grpc/grpc-js';
import { HealthCheckResponseServingStatus as ServingStatus, HealthDefinition } from '@svc/proto';
import { tableFromArrays } from 'apache-arrow';
import { ChannelCredentials, ClientError, createChannel, createClient } from 'nice-grpc';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import {
  connectRaw,
  createFrameClient,
  deferred,
  failureOf,
  PREFACE,
  putTable,
  startServer,
} from '../test/start-server.ts';
import { createGrpcServer } from './index.ts';
import { openPort } from './open-port.ts';

const authority = await createTestAuthority();
const { cert, key } = await authority.issue(['localhost']);

const table = tableFromArrays({ id: Int32Array.of(1) });
const CALL = { requestId: 'r', signal: new AbortController().signal };

async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.resume();
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Whether the server responds on a connection instead of closing it. */
async function isServed(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(PREFACE);
  const served = await Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
  socket.destroy();
  return served;
}

/** A server with a DescribeFrame that ends on demand, or when its signal aborts. */
async function startBusyServer(options: Parameters<typeof startServer>[0] = {}) {
  const begun = deferred();
  const finish = deferred();
  const handled = vi.fn<() => void>();
  const server = await startServer({
    ...options,
    async describeFrame(call) {
      begun.resolve();
      await Promise.race([finish.promise, once(call.signal, 'abort')]);
      await new Promise((resolve) => setImmediate(resolve));
      handled();
      call.signal.throwIfAborted();
      return frame;
    },
  });
  await putTable(server.client, 'h', table);
  const reading = await server.service.readFrame({ ...CALL, tenant: 'default' }, 'h');
  reading.close();
  const frame = reading.info;
  return { ...server, begun: begun.promise, finish: finish.resolve, handled };
}

test('a connection without a call is closed after a while, and the client connects again for its next one', async () => {
  const server = await startServer({ connectionIdleMs: 100, maxConnections: 2 });
  await putTable(server.client, 'before', table);
  const idle = await connectRaw(server.port);
  await once(idle, 'close');
  await putTable(server.client, 'after', table);
  expect(await server.service.listFrames({ ...CALL, tenant: 'default' })).toHaveLength(2);
});

describe('max connections', () => {
  test('a further client takes the place of the oldest connection without a call', async () => {
    const server = await startServer({ maxConnections: 3 });
    await putTable(server.client, 'before', table);
    const others = [await connectRaw(server.port), await connectRaw(server.port)];
    expect(await isServed(server.port)).toBe(true);
    await expect.poll(() => others.map((other) => other.destroyed)).toEqual([true, false]);
    expect((await server.client.listFrames({})).frames).toHaveLength(1);
  });

  test('a further client is refused if all others have calls, and disturbs none', async () => {
    const { port, client, begun, finish } = await startBusyServer({ maxConnections: 1 });
    const call = client.describeFrame({ handle: 'h' });
    await begun;
    for (let attempt = 0; attempt < 5; attempt++) expect(await isServed(port)).toBe(false);
    finish();
    expect((await call).frame?.handle).toBe('h');
  });

  test('a further client is refused if all others have made a call, and disturbs none', async () => {
    const server = await startServer({ maxConnections: 1 });
    await server.client.listFrames({});
    expect(await isServed(server.port)).toBe(false);
    expect((await server.client.listFrames({})).frames).toEqual([]);
  });

  test('applies to this server only', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    await startServer({ maxConnections: 1 });
    expect(other.maxConnections).toBeUndefined();
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const sockets = [await connectTo(port), await connectTo(port)];
    expect(sockets.map((socket) => socket.destroyed)).toEqual([false, false]);
    for (const socket of sockets) socket.destroy();
  });
});

describe('listen', () => {
  test('fails with the error code of the system if the port is taken', async () => {
    const { service, port } = await startServer();
    const second = createGrpcServer({ service });
    await expect(second.listen('127.0.0.1', port)).rejects.toMatchObject({ code: 'EADDRINUSE', port });
  });

  test.each([
    ['192.0.2.1', 'EADDRNOTAVAIL'],
    ['host.invalid', expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/)],
  ])('on %s fails with the error code of the system', async (host, code) => {
    const { service } = await startServer();
    await expect(createGrpcServer({ service }).listen(host, 0)).rejects.toMatchObject({ code });
  });

  test.each([
    ['plain', undefined, () => ChannelCredentials.createInsecure()],
    ['TLS', { cert, key }, () => ChannelCredentials.createSsl(Buffer.from(authority.cert))],
  ])('a call over %s to an open port waits for the server', async (_name, tls, credentials) => {
    const opened = await openPort('localhost', 0);
    const channel = createChannel(`localhost:${opened.port}`, credentials());
    onTestFinished(() => channel.close());
    const listed = createFrameClient(channel).listFrames({});
    const early = await connectTo(opened.port);
    const { service } = await startServer();
    const server = createGrpcServer({ service, ...(tls && { tls }) });
    await server.listenOn(opened);
    expect((await listed).frames).toEqual([]);
    // A port that is taken over is the server's.
    await opened.close();
    expect((await createFrameClient(channel).listFrames({})).frames).toEqual([]);
    await server.shutdown({ signal: AbortSignal.abort() });
    await expect.poll(() => early.destroyed).toBe(true);
  });

  test('an open port that no server takes over disconnects its clients when it closes', async () => {
    const opened = await openPort('127.0.0.1', 0);
    const waiting = await connectTo(opened.port);
    await opened.close();
    await expect.poll(() => waiting.destroyed).toBe(true);
    await expect(once(connect(opened.port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('accepts a host name', async () => {
    const { service } = await startServer();
    const server = createGrpcServer({ service });
    const port = await server.listen('localhost', 0);
    await once(connect(port, 'localhost'), 'connect');
    await server.shutdown({ signal: AbortSignal.abort() });
  });
});

describe('shutdown', () => {
  test('lets a running call finish', async () => {
    const { client, server, begun, finish } = await startBusyServer();
    const call = client.describeFrame({ handle: 'h' });
    await begun;
    const stopped = server.shutdown({ signal: AbortSignal.timeout(10_000) });
    finish();
    expect((await call).frame?.handle).toBe('h');
    await stopped;
  });

  test('accepts no more calls and connections', async () => {
    const { server, client, port } = await startServer();
    await client.listFrames({});
    await server.shutdown();
    await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await failureOf((options) => client.listFrames({}, options))).toMatchObject({ code: Status.UNAVAILABLE });
  });

  test('ends running calls with UNAVAILABLE when the signal aborts, and waits for their handlers', async () => {
    const { client, server, begun, handled, answered } = await startBusyServer();
    const failure = failureOf((options) => client.describeFrame({ handle: 'h' }, options));
    await begun;
    const grace = new AbortController();
    const stopped = server.shutdown({ signal: grace.signal });
    expect(handled).not.toHaveBeenCalled();
    grace.abort();
    await stopped;
    expect(handled).toHaveBeenCalledOnce();
    expect(await failure).toMatchObject({
      code: Status.UNAVAILABLE,
      errorCode: 'unavailable',
      details: 'The server is stopping.',
    });
    expect(answered().at(-1)).toMatchObject({ status: 'UNAVAILABLE' });
  });

  test('ends an upload that has stalled', async () => {
    const { client, server, answered } = await startServer();
    const sent = deferred();
    async function* silent() {
      yield { target: { handle: 'h' } };
      sent.resolve();
      await new Promise(() => {});
    }
    const failure = failureOf((options) => client.putFrame(silent(), options));
    await sent.promise;
    await client.listFrames({});
    await server.shutdown({ signal: AbortSignal.abort() });
    expect(await failure).toMatchObject({ code: Status.UNAVAILABLE, errorCode: 'unavailable' });
    expect(answered().map(({ status }) => status)).toEqual(['OK', 'UNAVAILABLE']);
  });

  test('disconnects a client that does not read', { tags: ['slow'] }, async () => {
    const server = await startServer();
    await putTable(server.client, 'big', tableFromArrays({ x: new Float64Array(4 * 1024 * 1024) }));
    const answer = server.client.getFrame({ handle: 'big' })[Symbol.asyncIterator]();
    await answer.next();
    await server.server.shutdown({ signal: AbortSignal.abort() });
    await expect(
      (async () => {
        while ((await answer.next()).done !== true);
      })(),
    ).rejects.toThrow(ClientError);
  });

  test('abandons a handler that ignores its signal', { tags: ['slow'] }, async () => {
    const begun = deferred();
    const server = await startServer({
      describeFrame() {
        begun.resolve();
        return new Promise(() => {});
      },
    });
    const failure = failureOf((options) => server.client.describeFrame({ handle: 'h' }, options));
    await begun.promise;
    await server.server.shutdown({ signal: AbortSignal.abort() });
    expect((await failure).code).not.toBe(Status.OK);
  });

  test('does not wait for connections without calls', async () => {
    const { server, port } = await startServer();
    const idle = await connectRaw(port);
    await server.shutdown();
    await expect.poll(() => idle.closed || idle.destroyed).toBe(true);
  });

  test.each(['before', 'after'])(
    'keeps no timer when its signal aborts %s everything has stopped',
    { tags: ['slow'] },
    async (moment) => {
      const built = JSON.stringify(new URL('../dist/index.js', import.meta.url).href);
      const script = `
      import { createMemoryStore } from '@svc/frames';
      import { createService } from '@svc/service';
      import { createGrpcServer } from ${built};
      const server = createGrpcServer({ service: createService({ store: createMemoryStore() }) });
      await server.listen('127.0.0.1', 0);
      const grace = new AbortController();
      if ('${moment}' === 'before') grace.abort();
      await server.shutdown({ signal: grace.signal });
      grace.abort();
      await new Promise((resolve) => setImmediate(resolve));
      process.stdout.write(process.getActiveResourcesInfo().includes('Timeout') ? 'waits' : 'done');`;
      const cwd = new URL('.', import.meta.url);
      const options = ['--input-type=module', '-e', script];
      const { stdout } = await promisify(execFile)(process.execPath, options, { cwd, timeout: 50_000 });
      expect(stdout).toBe('done');
    },
  );

  test('can be called twice', async () => {
    const { server } = await startServer();
    await Promise.all([server.shutdown(), server.shutdown()]);
    expect(await server.shutdown()).toBeUndefined();
  });

  test('notifies health watchers, and does not wait for them', async () => {
    const { server, channel } = await startServer();
    const health = createClient(HealthDefinition, channel);
    const states: number[] = [];
    const failure = failureOf(async (options) => {
      for await (const { status } of health.watch({}, options)) {
        states.push(status);
        if (status === ServingStatus.SERVING) void server.shutdown();
      }
    });
    expect(await failure).toMatchObject({ code: Status.UNAVAILABLE, errorCode: 'unavailable' });
    expect(states).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
    await server.shutdown();
  });
});
