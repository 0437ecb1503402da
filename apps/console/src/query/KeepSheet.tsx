import type { JSX } from 'preact';
import { ClientError, keepRequest, uniqueId, writtenFrame } from '@svc/client/internal';
import { type Api, type EngineName, type FrameInfo, toError } from '../api/api.ts';
import { Dialog } from '../widgets/Dialog.tsx';
import { ErrorBox } from '../widgets/ErrorBox.tsx';
import type { AppState } from '../state/app-state.ts';
import { countOf } from '../state/format.ts';
import { LIFETIMES } from '../state/lifetimes.ts';
import type { RunRequest } from './run.ts';
import { type ReadonlySignal, type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { endQuery } from '../api/statements.ts';

/** Asks for a name and a lifetime, and stores the whole answer of a statement as a frame. */
export function KeepSheet(props: {
  readonly app: AppState;
  readonly request: RunRequest;
  readonly onClose: () => void;
}): JSX.Element {
  const { app, request, onClose } = props;
  const show = async ({ rows, handle }: FrameInfo, isCancelled: () => boolean): Promise<void> => {
    app.notify(`Kept ${countOf(rows, 'row')} as ${handle}.`);
    await app.refreshFrames();
    // A user who has closed the sheet is elsewhere.
    if (isCancelled()) return;
    onClose();
    app.openFrame(handle);
  };
  const keeping = useKeep(app, request, show);
  const error = keeping.error.value;
  return (
    <Dialog title="Keep the answer as a frame" name="keep" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!keeping.isRunning.value) keeping.keep();
        }}
      >
        <p>The server runs the statement again and stores all of its rows.</p>
        <NameField keeping={keeping} />
        <LifetimeField keeping={keeping} />
        {error && <ErrorBox error={error} />}
        {((error instanceof ClientError && error.code === 'handle_exists') || keeping.canReplace.value) && (
          <label class="check">
            <input
              type="checkbox"
              checked={keeping.canReplace.value}
              onChange={(event) => (keeping.canReplace.value = event.currentTarget.checked)}
            />{' '}
            Replace the frame of this name
          </label>
        )}
        <KeepActions keeping={keeping} />
      </form>
    </Dialog>
  );
}

function NameField({ keeping }: { readonly keeping: Keeping }): JSX.Element {
  return (
    <div class="field">
      <label for="keep-handle">Name</label>
      <input
        id="keep-handle"
        value={keeping.handle.value}
        maxLength={128}
        placeholder="made by the server"
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => (keeping.handle.value = event.currentTarget.value)}
      />
    </div>
  );
}

function LifetimeField({ keeping }: { readonly keeping: Keeping }): JSX.Element {
  const choose = (value: string): void => {
    keeping.ttl.value = LIFETIMES.find(({ ttl }) => String(ttl) === value)?.ttl ?? null;
  };
  return (
    <div class="field">
      <label for="keep-ttl">How long to keep it</label>
      <select id="keep-ttl" value={String(keeping.ttl.value)} onChange={(event) => choose(event.currentTarget.value)}>
        {LIFETIMES.map(({ title, ttl }) => (
          <option key={title} value={String(ttl)}>
            {title}
          </option>
        ))}
        <option value="null">Until it is dropped</option>
      </select>
    </div>
  );
}

function KeepActions({ keeping }: { readonly keeping: Keeping }): JSX.Element {
  return (
    <footer class="actions">
      {keeping.isRunning.value ? (
        <>
          <button type="button" class="danger" onClick={() => keeping.cancel()}>
            Cancel
          </button>
          <progress aria-label="Keeping the answer" />
        </>
      ) : (
        <button type="submit" class="primary">
          Keep
        </button>
      )}
    </footer>
  );
}

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

/** The state of the sheet. Its request ends with the sheet. */
function useKeep(
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
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- it is another function at each render
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
  /** True if an existing frame may be replaced. */
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
