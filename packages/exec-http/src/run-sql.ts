import { onEachBatch } from '@svc/frames/internal';
import type { Service } from '@svc/service';
import type { EndpointResponse } from './endpoint-response.ts';
import type { RequestContext } from './request-context.ts';
import type { SqlRequest } from './exec-request.ts';
import { canReuseBuffers, tableHeaders, writeTable } from './write-table.ts';

/** Responds with the rows of an SQL statement over frames. */
export async function runSql(
  service: Service,
  context: RequestContext,
  request: SqlRequest,
): Promise<EndpointResponse> {
  const { call } = context;
  context.format = request.format;
  const { sql, engine, params, rows, columns } = request;
  const reuseBuffers = canReuseBuffers(request.format);
  const startNs = process.hrtime.bigint();
  const result = await service.query(call, sql, { engine, params, ...rows, ...(columns && { columns }), reuseBuffers });
  const firstRowsNs = process.hrtime.bigint();
  const timings = () => ({
    execute: Number(firstRowsNs - startNs),
    encode: Number(process.hrtime.bigint() - firstRowsNs),
  });
  context.rows = 0;
  const stream = onEachBatch(result, ({ numRows }) => {
    context.rows = (context.rows ?? 0) + numRows;
  });
  const table = { stream, query: sql, timings, close: () => result.close() };
  return {
    headers: tableHeaders('query', request.format),
    body: writeTable(service, call, table, request),
    reuseBuffers,
    isPacked: request.format === 'parquet',
  };
}
