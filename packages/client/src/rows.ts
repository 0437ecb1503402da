// What a page needs to show rows: it loads neither the writing of frames nor the reader of JSON tables with it.
import type { SingleRequest } from './http/request.ts';
import type { SelectOptions, StreamOptions } from './options.ts';

/** A format of rows. */
export type RowsFormat = StreamOptions['format'] | 'json';

/** Makes the request for rows of a frame. */
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

/** Writes the range of rows as the server counts them: from 1, both ends included. */
export function limitOf({ limit, offset = 0 }: SelectOptions): string | undefined {
  if (offset === 0 || limit === 0) return limit === undefined ? undefined : String(limit);
  return `${offset + 1},${limit === undefined ? '' : offset + limit}`;
}

/** Quotes an entry of a list if it has a character of the list. */
export function quotedName(name: string): string {
  return /^[^",]+$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

const NUMERIC = /^(?:BYTE|SHORT|INT|U?LONG|LONG128|FLOAT|DOUBLE|DECIMAL\b.*)$/;

/** True if the values of a type are numbers, which are aligned at their right. */
export function isNumericType(type: string): boolean {
  return NUMERIC.test(type);
}
