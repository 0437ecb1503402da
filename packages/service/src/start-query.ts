import type { Engine, QueryResult } from '@svc/frames';
import { sliceStream } from '@svc/frames/internal';
import { readWithIdleTimeout } from './read-with-idle-timeout.ts';
import type { RunningQuery } from './running-query.ts';
import type { QueryFramesOptions } from './service.ts';

/** Starts a statement; resolves when the first rows are ready. */
export async function startQuery(
  query: RunningQuery,
  engine: Engine,
  options: QueryFramesOptions,
  idleTimeoutMs: number,
): Promise<QueryResult> {
  const { params = [], offset = 0, limit = Infinity, columns, reuseBuffers = false } = options;
  const { call, sql, monitor } = query;
  const answer = closeOnce(await engine.query(call, sql, { params, reuseBuffers, monitor }));
  const result = readWithIdleTimeout(answer, idleTimeoutMs, (error) => query.end(error));
  query.send(() => result.close());
  try {
    const part = sliceStream(result, { offset, limit, ...(columns && { columns }), signal: call.signal });
    return { schema: part.schema, batches: countRows(part.batches, query), close: () => result.close() };
  } catch (error) {
    result.close();
    throw error;
  }
}

/** The client, the reader and the end of a call may each close a result. */
function closeOnce(result: QueryResult): QueryResult {
  let isClosed = false;
  return {
    ...result,
    close() {
      if (isClosed) return;
      isClosed = true;
      result.close();
    },
  };
}

async function* countRows(batches: QueryResult['batches'], query: RunningQuery): QueryResult['batches'] {
  for await (const batch of batches) {
    query.addRows(batch.numRows);
    yield batch;
  }
}
