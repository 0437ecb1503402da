import { ServiceError } from '@svc/errors';
import type { Engine, FrameStream, QueryResult } from '@svc/frames';
import { sliceStream } from '@svc/frames/internal';
import type { RecordBatch } from 'apache-arrow';
import type { RunningQuery } from './running/running-query.ts';
import type { QueryFramesOptions } from './service.ts';

/** Starts a statement; resolves when the first rows are ready. */
export async function startQuery(
  query: RunningQuery,
  engine: Engine,
  options: QueryFramesOptions,
  idleTimeoutMs: number,
): Promise<QueryResult> {
  const { params = [], offset = 0, limit = Infinity, columns, reuseBuffers = false, onTotal } = options;
  const { call, sql, monitor } = query;
  const answer = closeOnce(await engine.query(call, sql, { params, reuseBuffers, monitor }));
  const result = readWithIdleTimeout(answer, idleTimeoutMs, (error) => query.end(error));
  query.send(() => result.close());
  try {
    const slice = { offset, limit, ...(columns && { columns }), signal: call.signal };
    const part = onTotal === undefined ? sliceStream(result, slice) : sliceCounted(result, slice, onTotal);
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

/** As `sliceStream`, but reads on after the slice, and calls `onTotal` with the number of all rows. */
function sliceCounted(
  { schema, batches }: QueryResult,
  options: Parameters<typeof sliceStream>[1],
  onTotal: (rows: number) => void,
): FrameStream {
  const source = batches[Symbol.asyncIterator]();
  let total = 0;
  const next = async (): Promise<IteratorResult<RecordBatch, undefined>> => {
    const read = await source.next();
    if (read.done === true) return { done: true, value: undefined };
    total += read.value.numRows;
    return read;
  };
  // Without `return`: the end of the slice must not end the source.
  const part = sliceStream({ schema, batches: { [Symbol.asyncIterator]: () => ({ next }) } }, options);
  return {
    schema: part.schema,
    batches: (async function* () {
      yield* part.batches;
      while ((await next()).done !== true);
      onTotal(total);
    })(),
  };
}

async function* countRows(batches: QueryResult['batches'], query: RunningQuery): QueryResult['batches'] {
  for await (const batch of batches) {
    query.addRows(batch.numRows);
    yield batch;
  }
}

/**
 * Closes a query result if its reader pauses for too long: an open result occupies an engine that others wait for. `onLate`
 * is called then, with the error of the next read.
 */
function readWithIdleTimeout(
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
