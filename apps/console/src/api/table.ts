import { ClientError, cutOff, queryRequest, readJson } from '@svc/client/internal';
import type { Api } from './api.ts';
import type { ColumnInfo, EngineName } from './types.ts';

/** A short answer, read whole: 64-bit numbers and decimals are texts, so every digit is there. */
export interface AnswerTable {
  readonly columns: readonly ColumnInfo[];
  readonly rows: readonly (readonly unknown[])[];
}

/** How a statement is sent. */
export interface AskOptions {
  readonly engine: EngineName;
  readonly signal?: AbortSignal | undefined;
  /** The id under which `/queries` shows the statement. */
  readonly requestId?: string;
  /** The greatest number of rows. Default: that of the server. */
  readonly limit?: number;
}

/** Runs a statement with a short answer. Throws as `Api.send` does. */
export async function askTable(api: Api, sql: string, options: AskOptions): Promise<AnswerTable> {
  const request = queryRequest(sql, 'json', options);
  const response = await api.send({ ...request, params: { ...request.params, quoteLargeNum: true } });
  const { columns, dataset } = await readJson<ExecAnswer>(response).catch((cause: unknown): ExecAnswer => {
    if (cause instanceof ClientError && cause.code === 'invalid_response') return {};
    throw cause;
  });
  if (columns === undefined || dataset === undefined) throw cutOff({ requestId: response.requestId });
  return { columns, rows: dataset };
}

interface ExecAnswer {
  readonly columns?: readonly ColumnInfo[];
  readonly dataset?: readonly (readonly unknown[])[];
}
