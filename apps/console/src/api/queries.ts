import type { Api } from './api.ts';
import { ApiError } from './api-error.ts';
import { jsonOf } from './json-of.ts';

/** SQL that runs, as `GET /queries/{id}` shows it. */
export interface RunningSql {
  readonly state: 'queued' | 'running' | 'sending';
  readonly elapsedMs: number;
  /** While it is queued: its place, from 1. */
  readonly queuePosition?: number;
  /** While it is queued: how many statements are. */
  readonly queueLength?: number;
  /** From 0 to 1; null if it is unknown. */
  readonly progress: number | null;
  readonly rowsProcessed?: number;
  readonly rowsTotal?: number;
}

/**
 * Returns the SQL of a request; undefined if it does not run, or not yet. It is found in the list: a request for a query
 * that has just ended would be a 404, which browsers report as an error of the page.
 */
export async function readQuery(api: Api, id: string, signal?: AbortSignal): Promise<RunningSql | undefined> {
  const response = await api.request('/queries', { ...(signal && { signal }) });
  const { queries } = await jsonOf<{ readonly queries: readonly ListedSql[] }>(response);
  const query = queries.find((one) => one.id === id);
  if (query?.queuePosition === undefined) return query;
  const queueLength = queries.filter(({ state, engine }) => state === 'queued' && engine === query.engine).length;
  // Queries of others are not listed, but count for the place.
  return queueLength < query.queuePosition ? query : { ...query, queueLength };
}

interface ListedSql extends RunningSql {
  readonly id: string;
  readonly engine: string;
}

/** How long the server may take to end a query whose connection is closed: a large one has much memory to free. */
const NOTICE_MS = 2000;

/** Ends a query whose connection was closed, if it still runs: a proxy between may keep its own connection open. */
export async function endQuery(api: Api, id: string): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, NOTICE_MS));
  const query = await readQuery(api, id);
  if (query) await api.request(`/queries/${encodeURIComponent(id)}`, { method: 'DELETE', accept: [404] });
}

/** Whether an error says that the query was cancelled, from here or by another client. */
export function isCancelled(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'cancelled';
}
