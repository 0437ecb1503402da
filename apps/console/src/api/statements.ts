import {
  cancelQuery,
  ClientError,
  cutOff,
  listRunning,
  queryRequest,
  readJson,
  type RunningQuery,
} from '@svc/client/internal';
import type { Api, ColumnInfo, EngineName } from './api.ts';

/** A short answer, read whole: 64-bit numbers and decimals are texts, so every digit is there. */
export interface AnswerTable {
  readonly columns: readonly ColumnInfo[];
  readonly rows: readonly (readonly unknown[])[];
}

/** How a statement is sent. */
export interface AskOptions {
  readonly engine: EngineName;
  readonly signal?: AbortSignal | undefined;
  /** The statement's id in `/queries`. */
  readonly requestId?: string;
  /** The greatest number of rows. Default: the server's. */
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

/** Running SQL, as `GET /queries` lists it. */
export interface RunningSql extends RunningQuery {
  /** While it is queued: how many statements are. */
  readonly queueLength?: number;
}

/**
 * Returns the SQL of a request; undefined if it does not run, or not yet. It is found in the list: a request for a query
 * that has just ended would be a 404, which browsers report as an error of the page.
 */
async function readQuery(api: Api, id: string, signal?: AbortSignal): Promise<RunningSql | undefined> {
  const queries = await listRunning(api, { signal });
  const query = queries.find((one) => one.id === id);
  if (query?.queuePosition === undefined) return query;
  const queueLength = queries.filter(({ state, engine }) => state === 'queued' && engine === query.engine).length;
  // Queries of others are not listed, but count for the place.
  return queueLength < query.queuePosition ? query : { ...query, queueLength };
}

/** Reports the SQL of a request until it has ended: first after `firstMs`, then every `everyMs`. It never throws. */
export async function watchQuery(
  api: Api,
  id: string,
  ended: AbortSignal,
  report: (query: RunningSql | undefined) => void,
  { firstMs, everyMs }: { readonly firstMs: number; readonly everyMs: number },
): Promise<void> {
  for (let waitMs = firstMs; !ended.aborted; waitMs = everyMs) {
    await pause(waitMs, ended);
    if (ended.aborted) return;
    // If the server is gone, the statement itself fails.
    const query = await readQuery(api, id, ended).catch(() => undefined);
    if (!ended.aborted) report(query);
  }
}

function pause(ms: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      ended.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    ended.addEventListener('abort', end);
  });
}

/** How long the server may take to end a query whose connection is closed: a large one has much memory to free. */
const NOTICE_MS = 2000;

/** Ends a query whose connection was closed, if it still runs: a proxy between may keep its own connection open. */
export async function endQuery(api: Api, id: string): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, NOTICE_MS));
  if (await readQuery(api, id)) await cancelQuery(api, id);
}

/** True if an error means the query was cancelled, from here or by another client. */
export function isCancelled(error: unknown): boolean {
  return error instanceof ClientError && error.code === 'cancelled';
}
