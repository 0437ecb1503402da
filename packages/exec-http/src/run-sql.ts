import { ServiceError } from '@svc/errors';
import { onEachBatch } from '@svc/frames/internal';
import type { Service } from '@svc/service';
import type { EndpointResponse } from './endpoint-response.ts';
import type { RequestContext } from './request-context.ts';
import type { SqlRequest } from './exec-request.ts';
import { serverTiming } from './queries/server-timing.ts';
import type { FullStatement } from './questdb/short-statement.ts';
import { canReuseBuffers, tableHeaders, writeTable } from './write-table.ts';

/** Responds with the rows of an SQL statement over frames. */
export async function runSql(
  service: Service,
  context: RequestContext,
  request: SqlRequest,
): Promise<EndpointResponse> {
  const { call } = context;
  context.format = request.format;
  const { sql, engine, params, rows, columns, full = { sql, shift: 0, shiftedFrom: 0 } } = request;
  // Without a limit, the rows of the response are all.
  const counting = request.countsAll && request.format === 'json' && (rows.offset > 0 || rows.limit !== undefined);
  let total = 0;
  const reuseBuffers = canReuseBuffers(request.format);
  const startNs = process.hrtime.bigint();
  const options = { engine, params, ...rows, ...(columns && { columns }), reuseBuffers };
  const onTotal = (count: number): void => void (total = count);
  const result = await service
    .query(call, full.sql, { ...options, ...(counting && { onTotal }) })
    .catch((error: unknown) => {
      throw request.full === undefined ? error : inShortForm(error, sql, full);
    });
  const firstRowsNs = process.hrtime.bigint();
  const timings = () => ({
    execute: Number(firstRowsNs - startNs),
    encode: Number(process.hrtime.bigint() - firstRowsNs),
  });
  context.rows = 0;
  const stream = onEachBatch(result, ({ numRows }) => {
    context.rows = (context.rows ?? 0) + numRows;
  });
  const onBytes = (bytes: number): void => result.sent(bytes);
  const table = {
    stream,
    query: sql,
    ...(counting && { count: () => total }),
    timings,
    onBytes,
    close: (error?: unknown) => result.close(error),
  };
  return {
    headers: { ...tableHeaders('query', request), ...serverTiming(result.timing) },
    body: writeTable(service, call, table, request),
    reuseBuffers,
    isPacked: request.format === 'parquet',
  };
}

/** Returns the error of a full statement as one of the short statement that the client sent. */
function inShortForm(error: unknown, query: string, { shift, shiftedFrom }: FullStatement): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'invalid_sql') return error;
  const { code, message, hint, position } = error;
  const back = position !== undefined && position >= shiftedFrom ? shift : 0;
  const at = position === undefined ? {} : { position: Math.max(0, position - back) };
  return new ServiceError(code, message, { hint, query, ...at, cause: error });
}
