import { keepRequest, writtenFrame } from '@svc/client/internal';
import type { Api } from '../api/api.ts';
import type { EngineName, FrameInfo } from '../api/types.ts';

/** What to keep, and how. */
export interface KeepRequest {
  readonly sql: string;
  readonly engine: EngineName;
  /** The name of the frame; empty: the server makes one. */
  readonly handle: string;
  /** Seconds until it expires; null: never. */
  readonly ttl: number | null;
  /** Whether a frame of that name may be replaced. */
  readonly canReplace: boolean;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** An answer of the time-series database is usually kept to be joined once; the database has it anyway. */
export function defaultTtl(engine: EngineName): number | null {
  return engine === 'tsdb' ? 900 : null;
}

/** Stores the whole answer of a statement as a frame. The server runs the statement again. */
export async function keepAnswer(api: Api, request: KeepRequest): Promise<FrameInfo> {
  const { sql, engine, handle, ttl, canReplace, requestId, signal } = request;
  const options = { engine, handle: handle || undefined, ttl: ttl ?? undefined, ifNew: !canReplace, requestId, signal };
  return writtenFrame(await api.send(keepRequest(sql, options)));
}
