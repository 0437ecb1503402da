import type { RecordBatch } from 'apache-arrow';
import type { DecodeOptions, DecodedFormat, FileBody } from '../encoding.ts';
import type { FrameStream } from '../frame-stream.ts';
import { createBodyReader, createFileReader } from './worker/body-reader.ts';
import { createDecodeSession, type DecodeSession } from './worker/decode-session.ts';
import { createFrameAssembler } from './worker/frame-assembler.ts';
import type { WorkerRequest } from './worker/worker-messages.ts';
import { createWorkerPool } from './worker/worker-pool.ts';

/** How uploads are decoded. */
export interface DecodersOptions {
  /** Bodies decoded at the same moment; others wait. Default 16. */
  readonly maxWorkers?: number;
  /** Bytes that the bodies being decoded may take together, counted before they are taken, else `out_of_memory`. Default: no limit. */
  readonly maxBytes?: number;
  /** How long a body may wait for its turn before it is `unavailable`. Default 30 000. */
  readonly waitTimeoutMs?: number;
  /** How long a decoder may take for a piece of a body before it is ended and the body `unavailable`. Default 10 000. */
  readonly stallTimeoutMs?: number;
}

/**
 * Decodes bytes from outside in worker threads, where a decoder that hangs or crashes is one failed upload. Workers are
 * started when they are needed, and two are kept for the next bodies; an idle one does not keep the process alive.
 */
export interface Decoders {
  /**
   * Reads a body as a frame: `arrow` is an Arrow IPC stream or file, `json` an array of objects, `ndjson` one object a
   * line. It resolves when the schema is known. Bytes that are not of the format are `invalid_data`, with the place where that shows, from the call
   * or from the batches. The batches can be read once; they hold a worker until they are read to their end, the reader
   * stops, or the signal is aborted.
   */
  decode(
    format: DecodedFormat,
    body: AsyncIterable<Uint8Array> | FileBody,
    options?: DecodeOptions,
  ): Promise<FrameStream>;
  /** Ends the workers. What is being decoded fails. */
  close(): Promise<void>;
}

/** Decoders with workers of their own. */
export function createDecoders(options: DecodersOptions = {}): Decoders {
  const {
    maxWorkers = 16,
    maxBytes: maxBytesTogether = Infinity,
    waitTimeoutMs = 30_000,
    stallTimeoutMs = 10_000,
  } = options;
  const pool = createWorkerPool({ maxWorkers, maxBytes: maxBytesTogether, waitTimeoutMs, stallTimeoutMs });
  return {
    async decode(format, body, { signal, maxBytes = Infinity } = {}) {
      const file = 'path' in body ? body : undefined;
      const reader = 'path' in body ? createFileReader(body, signal) : createBodyReader(body, signal);
      let session: DecodeSession | undefined;
      try {
        // The first piece comes before the worker: a client that trickles a small body does not hold one meanwhile.
        const first = await reader.next();
        session = createDecodeSession({ pool, link: await pool.acquire(signal), reader, first, signal });
        return await openFrame(session, { kind: 'open', format, maxBytes, ...(file && { path: file.path }) });
      } catch (error) {
        (session ?? reader).close();
        throw error;
      }
    },
    close: () => pool.close(),
  };
}

async function openFrame(session: DecodeSession, request: WorkerRequest): Promise<FrameStream> {
  const step = await session.next(request);
  if (step?.kind !== 'schema') throw new Error('A decoder began with something else than a schema.');
  const frame = createFrameAssembler(step.message);

  async function nextBatch(): Promise<RecordBatch | undefined> {
    for (;;) {
      const piece = await session.next({ kind: 'next' });
      const batch = piece && frame.add(piece);
      if (piece === undefined || batch !== undefined) return batch;
    }
  }
  const iterator: AsyncIterator<RecordBatch> = {
    async next() {
      try {
        const value = await nextBatch();
        return value === undefined ? { done: true, value } : { done: false, value };
      } catch (error) {
        // A loop over the batches does not call return() after a failure.
        session.close();
        throw error;
      }
    },
    async return() {
      session.close();
      return { done: true, value: undefined };
    },
  };
  return { schema: frame.schema, batches: { [Symbol.asyncIterator]: () => iterator } };
}
