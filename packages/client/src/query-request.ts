import { limitOf, type RowsFormat, rowsRequest } from './frame-request.ts';
import type { ClientRequest, SingleRequest } from './http/request.ts';
import type { QueryOptions } from './options.ts';
import { exactJson } from './upload.ts';

/** Makes the request that runs SQL. */
export function queryRequest(
  sql: string,
  format: RowsFormat,
  options: QueryOptions,
): SingleRequest & Pick<ClientRequest, 'repeat'> {
  const { engine, params = [], signal, requestId } = options;
  const rows = rowsRequest(format, options);
  return {
    method: 'POST',
    path: rows.path,
    params: { ...rows.params, engine, limit: limitOf(options), param: params.map(exactJson) },
    headers: { 'content-type': 'application/sql' },
    body: sql,
    signal,
    requestId,
    // SQL over frames only reads; that of the time-series database, which may be the default, may write.
    repeat: engine === 'local' || engine === 'scheduler' ? 'read' : 'never',
  };
}
