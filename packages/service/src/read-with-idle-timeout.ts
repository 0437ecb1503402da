import { ServiceError } from '@svc/errors';
import type { QueryResult } from '@svc/frames';

/** Closes a query result if its reader pauses for too long: an open result occupies an engine that others wait for. */
export function readWithIdleTimeout(result: QueryResult, idleTimeoutMs: number): QueryResult {
  async function* batches(): QueryResult['batches'] {
    let isLate = false;
    const close = (): void => {
      isLate = true;
      result.close();
    };
    for await (const batch of result.batches) {
      const timer = setTimeout(close, idleTimeoutMs).unref();
      try {
        yield batch;
      } finally {
        clearTimeout(timer);
      }
      if (isLate) {
        throw new ServiceError('deadline_exceeded', `The query result was not read for ${idleTimeoutMs} ms.`, {
          hint: 'Read the result without long pauses, or store it as a frame and read that.',
        });
      }
    }
  }
  return { schema: result.schema, batches: batches(), close: () => result.close() };
}
