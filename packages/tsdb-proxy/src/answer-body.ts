import type { Exchange } from './exchange.ts';
import { silent } from './upstream-failures.ts';

/** The connection that the bytes of a body come from. */
export interface BodySource {
  /** Sends no more for now, apart from what is already read. */
  pause(): void;
  resume(): void;
  /** Closes the connection. */
  abort(reason: Error): void;
}

/** The body of an answer, and the end into which its bytes are put. */
export interface AnswerBody {
  readonly stream: ReadableStream<Uint8Array>;
  push(bytes: Uint8Array): void;
  close(): void;
}

/**
 * The body as it comes in: nothing is read that nobody asked for. The silence of the database is measured only while
 * somebody waits for bytes, so that a slow reader is not taken for a silent database.
 */
export function createAnswerBody(source: BodySource, exchange: Exchange, idleTimeoutMs: number): AnswerBody {
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined;
  let silence: NodeJS.Timeout | undefined;
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        sink = controller;
      },
      pull() {
        silence = setTimeout(() => exchange.abort(silent(idleTimeoutMs)), idleTimeoutMs);
        source.resume();
      },
      cancel() {
        clearTimeout(silence);
        exchange.end();
        source.abort(new Error('nobody reads the answer any more'));
      },
    },
    { highWaterMark: 0 },
  );
  exchange.onAbort((failure) => {
    clearTimeout(silence);
    sink?.error(failure);
  });
  return {
    stream,
    push(bytes) {
      clearTimeout(silence);
      // In this order: whoever waits for more resumes it at once.
      source.pause();
      sink?.enqueue(bytes);
    },
    close() {
      clearTimeout(silence);
      exchange.end();
      sink?.close();
    },
  };
}
