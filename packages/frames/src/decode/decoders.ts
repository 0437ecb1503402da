import type { RecordBatch, Schema } from 'apache-arrow';
import type { DecodedFormat, DecodeOptions, FileBody } from '../encoding.ts';
import type { FrameStream } from '../streams.ts';
import { decodeSchema } from './arrow/read-schema.ts';
import { targetMessage } from './json/json-column.ts';
import { createYield } from '../async.ts';
import { resolveUnions, unionsAsStructs } from './unions.ts';
import {
  type BodyReader,
  createBodyReader,
  createDecodeSession,
  createFileReader,
  type DecodeSession,
  NO_MORE,
} from './worker/decode-session.ts';
import { createFrameAssembler } from './decode-steps.ts';
import type { WorkerRequest } from './worker/worker-messages.ts';
import { createWorkerPool } from './worker/worker-pool.ts';

/** Options of `createDecoders`. */
export interface DecodersOptions {
  /** The number of bodies decoded concurrently, one for each core for a tenant (at least 4); others wait. Default 16. */
  readonly maxWorkers?: number;
  /** The memory limit of all bodies being decoded together, in bytes; more is `out_of_memory`. Default: no limit. */
  readonly maxBytes?: number;
  /** How long a body may wait for a worker before it is `unavailable`. Default 30 000. */
  readonly waitTimeoutMs?: number;
  /**
   * How long a decoder may take for one chunk before it is terminated and the body is `unavailable`. Default 10 000.
   */
  readonly stallTimeoutMs?: number;
}

/**
 * Decodes untrusted bytes in worker threads, so a decoder that hangs or crashes fails only one upload. Workers
 * start on demand. Two are kept for later bodies, and others for a few seconds; an idle worker does not keep the process
 * alive.
 */
export interface Decoders {
  /**
   * Decodes a body to a frame: `arrow` is an Arrow IPC stream or file, `json` an array of objects, `ndjson` one object
   * per line. Resolves when the schema is known. Malformed bytes are `invalid_data` with their position, from the call
   * or from the batches. The batches can be read once; they hold a worker until they are read to their end, the reader
   * stops, or the signal is aborted. A body of bytes should be short: it is decoded in one step.
   */
  decode(
    format: DecodedFormat,
    body: AsyncIterable<Uint8Array> | FileBody | Uint8Array,
    options?: DecodeOptions,
  ): Promise<FrameStream>;
  /** Terminates the workers. Bodies being decoded fail. */
  close(): Promise<void>;
}

/** Creates decoders with a pool of workers. */
export function createDecoders(decoders: DecodersOptions = {}): Decoders {
  const {
    maxWorkers = 16,
    maxBytes: maxBytesTogether = Infinity,
    waitTimeoutMs = 30_000,
    stallTimeoutMs = 10_000,
  } = decoders;
  const pool = createWorkerPool({ maxWorkers, maxBytes: maxBytesTogether, waitTimeoutMs, stallTimeoutMs });
  return {
    async decode(format, body, options = {}) {
      const { signal, maxBytes = Infinity, unions = false, origin: source } = options;
      const target = format === 'arrow' ? undefined : targetMessage(options);
      // A copy: the worker takes the memory.
      const whole = body instanceof Uint8Array ? new Uint8Array(body) : undefined;
      const reader = readerOf(body, signal);
      let session: DecodeSession | undefined;
      try {
        // Wait for the first chunk before acquiring a worker: a client that trickles a small body does not hold one.
        const first = await reader.next();
        const link = await pool.acquire(signal, { isShort: whole !== undefined, source });
        session = createDecodeSession(pool, link, reader, first, signal);
        const given = {
          ...('path' in body && { path: body.path }),
          ...(whole && { whole }),
          ...(target && { target }),
          ...(unions && { unions }),
        };
        return await openFrame(session, { kind: 'open', format, maxBytes, ...given });
      } catch (error) {
        (session ?? reader).close();
        throw error;
      }
    },
    close: () => pool.close(),
  };
}

function readerOf(
  body: AsyncIterable<Uint8Array> | FileBody | Uint8Array,
  signal: AbortSignal | undefined,
): BodyReader {
  if (body instanceof Uint8Array) return NO_MORE;
  return 'path' in body ? createFileReader(body, signal) : createBodyReader(body, signal);
}

async function openFrame(session: DecodeSession, request: WorkerRequest): Promise<FrameStream> {
  const step = await session.next(request);
  if (step?.kind !== 'schema') throw new Error('The first step of a decoder was not a schema.');
  const pause = createYield();
  const schema = rememberedSchema(step.message);
  await pause();
  const frame = createFrameAssembler(unionsAsStructs(schema));

  async function nextBatch(): Promise<RecordBatch | undefined> {
    for (;;) {
      const part = await session.next({ kind: 'next' });
      // With thousands of columns, the message of the worker and the batch take milliseconds each.
      await pause();
      const batch = part && frame.add(part);
      await pause();
      if (part === undefined || batch !== undefined) return batch;
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
  return resolveUnions(schema, { schema: frame.schema, batches: { [Symbol.asyncIterator]: () => iterator } });
}

/** Longer messages are not remembered. */
const MAX_REMEMBERED_BYTES = 16 * 1024;
/** The schema that was decoded last. */
let last: { readonly message: Uint8Array; readonly schema: Schema } | undefined;

/**
 * Decodes a schema. A client that appends sends the same message again and again: it gets the same object, so what
 * others remember of a schema is found.
 */
export function rememberedSchema(message: Uint8Array): Schema {
  if (last !== undefined && Buffer.compare(last.message, message) === 0) return last.schema;
  const schema = decodeSchema(message);
  if (message.length <= MAX_REMEMBERED_BYTES) last = { message: message.slice(), schema };
  return schema;
}
