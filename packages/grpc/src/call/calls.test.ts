import { once } from 'node:events';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import {
  Client,
  credentials,
  Metadata as GrpcMetadata,
  type ServerInterceptingCallInterface,
  type ServiceError as GrpcError,
  status as Status,
} from '@grpc/grpc-js';
import { ServiceError } from '@svc/errors';
import { PutFrameRequest } from '@svc/proto';
import type { Service } from '@svc/service';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { Metadata } from 'nice-grpc';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  collect,
  connectRaw,
  deferred,
  failureOf,
  framed,
  putTable,
  startServer,
  upload,
} from '../../test/start-server.ts';
import { createCalls } from './calls.ts';

const table = tableFromArrays({ id: Int32Array.of(1, 2, 3) });
const arrow = tableToIPC(table, 'stream');
const PUT = 'svc.frames.v1.FrameService/PutFrame';

/**
 * A PutFrame whose messages have arrived, but not its end. The service reads all data before it decodes any, whatever the
 * signal of the call says; `whole` is called if it reaches the end.
 */
async function beginUpload(bytes: Uint8Array) {
  const server = await startServer();
  const putFrame = server.service.putFrame.bind(server.service);
  const whole = vi.fn<() => void>();
  server.service.putFrame = async (call, handle, source, options) => {
    const chunks = await collect(source.body);
    whole();
    return putFrame(call, handle, { ...source, body: each(chunks) }, options);
  };
  const socket = connect(server.port, '127.0.0.1');
  const session = await connectRaw(server.port, socket);
  const stream = session.request({ ':method': 'POST', ':path': `/${PUT}`, 'content-type': 'application/grpc' });
  stream.on('error', () => undefined);
  for (const part of [{ target: { handle: 'half' } }, { chunk: bytes }]) {
    stream.write(framed(PutFrameRequest.encode(PutFrameRequest.fromPartial(part)).finish()));
  }
  await promisify(session.ping.bind(session) as (done: (error: Error | null) => void) => void)();
  return { server, socket, session, stream, whole };
}

async function* each<T>(items: readonly T[]) {
  yield* items;
}

/** A bare RST_STREAM: Node's client ends a stream before it resets it. */
function resetFrame(streamId: number | undefined, code: number): Buffer {
  const frame = Buffer.from([0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, code]);
  frame.writeUInt32BE(streamId ?? 0, 5);
  return frame;
}

type BegunUpload = Awaited<ReturnType<typeof beginUpload>>;

describe('the place of a call in a trace', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };

  test.each([
    [
      { traceparent, tracestate: 'a=1' },
      { ...trace, traceState: 'a=1' },
    ],
    [{ traceparent: 'x' }, undefined],
    [{}, undefined],
  ])('is that of the metadata %j, in all events of the call', async (metadata, expected) => {
    const { client, events } = await startServer();
    await client.putFrame(upload({ handle: 't' }, arrow), { metadata: Metadata(metadata) });
    const later = events.filter(({ kind }) => kind !== 'request_started');
    expect(later.map((event) => [event.kind, 'trace' in event ? event.trace : undefined])).toEqual(
      ['frame_put', 'audited', 'request_answered'].map((kind) => [kind, expected]),
    );
  });
});

