import { type ReadonlySignal, type Signal, useSignal } from '@preact/signals';
import { keepRequest, uniqueId, writtenFrame } from '@svc/client/internal';
import { useEffect, useRef } from 'preact/hooks';
import type { Api } from '../api/api.ts';
import { endQuery } from '../api/queries.ts';
import type { EngineName, FrameInfo } from '../api/types.ts';
import type { AppState } from '../state/app-state.ts';
import { toError } from '../state/to-error.ts';
import type { RunRequest } from './run.ts';

/** What is asked before an answer is kept, and how the keeping goes. */
export interface Keeping {
  readonly handle: Signal<string>;
  readonly ttl: Signal<number | null>;
  readonly canReplace: Signal<boolean>;
  readonly isRunning: ReadonlySignal<boolean>;
  readonly error: ReadonlySignal<Error | undefined>;
  keep(): void;
  cancel(): void;
}

/** Returns the state of the sheet that keeps the answer of a statement. What still runs ends with the sheet. */
export function useKeep(
  app: AppState,
  request: RunRequest,
  onKept: (frame: FrameInfo, isCancelled: () => boolean) => Promise<void>,
): Keeping {
  const handle = useSignal('');
  const ttl = useSignal(defaultTtl(request.engine));
  const canReplace = useSignal(false);
  const isRunning = useSignal(false);
  const error = useSignal<Error | undefined>(undefined);
  const running = useRef<{ readonly requestId: string; readonly abort: AbortController } | undefined>(undefined);

  const cancel = (): void => {
    const { current } = running;
    running.current = undefined;
    isRunning.value = false;
    if (current === undefined) return;
    current.abort.abort();
    endQuery(app.api, current.requestId).catch(() => undefined);
  };
  const keep = async (): Promise<void> => {
    const abort = new AbortController();
    const requestId = uniqueId();
    running.current = { requestId, abort };
    isRunning.value = true;
    error.value = undefined;
    const { sql, engine } = request;
    const options = { handle: handle.value.trim(), ttl: ttl.value, canReplace: canReplace.value };
    try {
      const frame = await keepAnswer(app.api, { sql, engine, ...options, requestId, signal: abort.signal });
      // Still running for the user, who must not keep it twice.
      await onKept(frame, () => abort.signal.aborted);
      running.current = undefined;
    } catch (thrown) {
      if (abort.signal.aborted) return;
      running.current = undefined;
      error.value = toError(thrown);
    }
    isRunning.value = false;
  };
  useEffect(() => cancel, []);
  return { handle, ttl, canReplace, isRunning, error, keep: () => void keep(), cancel };
}

/** What to keep, and how. */
interface KeepRequest {
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
