import { ServiceError, toServiceError } from '@svc/errors';
import type { Exchange } from './endpoint.ts';

/**
 * Chunks as the body of an answer, made only as fast as the client reads. A failure cuts the connection: what was sent
 * so far must not look like a whole answer.
 */
export function streamedBody(
  chunks: AsyncIterator<Uint8Array, unknown>,
  status: number,
  exchange: Exchange,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const result = await chunks.next();
          if (result.done !== true) return controller.enqueue(result.value);
          controller.close();
          exchange.report(status);
        } catch (thrown) {
          const { signal } = exchange.call;
          const error = toServiceError(signal.aborted ? signal.reason : thrown);
          exchange.report(status, error);
          const outgoing = exchange.c.env?.outgoing;
          if (outgoing === undefined) controller.error(error);
          else outgoing.destroy();
        }
      },
      async cancel() {
        exchange.report(status, new ServiceError('cancelled', 'The client left before the answer was whole.'));
        await chunks.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
