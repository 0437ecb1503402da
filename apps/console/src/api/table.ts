import type { Api } from './api.ts';
import { ServerGone } from './api-error.ts';
import type { ColumnInfo, EngineName } from './types.ts';

/** A short answer, read whole: 64-bit numbers and decimals are texts, so every digit is there. */
export interface AnswerTable {
  readonly columns: readonly ColumnInfo[];
  readonly rows: readonly (readonly unknown[])[];
}

/** How a statement is sent. */
export interface AskOptions {
  readonly engine: EngineName;
  readonly signal?: AbortSignal;
  /** The id under which `/queries` shows the statement. */
  readonly requestId?: string;
}

/** Runs a statement with a short answer. Throws as `Api.request` does; a cut-off answer is a `ServerGone`. */
export async function askTable(api: Api, sql: string, options: AskOptions): Promise<AnswerTable> {
  const { engine, signal, requestId } = options;
  const response = await api.request('/exec', {
    method: 'POST',
    params: { fmt: 'json', engine, quoteLargeNum: true },
    headers: { 'content-type': 'application/sql' },
    body: sql,
    ...(signal && { signal }),
    ...(requestId !== undefined && { requestId }),
  });
  try {
    const answer: unknown = await response.json();
    if (!isTable(answer)) throw new TypeError('The answer is not a table.');
    return { columns: answer.columns, rows: answer.dataset };
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ServerGone('The server ended the answer before it was complete.', { cause });
  }
}

interface ExecAnswer {
  readonly columns: readonly ColumnInfo[];
  readonly dataset: readonly (readonly unknown[])[];
}

function isTable(value: unknown): value is ExecAnswer {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && 'columns' in value && 'dataset' in value && Array.isArray(value.dataset);
}
