import type { ClientReadableStream, ServiceError as CallError } from '@grpc/grpc-js';
import { withResolvers } from '@svc/frames/internal';

/** The messages of a call, one at a time. */
export interface MessageReader<T> extends AsyncIterable<T> {
  /** Cancels the call, and resolves when it has ended. */
  cancel(): Promise<void>;
}

/**
 * Reads the answer of a call. The next message is requested only when it is asked for: grpc-js alone would buffer sixteen of
 * them, each of up to 128 MiB. `toError` converts a failed status.
 */
export function readMessages<T>(call: ClientReadableStream<T>, toError: (error: CallError) => Error): MessageReader<T> {
  const closed = withResolvers<void>();
  let failure: Error | undefined;
  let isEnded = false;
  let wake = (): void => undefined;

  const startRead = call._read.bind(call);
  let isReadWanted = false;
  call._read = () => {
    isReadWanted = true;
  };
  function requestOne(): void {
    if (!isReadWanted) return;
    isReadWanted = false;
    startRead(1);
  }

  call.on('readable', () => wake());
  call.on('end', () => {
    isEnded = true;
    wake();
  });
  call.on('error', (error: Error) => {
    failure = isCallError(error) ? toError(error) : error;
    wake();
  });
  call.on('status', () => closed.resolve());

  async function next(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const message: T | null = call.destroyed ? null : call.read();
      if (message !== null) return { done: false, value: message };
      if (failure !== undefined) throw failure;
      if (isEnded) return { done: true, value: undefined };
      const { promise, resolve } = withResolvers<void>();
      wake = resolve;
      requestOne();
      await promise;
    }
  }

  async function cancel(): Promise<void> {
    call.cancel();
    await closed.promise;
  }

  return {
    cancel,
    [Symbol.asyncIterator]: () => ({
      next,
      async return() {
        await cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}

function isCallError(error: Error): error is CallError {
  return 'code' in error && 'details' in error && 'metadata' in error;
}
