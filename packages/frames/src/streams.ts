import { ServiceError } from '@svc/errors';
import { orAborted } from '@svc/errors/internal';
import type { RecordBatch, Schema } from 'apache-arrow';

/** A schema and a sequence of record batches of that schema: every read returns one, every write takes one. */
export interface FrameStream {
  readonly schema: Schema;
  readonly batches: AsyncIterable<RecordBatch>;
}

/** Creates a stream from a schema and batches. */
export function streamOfBatches(
  schema: Schema,
  batches: Iterable<RecordBatch> | AsyncIterable<RecordBatch>,
): FrameStream {
  return {
    schema,
    batches: (async function* () {
      yield* batches;
    })(),
  };
}

/** Calls a function with every batch of a stream, before it is passed on. */
export function onEachBatch({ schema, batches }: FrameStream, onBatch: (batch: RecordBatch) => void): FrameStream {
  async function* observed(): FrameStream['batches'] {
    for await (const batch of batches) {
      onBatch(batch);
      yield batch;
    }
  }
  return { schema, batches: observed() };
}

/**
 * Puts items back in front of an iterator. Not a generator: `return()` on a generator that has not started does not run
 * its `finally`, so `rest` would never be closed.
 */
export function prepend<T>(head: readonly T[], rest: AsyncIterator<T, unknown>): AsyncGenerator<T, void> {
  const queue = [...head];
  const end = { done: true, value: undefined } as const;
  return {
    next: async () => {
      const value = queue.shift();
      if (value !== undefined) return { done: false, value };
      const next = await rest.next();
      return next.done === true ? end : next;
    },
    return: async () => {
      await rest.return?.();
      return end;
    },
    throw: async (error) => {
      await rest.return?.();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** The start of a stream. */
export interface StreamHead<T> {
  readonly head: readonly T[];
  /** True if the head is the whole stream. */
  readonly isWhole: boolean;
  /** The whole stream, from its first item. */
  readonly all: AsyncGenerator<T, void>;
}

/** Reads a stream until `isEnough` is true of an item, or to its end. An abort closes the stream. */
export async function readHead<T>(
  source: AsyncIterable<T>,
  isEnough: (item: T) => boolean,
  signal?: AbortSignal,
): Promise<StreamHead<T>> {
  const rest: AsyncIterator<T, unknown> = source[Symbol.asyncIterator]();
  const head: T[] = [];
  for (;;) {
    const next = await orAborted(rest.next(), signal).catch((error: unknown) => {
      // Not awaited: the source may wait for an item that never arrives.
      rest.return?.().catch(() => undefined);
      throw error;
    });
    if (next.done === true) return { head, isWhole: true, all: prepend(head, rest) };
    head.push(next.value);
    if (isEnough(next.value)) return { head, isWhole: false, all: prepend(head, rest) };
  }
}

/**
 * Limits a body: more than `maxBytes` is `payload_too_large`. `what` begins the sentence of the error. `onEnd` is called when
 * the body was read to its end.
 */
export async function* limitBytes(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  what = 'The upload is longer than',
  onEnd?: () => void,
): AsyncGenerator<Uint8Array, void> {
  let left = maxBytes;
  for await (const chunk of body) {
    left -= chunk.byteLength;
    if (left < 0) throw new ServiceError('payload_too_large', `${what} ${maxBytes} bytes.`);
    yield chunk;
  }
  onEnd?.();
}
