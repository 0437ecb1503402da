import { ServiceError } from '@svc/errors';
import { withResolvers } from '@svc/frames/internal';

/** Acknowledges a message of an upload. Waits while the client has many acknowledgements to read. */
export type Acknowledge = (metadata: Uint8Array) => Promise<void>;

/** The most acknowledgements, and the most bytes of them, that wait for the client to read them. */
const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 1024 ** 2;

/**
 * Runs an upload. Yields the metadata that it acknowledges as the client reads them, and its result at the end. If the
 * upload fails, throws its error instead of what waits. A client that reads nothing for `idleTimeoutMs` while the most
 * acknowledgements wait fails the upload.
 */
export async function* withAcknowledgements(
  run: (acknowledge: Acknowledge) => Promise<Uint8Array>,
  idleTimeoutMs: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let isAbandoned = false;
  let added = withResolvers<void>();
  let taken = withResolvers<void>();
  let outcome: { readonly result: Uint8Array } | { readonly error: unknown } | undefined;

  function isFull(): boolean {
    return !isAbandoned && (waiting.length > MAX_WAITING || waitingBytes > MAX_WAITING_BYTES);
  }

  async function acknowledge(metadata: Uint8Array): Promise<void> {
    if (metadata.length > MAX_WAITING_BYTES) throw tooLarge(metadata.length);
    // A copy: the metadata is a part of a message, which would stay in memory as a whole.
    waiting.push(new Uint8Array(metadata));
    waitingBytes += metadata.length;
    added.resolve();
    while (isFull()) await beforeTimeout(taken.promise, idleTimeoutMs);
  }

  function end(how: NonNullable<typeof outcome>): void {
    outcome = how;
    added.resolve();
  }

  run(acknowledge).then(
    (result) => end({ result }),
    (error: unknown) => end({ error }),
  );
  try {
    for (;;) {
      await added.promise;
      added = withResolvers();
      while (waiting.length > 0) {
        if (outcome !== undefined && 'error' in outcome) throw outcome.error;
        const next = waiting.shift() ?? new Uint8Array(0);
        yield next;
        waitingBytes -= next.length;
        taken.resolve();
        taken = withResolvers();
      }
      if (outcome === undefined) continue;
      if ('error' in outcome) throw outcome.error;
      return yield outcome.result;
    }
  } finally {
    isAbandoned = true;
    taken.resolve();
  }
}

async function beforeTimeout(promise: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(unread(timeoutMs)), timeoutMs);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge(bytes: number): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The app_metadata of a message has ${bytes} bytes, and at most ${MAX_WAITING_BYTES} are acknowledged.`,
    { hint: 'Send a short app_metadata, such as a sequence number.' },
  );
}

function unread(timeoutMs: number): ServiceError {
  return new ServiceError(
    'deadline_exceeded',
    `The client did not read the acknowledgements of its upload for ${timeoutMs} ms.`,
    { hint: 'Read the results of DoPut while you write, or write without app_metadata.' },
  );
}
