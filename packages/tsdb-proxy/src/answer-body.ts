import type { ServiceError } from '@svc/errors';
import type { Exchange } from './exchange.ts';
import { brokenOff, silent } from './upstream-failures.ts';

/**
 * The body as it comes in, pulled piece by piece: nothing is read that nobody asked for. The silence of the database is
 * measured only while somebody waits for bytes, so that a slow reader is not taken for a silent database.
 */
export function answerBody(
  source: ReadableStream<Uint8Array>,
  exchange: Exchange,
  idleTimeoutMs: number,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  // This is what closes the connection: `fetch` forgets its signal once the head is there and memory is collected.
  // That it fails where there is no connection left is no news.
  const discard = (reason?: ServiceError) => reader.cancel(reason).catch(() => undefined);

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const onAbort = () => {
          controller.error(exchange.failure);
          void discard(exchange.failure);
        };
        exchange.signal.addEventListener('abort', onAbort, { once: true });
      },
      async pull(controller) {
        const timer = setTimeout(() => exchange.abort(silent(idleTimeoutMs)), idleTimeoutMs);
        try {
          const { done, value } = await reader.read();
          if (exchange.isOver) return;
          if (!done) return controller.enqueue(value);
          exchange.end();
          controller.close();
        } catch (error) {
          exchange.abort(brokenOff(error));
        } finally {
          clearTimeout(timer);
        }
      },
      async cancel() {
        exchange.end();
        await discard();
      },
    },
    { highWaterMark: 0 },
  );
}
