import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { faultOf, optionsFor, type UploadOptions, uploadOf } from '../state/upload-plan.ts';
import { Dialog } from './Dialog.tsx';
import { Icon } from '../panes/Icon.tsx';
import { UploadForm } from './UploadForm.tsx';
import { uniqueId } from '@svc/client/internal';
import { takeTypedAhead } from './typed-ahead.ts';

interface Item {
  readonly id: string;
  readonly file: File;
  readonly options: UploadOptions;
}

const MAX_FILES = 100;

/** Files that are to become frames, each with its options. */
export function UploadSheet({ app }: { readonly app: AppState }): JSX.Element {
  const items = useSignal<readonly Item[]>([]);
  const picked = app.pickedFiles.value;
  useLayoutEffect(() => void takeTypedAhead(app), [app]);
  // Before the paint: Enter would press the button that closes the dialog.
  useLayoutEffect(() => {
    if (picked.length === 0) return;
    const added = picked.map((file) => ({
      id: uniqueId(),
      file,
      options: withMode(app, optionsFor(file.name)),
    }));
    const all = [...items.peek(), ...added];
    items.value = all.slice(0, MAX_FILES);
    if (all.length > MAX_FILES) app.notify(`The first ${MAX_FILES} files are taken. Upload the others after them.`);
    app.pickedFiles.value = [];
  }, [app, items, picked]);
  const count = items.value.length;
  useLayoutEffect(() => {
    // Enter then uploads, and what is typed is the name.
    document.querySelector<HTMLInputElement>('.upload-form input')?.focus();
  }, [count]);
  const close = (): void => {
    app.sheet.value = undefined;
  };
  const maxBytes = app.info.value?.limits.maxUploadBytes ?? Infinity;
  const faults = items.value.map(({ file, options }) => faultOf(options, file, maxBytes));
  const start = (event: Event): void => {
    event.preventDefault();
    if (faults.some((fault) => fault !== undefined)) return;
    for (const { file, options } of items.value) app.uploads.start(uploadOf(file, options));
    close();
  };
  return (
    <Dialog title="Upload files" name="upload-sheet" onClose={close}>
      <form onSubmit={start}>
        <FilePicker app={app} isEmpty={count === 0} />
        {items.value.map(({ id, file, options }, index) => (
          <UploadForm
            key={id}
            app={app}
            file={file}
            options={options}
            fault={faults[index]}
            onChange={(patch) =>
              (items.value = items.value.map((item) =>
                item.id === id ? { ...item, options: { ...item.options, ...patch } } : item,
              ))
            }
            onRemove={() => (items.value = items.value.filter((item) => item.id !== id))}
          />
        ))}
        {count > 0 && (
          <footer>
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button type="submit" class="primary" disabled={faults.some((fault) => fault !== undefined)}>
              {count === 1 ? 'Upload' : `Upload ${count} files`}
            </button>
          </footer>
        )}
      </form>
    </Dialog>
  );
}

/** A file with the name of a frame replaces it, if the user does not choose something else. */
function withMode(app: AppState, options: UploadOptions): UploadOptions {
  const isTaken = app.frames.peek().some(({ handle }) => handle === options.handle);
  return isTaken ? { ...options, mode: 'replace' } : options;
}

function FilePicker({ app, isEmpty }: { readonly app: AppState; readonly isEmpty: boolean }): JSX.Element {
  const formats = app.info.value?.formats.in.join(', ') ?? '';
  return (
    <label class={isEmpty ? 'picker' : 'picker small'}>
      <input
        type="file"
        multiple
        class="off-screen"
        onChange={(event) => {
          app.pickedFiles.value = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = '';
        }}
      />
      <Icon name={isEmpty ? 'upload' : 'plus'} />
      <span>{isEmpty ? 'Choose files, or drop them anywhere on the page' : 'Add files'}</span>
      {isEmpty && <small>{formats}, also as .gz or .zst</small>}
    </label>
  );
}