describe('a client that disconnects during an upload leaves nothing behind', () => {
  test.each<[string, (upload: BegunUpload) => void]>([
    ['its socket is destroyed', ({ socket }) => void socket.destroy()],
    ['its socket is reset', ({ socket }) => void socket.resetAndDestroy()],
    ['its session is destroyed', ({ session }) => session.destroy()],
    ['its stream is reset', ({ socket, stream }) => void socket.write(resetFrame(stream.id, 8))],
    ['its stream is reset without an error', ({ socket, stream }) => void socket.write(resetFrame(stream.id, 0))],
  ])('when %s after the last byte', async (_what, leave) => {
    const begun = await beginUpload(arrow);
    leave(begun);
    await expect
      .poll(() => begun.server.answered().map(({ route, status }) => [route, status]))
      .toEqual([[PUT, 'CANCELLED']]);
    expect(begun.whole).not.toHaveBeenCalled();
    expect((await begun.server.client.listFrames({})).frames).toEqual([]);
  });

  test.each<[string, (upload: BegunUpload) => void]>([
    ['its stream is cancelled', ({ stream }) => stream.close(8)],
    ['its stream is closed', ({ stream }) => stream.close(0)],
    ['its stream is ended', ({ stream }) => void stream.end()],
  ])('when %s before the last byte', async (_what, leave) => {
    const begun = await beginUpload(arrow.subarray(0, -8));
    leave(begun);
    await expect.poll(() => begun.server.answered().length).toBe(1);
    expect(begun.server.answered()[0]?.status).toMatch(/^(CANCELLED|INVALID_ARGUMENT)$/);
    expect((await begun.server.client.listFrames({})).frames).toEqual([]);
  });

  test('when it aborts the call before the last byte', async () => {
    const server = await startServer();
    const putFrame = server.service.putFrame.bind(server.service);
    const leaving = new AbortController();
    server.service.putFrame = (...args) => {
      leaving.abort();
      return putFrame(...args);
    };
    async function* messages() {
      yield* upload({ handle: 'aborted' }, arrow.subarray(0, -8));
      await once(leaving.signal, 'abort');
    }
    await expect(server.client.putFrame(messages(), { signal: leaving.signal })).rejects.toThrow(
      'This operation was aborted',
    );
    await expect.poll(() => server.answered().length).toBe(1);
    expect((await server.client.listFrames({})).frames).toEqual([]);
  });

  test('and the same upload with its end is stored', async () => {
    const { server, stream, whole } = await beginUpload(arrow);
    stream.end();
    stream.resume();
    const [trailers] = await once(stream, 'trailers');
    expect(trailers['grpc-status']).toBe('0');
    expect(whole).toHaveBeenCalledOnce();
    expect((await server.client.listFrames({})).frames).toHaveLength(1);
  });
});

test('the end of a request on a broken connection does not count', async () => {
  const observe = vi.fn<Service['observe']>();
  const started: Parameters<ServerInterceptingCallInterface['start']>[0][] = [];
  const inner: ServerInterceptingCallInterface = {
    start: (listener) => void started.push(listener),
    // Like grpc-js for a closed stream.
    startRead: () => process.nextTick(() => started[0]?.onCancel()),
    sendMetadata: () => undefined,
    sendMessage: () => undefined,
    sendStatus: () => undefined,
    getPeer: () => '',
    getDeadline: () => Infinity,
    getHost: () => '',
    getAuthContext: () => ({}),
    getConnectionInfo: () => ({}),
    getMetricsRecorder: () => expect.unreachable(),
  };
  const method = { path: '/a.B/C', requestStream: true, responseStream: false } as const;
  const codec = { requestDeserialize: () => undefined, responseSerialize: () => Buffer.alloc(0) };
  const call = createCalls({ observe, maxMessageBytes: 1 }).interceptor({ ...method, ...codec }, inner);
  const [ended, cancelled] = [vi.fn<() => void>(), vi.fn<() => void>()];
  call.start({
    onReceiveMetadata: () => undefined,
    onReceiveMessage: () => undefined,
    onReceiveHalfClose: ended,
    onCancel: cancelled,
  });
  started[0]?.onReceiveMetadata(new GrpcMetadata());
  started[0]?.onReceiveHalfClose();
  await new Promise((resolve) => setImmediate(resolve));
  expect(cancelled).toHaveBeenCalledOnce();
  expect(ended).not.toHaveBeenCalled();
  expect(observe.mock.calls).toMatchObject([
    [{ kind: 'request_started' }],
    [{ kind: 'request_answered', route: 'a.B/C', status: 'CANCELLED' }],
  ]);
});

/** A server whose DescribeFrame hangs until its signal aborts, with the reason. */
async function startHangingServer() {
  const begun = deferred();
  const reasons: unknown[] = [];
  const server = await startServer({
    async describeFrame({ signal }) {
      begun.resolve();
      await once(signal, 'abort');
      reasons.push(signal.reason);
      throw new Error('ended');
    },
  });
  return { ...server, begun: begun.promise, reason: () => reasons[0] };
}

