import type { ResultFormat } from '@svc/frames';
import { ARROW_FILE_TYPE, outputContentType } from '../args/file-formats.ts';
import type { Request } from '../client/client.ts';

/** The rows to read, and how. */
export interface RowsWanted {
  readonly handle: string;
  readonly format: ResultFormat;
  /** An Arrow IPC file instead of a stream: of a whole frame. */
  readonly isArrowFile: boolean;
  /** Parameters that select rows and columns. */
  readonly params?: Readonly<Record<string, string>>;
}

/** Returns the request for the rows of a frame. */
export function rowsRequest({ handle, format, isArrowFile, params = {} }: RowsWanted): Request {
  const common = { method: 'GET', isLong: true } as const;
  if (isArrowFile) {
    const path = `files/${encodeURIComponent(handle)}.arrow`;
    return { ...common, path, expects: { contentType: ARROW_FILE_TYPE } };
  }
  return {
    ...common,
    path: format === 'json' ? 'exec' : 'exp',
    params: { handle, fmt: format, ...params },
    expects: { contentType: outputContentType(format) },
  };
}
