import { ClientError, cutOff, errorFromText, invalidResponse } from './http/client-error.ts';
import type { ClientResponse } from './http/request.ts';
import { rowReader } from './json/cell-values.ts';
import { InexactError, type Longs } from './json/exact-json.ts';
import { createJsonTableReader } from './json/json-table-reader.ts';
import { TableError } from './json/table-error.ts';
import type { Column, Row } from './json/table-types.ts';

/** The rows of a frame or of SQL, which can be read once. */
export interface Result<R = Row> extends AsyncIterable<R> {
  /** The id of the request. */
  readonly id: string;
  /** Empty if the statement has no rows, such as an INSERT of the time-series database. */
  readonly columns: readonly Column[];
  /** How many rows the whole frame has; undefined for SQL. */
  readonly total: number | undefined;
  /** The version of the frame; undefined for SQL. */
  readonly version: string | undefined;
  /** Reads all rows into memory. */
  rows(): Promise<R[]>;
  /** The rows that arrive together, which is faster than one by one. */
  batches(): AsyncIterable<readonly R[]>;
}

/** How a result is read. */
export interface ResultOptions {
  readonly longs: Longs;
  /** Called if the rows are not read to their end. */
  readonly onLeft: () => void;
}

/** Makes the result of a response, when its columns have come. */
export async function readResult(response: ClientResponse, { longs, onLeft }: ResultOptions): Promise<Result> {
  const { headers, requestId, status } = response;
  const reader = createJsonTableReader();
  const push = (chunk: Uint8Array): readonly (readonly string[])[] => checked(() => reader.push(chunk), requestId);
  // No rows come before the columns.
  let first: readonly (readonly string[])[] = [];
  while (reader.columns === undefined && !reader.isComplete) {
    const { done, value } = await response.body.next();
    if (done === true) throw cutOff({ requestId });
    first = push(value);
  }
  if (reader.isComplete) throwIfFailed();
  const columns = reader.columns ?? [];
  const toRow = rowReader(columns, longs);
  const rowsOf = (cells: readonly (readonly string[])[]): Row[] => checked(() => cells.map(toRow), requestId);

  /** The time-series database reports some errors with status 200, even after rows. */
  function throwIfFailed(): void {
    if (!reader.members.has('error')) return;
    throw errorFromText(status, JSON.stringify(Object.fromEntries(reader.members)), { requestId });
  }

  let isRead = false;
  async function* batches(): AsyncGenerator<readonly Row[], void> {
    if (isRead) throw new TypeError('The rows of this result have been read already.');
    isRead = true;
    try {
      if (first.length > 0) yield rowsOf(first);
      first = [];
      for await (const chunk of response.body) {
        const cells = push(chunk);
        if (cells.length > 0) yield rowsOf(cells);
      }
      if (!reader.isComplete) throw cutOff({ requestId });
      throwIfFailed();
    } finally {
      await response.body.return();
      if (!reader.isComplete) onLeft();
    }
  }

  const total = headers.get('x-total-count');
  return {
    id: requestId,
    columns,
    total: total === null ? undefined : Number(total),
    version: headers.get('etag')?.replace(/^(?:W\/)?"(.*?)(?:-gzip)?"$/, '$1'),
    batches,
    async rows() {
      const rows: Row[] = [];
      for await (const batch of batches()) for (const row of batch) rows.push(row);
      return rows;
    },
    async *[Symbol.asyncIterator]() {
      for await (const batch of batches()) yield* batch;
    },
  };
}

/** Names the request in an error about its bytes or values. */
function checked<T>(read: () => T, requestId: string): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof TableError) {
      throw invalidResponse(cause.message, { requestId, cause });
    }
    if (cause instanceof InexactError) {
      const hint = "Read it with longs: 'bigint' or 'string'.";
      throw new ClientError(cause.message, { code: 'inexact_value', hint, requestId, cause });
    }
    throw cause;
  }
}
