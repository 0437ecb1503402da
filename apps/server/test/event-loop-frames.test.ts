import { once } from 'node:events';
import http2 from 'node:http2';
import { connect } from 'node:net';
import { flight, FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient } from 'nice-grpc';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  countTrailers,
  dataFrame,
  grpcHeaders,
  newHeaders,
  PREFACE,
  rstStream,
  sameHeaders,
  SETTINGS,
} from './http2-frames.ts';
import { CAN_MEASURE, MAX_BLOCK_MS, type MeasuredServer, startMeasured } from './measured-server.ts';

const LIST = `/${FrameServiceDefinition.fullName}/ListFrames`;
const PUT = `/${FrameServiceDefinition.fullName}/PutFrame`;
const HANDSHAKE = `/${flight.FlightServiceDefinition.fullName}/Handshake`;
const EMPTY_MESSAGE = Buffer.alloc(5);
const GREETING = Buffer.concat([PREFACE, SETTINGS]);

/** Calls with further headers, which their client may cancel at once. */
const calls = (count: number, { headers = 0, isCancelled = false }): Buffer =>
  Buffer.concat(
    Array.from({ length: count }, (_, i) => 2 * i + 1).flatMap((stream) => [
      grpcHeaders(LIST, stream, stream === 1 ? newHeaders(headers) : sameHeaders(headers)),
      dataFrame(EMPTY_MESSAGE, { stream, isLast: true }),
      ...(isCancelled ? [rstStream(stream)] : []),
    ]),
  );
const cancelled = (count: number, headers = 0): Buffer => calls(count, { headers, isCancelled: true });
const CALLS_100 = calls(100, { headers: 100 });

/** A call with a message of 60,000 bytes, each in a frame of its own. */
const bytewise = Buffer.concat([
  grpcHeaders(PUT),
  dataFrame(Buffer.of(0, 0, 0, 0xea, 0x60), { stream: 1, isLast: false }),
  ...Array.from({ length: 60_000 }, () => dataFrame(Buffer.alloc(1), { stream: 1, isLast: false })),
]);

describe.runIf(CAN_MEASURE)('frames of HTTP/2', () => {
  let server: MeasuredServer;

  /** Sends parts, each after an answer to the one before. Resolves when the server has closed the connection. */
  async function send(...parts: readonly Uint8Array[]): Promise<void> {
    const socket = connect(Number(server.grpcAddress.split(':')[1]), '127.0.0.1');
    const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    for (const part of parts) {
      socket.write(part);
      await Promise.race([new Promise((resolve) => void socket.once('data', resolve)), closed]);
    }
    await closed;
  }

  beforeAll(async () => {
    let end: (() => Promise<void>) | undefined;
    server = await startMeasured({ onEnd: (ending) => void (end = ending) });
    // The first calls load modules and compile functions.
    for (let i = 0; i < 30; i += 1) await send(GREETING, cancelled(1000));
    return () => end?.();
  });

  describe(`keep the event loop for at most ${MAX_BLOCK_MS} ms in one piece`, () => {
    test.each([
      ['1,000 cancelled calls with the greeting', [Buffer.concat([GREETING, cancelled(1000)])]],
      ['1,000 cancelled calls after the greeting', [GREETING, cancelled(1000)]],
      ['127 cancelled calls of 110 headers with the greeting', [Buffer.concat([GREETING, cancelled(127, 110)])]],
      ['127 cancelled calls of 110 headers after the greeting', [GREETING, cancelled(127, 110)]],
      ['100 open calls of 106 headers with the greeting', [Buffer.concat([GREETING, CALLS_100])]],
      ['100 open calls of 106 headers after the greeting', [GREETING, CALLS_100]],
      ['60,000 frames of one byte with the greeting', [Buffer.concat([GREETING, bytewise])]],
      ['60,000 frames of one byte after the greeting', [GREETING, bytewise]],
    ])('%s close the connection', async (_, parts) => {
      expect(await server.longestBlock(() => send(...parts))).toBeLessThanOrEqual(MAX_BLOCK_MS);
      const channel = createChannel(server.grpcAddress);
      onTestFinished(() => channel.close());
      expect((await createClient(FrameServiceDefinition, channel).listFrames({})).frames).toEqual([]);
    });
  });

  test.each([
    ['a handshake', HANDSHAKE],
    ['an upload', PUT],
  ])(`10,000 empty messages of %s on 10 streams keep it for at most ${MAX_BLOCK_MS} ms`, async (_, path) => {
    const send10 = async (): Promise<void> => {
      const session = http2.connect(`http://${server.grpcAddress}`);
      const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
      const uploads = Array.from({ length: 10 }, async () => {
        const stream = session.request(headers).on('error', () => undefined);
        stream.resume().end(Buffer.alloc(10_000 * EMPTY_MESSAGE.length));
        await once(stream, 'end');
      });
      await Promise.all(uploads);
      session.destroy();
    };
    expect(await server.longestBlock(send10)).toBeLessThanOrEqual(MAX_BLOCK_MS);
  });

  test.each([
    ['with', [Buffer.concat([GREETING, calls(100, { headers: 40 })])]],
    ['after', [GREETING, calls(100, { headers: 40 })]],
  ])('100 calls of 46 headers %s the greeting are answered', async (_, parts) => {
    const socket = connect(Number(server.grpcAddress.split(':')[1]), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    let received = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => (received = Buffer.concat([received, bytes])));
    for (const part of parts) {
      const { length } = received;
      socket.write(part);
      await expect.poll(() => received.length).toBeGreaterThan(length);
    }
    await expect.poll(() => countTrailers(received)).toBe(100);
  });

  test('a client that cancels 50 of 100 calls keeps its connection, and the others are answered', async () => {
    const session = http2.connect(`http://${server.grpcAddress}`);
    onTestFinished(() => session.destroy());
    const headers = { ':method': 'POST', ':path': LIST, 'content-type': 'application/grpc', te: 'trailers' };
    const streams = Array.from({ length: 100 }, () => session.request(headers).on('error', () => undefined));
    const statuses = streams.map(async (stream) => {
      let status: unknown;
      stream.on('trailers', (trailers) => (status = trailers['grpc-status'])).resume();
      await once(stream, 'close');
      return status;
    });
    streams.forEach((stream, i) => {
      stream.end(EMPTY_MESSAGE);
      if (i % 2 === 0) stream.close(http2.constants.NGHTTP2_CANCEL);
    });
    expect((await Promise.all(statuses)).filter((status) => status === '0')).toHaveLength(50);
    expect(session.destroyed || session.closed).toBe(false);
  });
});
