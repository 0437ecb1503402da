import type { Call, FrameStream } from '@svc/frames';
import { onEachBatch } from '@svc/frames/internal';
import { streamOf } from './flight/send-uncopied.ts';

/** What a call has moved so far. */
export interface CallTraffic {
  /** Bytes of the messages that arrived. */
  requestBytes: number;
  /** Bytes of the messages that were sent. */
  responseBytes: number;
  /** When the first message was sent. */
  firstByteAt: number | undefined;
  /** The rows that were sent; undefined if the call returns none. */
  rows: number | undefined;
  /** Whether the messages carry rows. */
  hasRows: boolean;
}

/** A call whose traffic is counted. */
export interface CountedCall extends Call {
  readonly traffic: CallTraffic;
  /** What the client calls itself. */
  readonly userAgent?: string | undefined;
}

/** Creates the traffic of a call that starts. */
export function createTraffic(): CallTraffic {
  return { requestBytes: 0, responseBytes: 0, firstByteAt: undefined, rows: undefined, hasRows: false };
}

/** Counts the bytes of a call of grpc-js. If its HTTP/2 stream is not found, they stay 0. */
export function countBytes(call: object, traffic: CallTraffic): void {
  const stream = streamOf(call);
  if (stream === undefined) return;
  // In front of the listener of grpc-js, which may end the call. Unlike `on`, this does not start the stream.
  stream.prependListener('data', (chunk: Uint8Array) => {
    traffic.requestBytes += chunk.byteLength;
  });
  const write = stream.write.bind(stream);
  const counted = (chunk: Uint8Array, ...rest: [never, never]): boolean => {
    traffic.firstByteAt ??= performance.now();
    traffic.responseBytes += chunk.byteLength;
    return write(chunk, ...rest);
  };
  Object.defineProperty(stream, 'write', { value: counted, configurable: true, writable: true });
}

/** Counts the rows of a stream that a call sends. */
export function countRows({ traffic }: CountedCall, stream: FrameStream): FrameStream {
  traffic.hasRows = true;
  traffic.rows ??= 0;
  return onEachBatch(stream, ({ numRows }) => {
    traffic.rows = (traffic.rows ?? 0) + numRows;
  });
}
