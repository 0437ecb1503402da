import { cancelQuery, ClientError, listRunning, type RunningQuery } from '@svc/client/internal';
import type { Api } from './api.ts';

/** SQL that runs, as `GET /queries` lists it. */
export interface RunningSql extends RunningQuery {
  /** While it is queued: how many statements are. */
  readonly queueLength?: number;
}

/**
 * Returns the SQL of a request; undefined if it does not run, or not yet. It is found in the list: a request for a query
 * that has just ended would be a 404, which browsers report as an error of the page.
 */
export async function readQuery(api: Api, id: string, signal?: AbortSignal): Promise<RunningSql | undefined> {
  const queries = await listRunning(api, { signal });
  const query = queries.find((one) => one.id === id);
  if (query?.queuePosition === undefined) return query;
  const queueLength = queries.filter(({ state, engine }) => state === 'queued' && engine === query.engine).length;
  // Queries of others are not listed, but count for the place.
  return queueLength < query.queuePosition ? query : { ...query, queueLength };
}

/** How long the server may take to end a query whose connection is closed: a large one has much memory to free. */
const NOTICE_MS = 2000;

/** Ends a query whose connection was closed, if it still runs: a proxy between may keep its own connection open. */
export async function endQuery(api: Api, id: string): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, NOTICE_MS));
  if (await readQuery(api, id)) await cancelQuery(api, id);
}

/** Whether an error says that the query was cancelled, from here or by another client. */
export function isCancelled(error: unknown): boolean {
  return error instanceof ClientError && error.code === 'cancelled';
}
