import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError } from '../api/api-error.ts';
import { endQuery } from '../api/queries.ts';
import { Dialog } from '../panes/Dialog.tsx';
import { ErrorBox } from '../panes/ErrorBox.tsx';
import type { AppState } from '../state/app-state.ts';
import { countOf } from '../state/format.ts';
import { defaultTtl, keepAnswer, LIFETIMES } from './keep.ts';
import type { RunRequest } from './run.ts';

/** Asks for a name and a lifetime, and stores the whole answer of a statement as a frame. */
export function KeepSheet(props: {
  readonly app: AppState;
  readonly request: RunRequest;
  readonly onClose: () => void;
}): JSX.Element {
  const { app, request, onClose } = props;
  const handle = useSignal('');
  const ttl = useSignal(defaultTtl(request.engine));
  const canReplace = useSignal(false);
  const error = useSignal<Error | undefined>(undefined);
  const running = useSignal<AbortController | undefined>(undefined);
  const requestId = useRef('');
  const stop = (): void => {
    running.peek()?.abort();
    if (running.peek()) endQuery(app.api, requestId.current).catch(() => undefined);
    running.value = undefined;
  };
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // The first thing to type is the name.
    field.current?.focus();
    return stop;
  }, []);
  const keep = async (): Promise<void> => {
    const abort = new AbortController();
    running.value = abort;
    error.value = undefined;
    requestId.current = crypto.randomUUID();
    const { sql, engine } = request;
    const options = { handle: handle.value.trim(), ttl: ttl.value, canReplace: canReplace.value };
    try {
      const { signal } = abort;
      const frame = await keepAnswer(app.api, { sql, engine, ...options, requestId: requestId.current, signal });
      running.value = undefined;
      app.notify(`Kept ${countOf(frame.rows, 'row')} as ${frame.handle}.`);
      await app.refreshFrames();
      onClose();
      app.openFrame(frame.handle);
    } catch (thrown) {
      if (abort.signal.aborted) return;
      running.value = undefined;
      error.value = thrown instanceof Error ? thrown : new Error(String(thrown));
    }
  };
  const isTaken = error.value instanceof ApiError && error.value.code === 'handle_exists';
  return (
    <Dialog title="Keep the answer as a frame" name="keep" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void keep();
        }}
      >
        <p>The server runs the statement again and stores all of its rows.</p>
        <div class="field">
          <label for="keep-handle">Name</label>
          <input
            id="keep-handle"
            ref={field}
            value={handle.value}
            maxLength={128}
            placeholder="made by the server"
            autoComplete="off"
            spellcheck={false}
            onInput={(event) => (handle.value = event.currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for="keep-ttl">Keep it for</label>
          <select
            id="keep-ttl"
            value={String(ttl.value)}
            onChange={(event) => {
              ttl.value = LIFETIMES.find((one) => String(one.ttl) === event.currentTarget.value)?.ttl ?? null;
            }}
          >
            {LIFETIMES.map((one) => (
              <option key={one.title} value={String(one.ttl)}>
                {one.title}
              </option>
            ))}
          </select>
        </div>
        {error.value && <ErrorBox error={error.value} />}
        {(isTaken || canReplace.value) && (
          <label class="check">
            <input
              type="checkbox"
              checked={canReplace.value}
              onChange={(event) => (canReplace.value = event.currentTarget.checked)}
            />{' '}
            Replace the frame of this name
          </label>
        )}
        <footer class="actions">
          {running.value ? (
            <button type="button" class="danger" onClick={stop}>
              Cancel
            </button>
          ) : (
            <button type="submit" class="primary">
              Keep
            </button>
          )}
          {running.value && <progress aria-label="Keeping the answer" />}
        </footer>
      </form>
    </Dialog>
  );
}
