import { ServerInterceptingCall, type ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { flight } from '@svc/proto';
import { Table, vectorFromArray } from 'apache-arrow';
import { createChannel, createClient, createServer } from 'nice-grpc';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createFlightClient, get, pathOf, put } from '../../test/flight-client.ts';
import { startServer } from '../../test/start-server.ts';
import { FlightMessage } from './flight-data.ts';
import { FlightDefinition } from './flight-service.ts';
import { sendUncopied, streamOf } from './send-uncopied.ts';

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

test('the pinned version of grpc-js has its stream where we expect it', async () => {
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
