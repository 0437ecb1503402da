import { orAborted } from '@svc/errors/internal';
import { prepend } from './prepend.ts';

/** The start of a stream. */
export interface StreamHead<T> {
  readonly head: readonly T[];
  /** Whether the head is the whole stream. */
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