describe("the call's signal", () => {
  test('aborts at the deadline, and the error says which', async () => {
    const { channel, begun, reason, answered } = await startHangingServer();
    const failure = await new Promise<GrpcError | null>((resolve) => {
      // The deadline of this client is only a header, so that the status comes from the server.
      const client = new Client(channel.getTarget().replace('dns:', ''), credentials.createInsecure());
      onTestFinished(() => client.close());
      const metadata = new GrpcMetadata();
      metadata.set('grpc-timeout', '50m');
      client.makeUnaryRequest(
        '/svc.frames.v1.FrameService/DescribeFrame',
        () => Buffer.from([10, 1, 104]),
        () => undefined,
        {},
        metadata,
        resolve,
      );
    });
    await begun;
    expect(failure?.code).toBe(Status.DEADLINE_EXCEEDED);
    expect(failure?.details).toMatch(/^The client's deadline passed after \d+ ms\.$/);
    expect(failure?.metadata.get('svc-error-code')).toEqual(['deadline_exceeded']);
    await expect.poll(reason).toMatchObject({ code: 'deadline_exceeded' });
    expect(answered()).toMatchObject([{ status: 'DEADLINE_EXCEEDED', error: { code: 'deadline_exceeded' } }]);
  });

  test('aborts when the client cancels', async () => {
    const { client, begun, reason, answered } = await startHangingServer();
    const leaving = new AbortController();
    const call = client.describeFrame({ handle: 'h' }, { signal: leaving.signal });
    await begun;
    leaving.abort();
    await expect(call).rejects.toThrow('This operation was aborted');
    await expect.poll(reason).toMatchObject({ code: 'cancelled' });
    expect(answered()).toMatchObject([{ status: 'CANCELLED', error: { code: 'cancelled' } }]);
  });

  test('does not abort after the response', async () => {
    let signal: AbortSignal | undefined;
    const { client, answered } = await startServer({
      listFrames(call) {
        signal = call.signal;
        return Promise.resolve([]);
      },
    });
    await client.listFrames({});
    await client.listFrames({});
    expect(answered().map(({ status }) => status)).toEqual(['OK', 'OK']);
    expect(signal?.aborted).toBe(false);
  });
});

describe('a failure', () => {
  test('without a code is INTERNAL: its text reaches the observer but not the client', async () => {
    const cause = new Error('password=hunter2 in /etc/secret');
    const server = await startServer({ listFrames: () => Promise.reject(cause) });
    const failure = await failureOf((options) => server.client.listFrames({}, options));
    expect(failure).toMatchObject({
      code: Status.INTERNAL,
      details: 'The server failed to answer this request.',
      errorCode: 'internal',
    });
    expect(JSON.stringify(failure)).not.toMatch(/hunter2|secret/);
    expect(server.answered()).toMatchObject([
      { status: 'INTERNAL', requestId: failure.requestId, error: { code: 'internal', cause } },
    ]);
  });

  test('with a text that is not allowed in a header arrives readable', async () => {
    const hint = 'Use 100 % of „größe“\n.';
    const server = await startServer({
      listFrames: () => Promise.reject(new ServiceError('invalid_argument', 'Nicht „größe“ \ud83d.', { hint })),
    });
    const failure = await failureOf((options) => server.client.listFrames({}, options));
    expect(failure.details).toBe('Nicht „größe“ �.');
    expect(decodeURIComponent(String(failure.hint))).toBe(hint);
  });

  test('with a long text is truncated, not lost', async () => {
    const server = await startServer({
      listFrames: () =>
        Promise.reject(new ServiceError('invalid_argument', 'x'.repeat(100_000), { hint: 'ü'.repeat(100_000) })),
    });
    const failure = await failureOf((options) => server.client.listFrames({}, options));
    expect(failure).toMatchObject({ code: Status.INVALID_ARGUMENT, errorCode: 'invalid_argument' });
  });
});

describe('requests that grpc-js rejects itself', () => {
  test('a message over the limit is RESOURCE_EXHAUSTED, and the error has the limit', async () => {
    const server = await startServer({ maxMessageBytes: 1000 });
    const failure = await failureOf((options) =>
      server.client.putFrame(upload({ handle: 'h' }, new Uint8Array(2000)), options),
    );
    expect(failure).toMatchObject({
      code: Status.RESOURCE_EXHAUSTED,
      details: 'A message of the call is larger than 1000 bytes.',
      errorCode: 'payload_too_large',
    });
    expect(server.answered()).toMatchObject([
      { route: PUT, status: 'RESOURCE_EXHAUSTED', requestId: failure.requestId },
    ]);
  });

  test('a message at the limit is accepted', async () => {
    const server = await startServer({ maxMessageBytes: arrow.length + 10 });
    expect((await putTable(server.client, 'h', table)).frame?.rows).toBe(3n);
  });

  test.each([
    ['DescribeFrame', Buffer.from([10, 200, 1, 1])],
    ['PutFrame', Buffer.from([15])],
  ])('a message that is not a request of %s is INVALID_ARGUMENT', async (method, message) => {
    const server = await startServer();
    const operation = `svc.frames.v1.FrameService/${method}`;
    const session = await connectRaw(server.port);
    const stream = session.request({ ':method': 'POST', ':path': `/${operation}`, 'content-type': 'application/grpc' });
    stream.end(framed(message));
    const [headers] = await once(stream, 'response');
    expect(headers).toMatchObject({
      'grpc-status': String(Status.INVALID_ARGUMENT),
      'svc-error-code': 'invalid_argument',
    });
    expect(decodeURIComponent(headers['grpc-message'])).toBe(
      `A message of the call cannot be read as a request of ${operation}.`,
    );
    expect(server.answered()).toMatchObject([{ route: operation, status: 'INVALID_ARGUMENT' }]);
  });

  test('an unknown method is UNIMPLEMENTED', async () => {
    const server = await startServer();
    const session = await connectRaw(server.port);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/svc.frames.v1.FrameService/Nope',
      'content-type': 'application/grpc',
    });
    stream.end();
    const [headers] = await once(stream, 'response');
    expect(headers['grpc-status']).toBe(String(Status.UNIMPLEMENTED));
    expect(server.answered()).toMatchObject([
      {
        route: 'other',
        details: { operation: 'svc.frames.v1.FrameService/Nope' },
        status: 'UNIMPLEMENTED',
        error: { message: 'This server has no method "/svc.frames.v1.FrameService/Nope".' },
      },
    ]);
  });
});

