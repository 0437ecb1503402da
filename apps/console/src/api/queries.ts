import type { Api } from './api.ts';
import { ApiError } from './api-error.ts';

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

/** Returns the SQL of a request; undefined if it does not run, or not yet. */
export async function readQuery(api: Api, id: string, signal: AbortSignal): Promise<RunningSql | undefined> {
  const response = await api.request(`/queries/${encodeURIComponent(id)}`, { signal, accept: [404] });
  if (response.status === 404) return undefined;
  const query: RunningSql = await response.json();
  return query;
}

/** Ends the SQL of a request. It is no error if it does not run. */
export async function cancelQuery(api: Api, id: string): Promise<void> {
  await api.request(`/queries/${encodeURIComponent(id)}`, { method: 'DELETE', accept: [404] });
}

/** Whether an error says that the query was cancelled, from here or by another client. */
export function isCancelled(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'cancelled';
}
