import { ServiceError } from '@svc/errors';
import type { QueryResult } from '@svc/frames';

/**
 * Closes a query result if its reader pauses for too long: an open result occupies an engine that others wait for. `onLate`
 * is called then, with the error of the next read.
 */
export function readWithIdleTimeout(
  result: QueryResult,
  idleTimeoutMs: number,
  onLate: (error: ServiceError) => void,
): QueryResult {
  async function* batches(): QueryResult['batches'] {
    let lateness: ServiceError | undefined;
    const close = (): void => {
      lateness = notRead(idleTimeoutMs);
      result.close();
      onLate(lateness);
    };
    for await (const batch of result.batches) {
      const timer = setTimeout(close, idleTimeoutMs).unref();
      try {
        yield batch;
      } finally {
        clearTimeout(timer);
      }
      if (lateness !== undefined) throw lateness;
    }
  }
  return { schema: result.schema, batches: batches(), close: () => result.close() };
}

function notRead(idleTimeoutMs: number): ServiceError {
  return new ServiceError('deadline_exceeded', `The query result was not read for ${idleTimeoutMs} ms.`, {
    hint: 'Read the result without long pauses, or store it as a frame and read that.',
  });
}
