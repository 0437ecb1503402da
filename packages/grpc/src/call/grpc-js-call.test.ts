import { createRequire } from 'node:module';
import { Duplex } from 'node:stream';
import { ServerInterceptingCall, type ServerInterceptingCallInterface, status as Status } from '@grpc/grpc-js';
import { flight } from '@svc/proto';
import { Table, vectorFromArray } from 'apache-arrow';
import { createChannel, createClient, createServer } from 'nice-grpc';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createFlightClient, get, pathOf, put } from '../../test/flight-client.ts';
import { startServer } from '../../test/start-server.ts';
import { FlightDefinition } from '../flight/flight-service.ts';
import { openPort } from '../open-port.ts';
import {
  countBytes,
  createMessageDecoder,
  encodeFlightData,
  finishStatus,
  FlightMessage,
  limitMessages,
  sendUncopied,
  sessionOf,
  streamOf,
} from './grpc-js-call.ts';

afterEach(() => vi.restoreAllMocks());

const MESSAGE_BYTES = 100_000;

/** Sends one message through grpc-js after `prepare`. Returns what was sent and what the client received. */
async function sendOne(prepare: (call: ServerInterceptingCallInterface) => void) {
  const part = new Uint8Array(MESSAGE_BYTES / 2).fill(7);
  const onSent = vi.fn<() => void>();
  const written: unknown[] = [];
  const serialize = vi.spyOn(FlightDefinition.methods.doGet.responseType, 'encode');
  const server = createServer({
    interceptors: [
      (_method: unknown, call: ServerInterceptingCallInterface) => {
        const stream = streamOf(call);
        const write = stream?.write.bind(stream);
        if (stream && write)
          stream.write = (chunk: unknown, ...rest: never[]) => (written.push(chunk), write(chunk, ...rest));
        prepare(call);
        sendUncopied(call);
        return new ServerInterceptingCall(call);
      },
    ],
  });
  const unimplemented = () => {
    throw new Error('Not called.');
  };
  server.add(FlightDefinition, {
    handshake: unimplemented,
    listFlights: unimplemented,
    getFlightInfo: unimplemented,
    pollFlightInfo: unimplemented,
    getSchema: unimplemented,
    doPut: unimplemented,
    doExchange: unimplemented,
    doAction: unimplemented,
    listActions: unimplemented,
    async *doGet() {
      const arrow = {
        kind: 'batch',
        header: Buffer.from('header'),
        body: [part, part],
        bodyLength: MESSAGE_BYTES,
      } as const;
      yield new FlightMessage(arrow, onSent);
    },
  });
  const port = await server.listen('127.0.0.1:0');
  const channel = createChannel(`127.0.0.1:${port}`);
  onTestFinished(async () => {
    channel.close();
    await server.shutdown();
  });
  const got: flight.FlightData[] = [];
  for await (const message of createClient(flight.FlightServiceDefinition, channel).doGet({})) got.push(message);
  return { got, onSent, serialize, isUncopied: written.includes(part) };
}

function expectWhole(got: readonly flight.FlightData[]): void {
  expect(got).toHaveLength(1);
  expect(Buffer.from(got[0]?.dataHeader ?? []).toString()).toBe('header');
  expect(Buffer.from(got[0]?.dataBody ?? []).equals(Buffer.alloc(MESSAGE_BYTES, 7))).toBe(true);
}

const ADVICE =
  'grpc-js has changed. Compare `BaseServerInterceptingCall` and `Http2ServerCallStream` of its build/src with ' +
  'grpc-js-call.ts, and the listeners of its HTTP/2 server with connections.ts. Then set the version in this test.';

test('grpc-js is the version whose private parts are changed or read', async () => {
  const { version }: { version: string } = createRequire(import.meta.url)('@grpc/grpc-js/package.json');
  expect(version, ADVICE).toBe('1.14.7');
  await sendOne((call) => {
    expect(Reflect.get(call, 'stream'), ADVICE).toBeInstanceOf(Duplex);
    expect(Reflect.get(call, 'decoder'), ADVICE).toMatchObject({ write: expect.any(Function) });
    expect(Reflect.get(call, 'maxReceiveMessageSize'), ADVICE).toBeTypeOf('number');
    for (const name of ['sendStatus', 'sendMessage', 'sendMetadata', 'startRead'] as const) {
      expect(typeof call[name], ADVICE).toBe('function');
    }
  });
});

test('grpc-js listens to the streams and sessions of a server of Node', async () => {
  const server = createServer();
  const port = await openPort('127.0.0.1', 0);
  const listeners: Record<string, number> = {};
  await port.takeOver(
    () => server.listen('127.0.0.1:0'),
    (listener) => {
      for (const name of ['stream', 'session']) listeners[name] = listener.listenerCount(name);
    },
  );
  await server.shutdown();
  expect(listeners, ADVICE).toEqual({ stream: 1, session: 1 });
});

test('the pinned version of grpc-js has all that is changed or read where we expect it', async () => {
  const found: object[] = [];
  await sendOne((call) => {
    const stream = streamOf(call);
    expect(sessionOf(call)).toBe(stream && 'session' in stream ? stream.session : undefined);
    limitMessages(call, 1000);
    found.push({
      session: typeof sessionOf(call),
      decoder: Reflect.get(call, 'decoder'),
      maxReceiveMessageSize: Reflect.get(call, 'maxReceiveMessageSize'),
    });
  });
  expect(found).toEqual([{ session: 'object', decoder: { write: expect.any(Function) }, maxReceiveMessageSize: 1000 }]);
});

