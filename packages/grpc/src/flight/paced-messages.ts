import { onAbort } from '@svc/errors';
import type { ArrowMessage } from '@svc/frames/internal';
import { FlightMessage } from './flight-data.ts';

/**
 * Yields messages to send, at most four of them in flight. grpc-js alone would buffer sixteen, which is a lot of memory for
 * messages of a megabyte; with fewer than four the client would wait. `onBytes` is called with their lengths.
 */
export async function* pacedMessages(
  messages: AsyncIterable<ArrowMessage>,
  signal: AbortSignal,
  onBytes: (bytes: number) => void = () => {},
): AsyncGenerator<FlightMessage, void, undefined> {
  const waiting: Promise<void>[] = [];
  for await (const message of messages) {
    signal.throwIfAborted();
    onBytes(message.header.byteLength + message.bodyLength);
    const { promise, resolve } = sentOrAborted(signal);
    yield new FlightMessage(message, resolve);
    waiting.push(promise);
    if (waiting.length >= MAX_WAITING) await waiting.shift();
  }
}

const MAX_WAITING = 4;

function sentOrAborted(signal: AbortSignal): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let settle = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    const stopListening = onAbort(signal, resolve);
    settle = () => {
      stopListening();
      resolve();
    };
  });
  return { promise, resolve: settle };
}
