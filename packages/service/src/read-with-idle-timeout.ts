import { ServiceError } from '@svc/errors';
import type { QueryResult } from '@svc/frames';

/** An answer that is closed when its reader pauses for too long: until then it holds a place that others wait for. */
export function readWithIdleTimeout(answer: QueryResult, idleTimeoutMs: number): QueryResult {
  async function* batches(): QueryResult['batches'] {
    let isLate = false;
    const close = (): void => {
      isLate = true;
      answer.close();
    };
    for await (const batch of answer.batches) {
      const timer = setTimeout(close, idleTimeoutMs).unref();
      try {
        yield batch;
      } finally {
        clearTimeout(timer);
      }
      if (isLate) {
        throw new ServiceError('deadline_exceeded', `The answer was not read on for ${idleTimeoutMs} ms.`, {
          hint: 'Read the answer without long pauses, or keep it as a frame and read that.',
        });
      }
    }
  }
  return { schema: answer.schema, batches: batches(), close: () => answer.close() };
}