test('a request that is not gRPC is reported, too', async () => {
  const server = await startServer();
  const session = await connectRaw(server.port);
  const stream = session.request({ ':method': 'POST', ':path': `/${PUT}`, 'content-type': 'text/plain' });
  stream.end();
  const [headers] = await once(stream, 'response');
  expect(headers[':status']).toBe(415);
  expect(server.events).toMatchObject([
    { kind: 'request_started' },
    { kind: 'request_answered', route: 'other', error: { code: 'unsupported_media_type' } },
  ]);
});

describe('the events of a call', () => {
  const requests = ({ events }: Awaited<ReturnType<typeof startServer>>) =>
    events.filter(({ kind }) => kind.startsWith('request_'));

  test('have what it moved', async () => {
    const server = await startServer();
    await putTable(server.client, 'h', table);
    let bytes = 0;
    for await (const { chunk } of server.client.getFrame({ handle: 'h', limit: 2n })) bytes += chunk?.length ?? 0;
    const service = 'svc.frames.v1.FrameService';
    expect(requests(server)).toMatchObject([
      { kind: 'request_started', protocol: 'grpc' },
      { kind: 'request_answered', route: `${service}/PutFrame`, method: 'POST', status: 'OK', format: 'arrow' },
      { kind: 'request_started', protocol: 'grpc' },
      { route: `${service}/GetFrame`, status: 'OK', rows: 2, format: 'arrow', error: undefined },
    ]);
    const [put, get] = server.answered();
    expect(put?.requestBytes).toBeGreaterThan(arrow.length);
    expect(get?.responseBytes).toBeGreaterThan(bytes);
    expect(get?.firstByteMs).toBeLessThanOrEqual(get?.durationMs ?? 0);
    expect(get?.details.client?.address).toBe('127.0.0.1');
    expect(get?.details.userAgent).toContain('grpc-node');
  });

  test('a call that ends before its metadata is read is reported once', async () => {
    const server = await startServer();
    const session = await connectRaw(server.port);
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${PUT}`,
      'content-type': 'application/grpc',
      'grpc-timeout': 'nonsense',
    });
    await once(stream, 'response');
    expect(requests(server)).toMatchObject([{ kind: 'request_started' }, { kind: 'request_answered', route: PUT }]);
  });
});

const idFor = async (sent: string | undefined) => {
  const server = await startServer();
  let trailer = Metadata();
  const metadata = Metadata(sent === undefined ? {} : { 'x-request-id': sent });
  await server.client.listFrames({}, { metadata, onTrailer: (received) => (trailer = received) });
  const id = trailer.get('x-request-id');
  expect(server.answered()).toMatchObject([
    { requestId: id, route: 'svc.frames.v1.FrameService/ListFrames', status: 'OK' },
  ]);
  return id;
};

describe('the request id', () => {
  test.each(['r-1', '01ARZ3NDEKTSV4RRFFQ69G5FAV', 'a:b_c.d/e+f=@'])('%s of the client is kept', async (sent) => {
    expect(await idFor(sent)).toBe(sent);
  });

  test.each([undefined, 'with space', '<script>', 'x'.repeat(129)])('%s is replaced by a new one', async (sent) => {
    expect(await idFor(sent)).toMatch(/^[0-9a-f-]{36}$/);
  });
});