test('the bytes and the status of a call of the pinned version of grpc-js are seen', async () => {
  const counts = { requestBytes: 0, responseBytes: 0, firstByteAt: undefined };
  const statuses: unknown[] = [];
  let isAnswered = false;
  await sendOne((call) => {
    countBytes(call, counts);
    finishStatus(
      call,
      () => isAnswered,
      (status, send) => {
        statuses.push(status.code);
        send(status);
        isAnswered = true;
        call.sendMessage({ notSerializable: 1 }, () => undefined);
      },
    );
  });
  expect(statuses).toEqual([Status.OK]);
  expect(counts).toEqual({
    requestBytes: expect.closeTo(5, -1),
    responseBytes: expect.closeTo(MESSAGE_BYTES, -2),
    firstByteAt: expect.any(Number),
  });
});

test('the pinned version of grpc-js sends what is written to its stream', async () => {
  const { got, onSent, serialize, isUncopied } = await sendOne(() => undefined);
  expectWhole(got);
  expect(isUncopied).toBe(true);
  expect(serialize).not.toHaveBeenCalled();
  expect(onSent).toHaveBeenCalledTimes(1);
});

test('if grpc-js has its stream elsewhere, the message is copied and still arrives', async () => {
  const { got, onSent, serialize, isUncopied } = await sendOne((call) => {
    const stream = streamOf(call);
    // grpc-js still finds it, but we do not.
    Object.defineProperty(call, 'stream', {
      value: new Proxy(stream ?? {}, {
        has: (target, key) => key !== 'respond' && key in target,
        get: (target, key) => bound(target, key),
      }),
    });
  });
  expectWhole(got);
  expect(isUncopied).toBe(false);
  expect(serialize).toHaveBeenCalledTimes(1);
  expect(onSent).toHaveBeenCalledTimes(1);
});

function bound(target: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key);
  return typeof value === 'function' ? value.bind(target) : value;
}

test('a frame goes to the client without a copy', async () => {
  const serialize = vi.spyOn(FlightDefinition.methods.doGet.responseType, 'encode');
  const { channel } = await startServer();
  const client = createFlightClient(channel);
  await put(client, pathOf('x'), new Table({ x: vectorFromArray(new Float64Array(300_000)) }));
  expect((await get(client, pathOf('x'))).numRows).toBe(300_000);
  // Only the schema, which is small.
  expect(serialize).toHaveBeenCalledTimes(1);
});

const counted = (length: number) => Uint8Array.from({ length }, (_, i) => i % 251);

test.each([
  [0, [0]],
  [1, [8]],
  [127, [127, 1]],
  [128, [128, 1]],
  [300, [16_383, 1, 16_384]],
  [20_000, [2_097_152]],
])('a header of %i bytes and a body of %o survive a round trip', (headerLength, parts) => {
  const header = counted(headerLength);
  const body = parts.map(counted);
  const bodyLength = parts.reduce((sum, length) => sum + length, 0);
  const read = flight.FlightData.decode(encodeFlightData({ kind: 'batch', header, body, bodyLength }));
  expect(Buffer.from(read.dataHeader).equals(header)).toBe(true);
  expect(Buffer.from(read.dataBody).equals(Buffer.concat(body))).toBe(true);
});

const MIB = 1024 ** 2;

function framed(size: number): Buffer {
  const message = Buffer.alloc(5 + size, 7);
  message[0] = 0;
  message.writeUInt32BE(size, 1);
  return message;
}

function unexpected(): never {
  throw new Error('There are few messages.');
}

describe('the message decoder', () => {
  test.each([
    [32, 0],
    [33, 1],
    [100, 68],
  ])('of %i messages puts %i back', (count, expected) => {
    const rest: Buffer[] = [];
    const decoder = createMessageDecoder(10, (bytes) => rest.push(bytes));
    const all = Array.from({ length: count }, (_, i) => framed(i % 3));
    expect(decoder.write(Buffer.concat(all))).toEqual(all.slice(0, 32));
    expect(Buffer.concat(rest)).toEqual(Buffer.concat(all.slice(32)));
    expect(all.slice(32)).toHaveLength(expected);
  });

  test.each([1, 4, 7001, 3 * MIB])('finds messages of all lengths in chunks of %i bytes', (chunkBytes) => {
    const sizes = chunkBytes < 10 ? [0, 3, 0, 200] : [0, 3, 20_000, 9 * MIB, 0, MIB - 5, MIB, 1];
    const all = Buffer.concat(sizes.map(framed));
    const decoder = createMessageDecoder(64 * MIB, unexpected);
    const messages: Buffer[] = [];
    for (let at = 0; at < all.length; at += chunkBytes) {
      messages.push(...decoder.write(all.subarray(at, at + chunkBytes)));
    }
    expect(messages.map(({ length }) => length - 5)).toEqual(sizes);
    expect(Buffer.concat(messages).equals(all)).toBe(true);
  });

  test('refuses a message that is too long once, and ignores the rest of it', () => {
    const decoder = createMessageDecoder(10, unexpected);
    expect(decoder.write(framed(10))).toHaveLength(1);
    expect(() => decoder.write(framed(11))).toThrow('Received message larger than max (11 vs 10)');
    expect(decoder.write(framed(1))).toEqual([]);
  });
});
