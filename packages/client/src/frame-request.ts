import type { SingleRequest } from './http/request.ts';
import type { SelectOptions, StreamOptions } from './options.ts';
import { quotedName } from './quoted-name.ts';

/** A format of rows. */
export type RowsFormat = StreamOptions['format'] | 'json';

/** Makes the request that reads rows of a frame. */
export function frameRequest(handle: string, format: RowsFormat, options: SelectOptions): SingleRequest {
  const { signal, requestId } = options;
  const { path, params } = rowsRequest(format, options);
  // Rows have a limit of 1000 unless there is another.
  const limit = limitOf(options) ?? (format === 'json' ? '1,' : undefined);
  return { path, params: { handle, ...params, limit }, signal, requestId };
}

/** The path of rows in a format, and the parameter of their columns. */
export function rowsRequest(format: RowsFormat, { columns }: SelectOptions): Pick<SingleRequest, 'path' | 'params'> {
  const cols = columns?.map(quotedName).join();
  return { path: format === 'json' ? 'exec' : 'exp', params: { fmt: format, cols } };
}

/** Writes which rows to read as the server counts them: from 1, both ends included. */
export function limitOf({ limit, offset = 0 }: SelectOptions): string | undefined {
  if (offset === 0 || limit === 0) return limit === undefined ? undefined : String(limit);
  return `${offset + 1},${limit === undefined ? '' : offset + limit}`;
}
