import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { TsdbResponse } from '@svc/tsdb-proxy';
import type { Forward } from './forward-operation.ts';

/** Runs SQL in the time-series database and returns the result as the bytes of a Parquet file. */
export async function tsdbExport(
  call: Call,
  sql: string,
  forward: Forward['send'],
): Promise<ReadableStream<Uint8Array>> {
  const response = await forward(call, {
    path: '/exp',
    params: [
      ['query', sql],
      ['fmt', 'parquet'],
    ],
  });
  const { status, headers, body } = response;
  const isFile = status === 200 && !/json|text/i.test(headers['content-type'] ?? '');
  if (isFile && body !== null) return body;
  throw refusal(sql, status, await firstText(response));
}

/** Returns the error of an unsuccessful response, which is JSON if the database rejected the SQL. */
function refusal(sql: string, status: number, text: string): ServiceError {
  const { error, position } = parsed(text);
  if (typeof error !== 'string' || status >= 500) {
    return new ServiceError(
      'tsdb_failed',
      `The time-series database answered ${status} instead of sending a Parquet file.`,
    );
  }
  if (status === 403) return new ServiceError('permission_denied', error, { query: sql });
  return new ServiceError('invalid_sql', error, {
    query: sql,
    ...(Number.isSafeInteger(position) && { position: Number(position) }),
  });
}

function parsed(text: string): { readonly error?: unknown; readonly position?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

const MAX_TEXT_BYTES = 64 * 1024;

async function firstText({ body }: TsdbResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes > MAX_TEXT_BYTES) break;
  }
  return Buffer.concat(chunks).toString();
}
