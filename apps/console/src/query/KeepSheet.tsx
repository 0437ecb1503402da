import type { JSX } from 'preact';
import { ClientError } from '@svc/client/internal';
import type { FrameInfo } from '../api/types.ts';
import { Dialog } from '../sheets/Dialog.tsx';
import { ErrorBox } from '../panes/ErrorBox.tsx';
import type { AppState } from '../state/app-state.ts';
import { countOf } from '../state/format.ts';
import { LIFETIMES } from '../state/lifetimes.ts';
import type { RunRequest } from './run.ts';
import { type Keeping, useKeep } from './use-keep.ts';

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
