import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import {
  compressionOf,
  faultOf,
  isTextFormat,
  optionsFor,
  type UploadMode,
  uploadOf,
  type UploadOptions,
} from '../api/upload.ts';
import { Dialog } from '../widgets/Dialog.tsx';
import { Icon, IconButton } from '../widgets/Icon.tsx';
import { uniqueId } from '@svc/client/internal';
import { takeTypedAhead } from './sheets.tsx';
import { formatBytes } from '../state/format.ts';

interface Item {
  readonly id: string;
  readonly file: File;
  readonly options: UploadOptions;
}

const MAX_FILES = 100;

/** Files to upload, each with its options. */
export function UploadSheet({ app }: { readonly app: AppState }): JSX.Element {
  const items = useSignal<readonly Item[]>([]);
  const picked = app.pickedFiles.value;
  useLayoutEffect(() => void takeTypedAhead(app), [app]);
  // Before the paint: Enter would press the close button.
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

interface FormProps {
  readonly app: AppState;
  readonly file: File;
  readonly options: UploadOptions;
  readonly fault: string | undefined;
  readonly onChange: (patch: Partial<UploadOptions>) => void;
  readonly onRemove: () => void;
}

const MODES: readonly [UploadMode, ...UploadMode[]] = ['create', 'replace', 'append'];
const HEADERS: readonly [UploadOptions['header'], ...UploadOptions['header'][]] = ['', 'true', 'false'];

/** Returns the chosen value of a `select`. */
function chosen<T extends string>(values: readonly [T, ...T[]], value: string): T {
  return values.find((one) => one === value) ?? values[0];
}

/** The name and the options of one file. */
export function UploadForm({ app, file, options, fault, onChange, onRemove }: FormProps): JSX.Element {
  const isTaken = app.frames.value.some(({ handle }) => handle === options.handle);
  const formats = app.info.value?.formats.in ?? [];
  const compression = compressionOf(file.name);
  return (
    <fieldset class="upload-form">
      <legend>
        {file.name}{' '}
        <span>
          {formatBytes(file.size)}
          {compression && `, ${compression}`}
        </span>
      </legend>
      <IconButton icon="close" look="remove" label={`Remove ${file.name}`} onClick={onRemove} />
      <div class="fields">
        <Field label="Name of the frame">
          {(id) => (
            <input
              id={id}
              value={options.handle}
              required
              spellcheck={false}
              autocomplete="off"
              aria-invalid={fault !== undefined}
              onInput={(event) => onChange({ handle: event.currentTarget.value })}
            />
          )}
        </Field>
        <Field label="Format">
          {(id) => (
            <select
              id={id}
              value={options.format}
              onChange={(event) => onChange({ format: event.currentTarget.value })}
            >
              <option value="">Recognize</option>
              {formats.map((format) => (
                <option key={format} value={format}>
                  {format}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={isTaken ? 'The frame exists' : 'If the frame exists'}>
          {(id) => (
            <select
              id={id}
              value={options.mode}
              onChange={(event) => onChange({ mode: chosen(MODES, event.currentTarget.value) })}
            >
              <option value="create">Refuse</option>
              <option value="replace">Replace it</option>
              <option value="append">Append to it</option>
            </select>
          )}
        </Field>
        <TextField label="Expires after seconds" name="ttl" hint="never" options={options} onChange={onChange} />
      </div>
      {fault && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      {isTextFormat(options.format) && <ReadingOptions options={options} onChange={onChange} />}
    </fieldset>
  );
}

type OptionProps = Pick<FormProps, 'onChange' | 'options'>;

/** How the text of a file is read. Most files need none of it. */
function ReadingOptions({ options, onChange }: OptionProps): JSX.Element {
  const props = { options, onChange };
  return (
    <details>
      <summary>Reading options</summary>
      <div class="fields">
        <TextField label="Columns and types" name="columns" hint="id:LONG,name:STRING" {...props} />
        {options.format === 'csv' && (
          <>
            <TextField label="Delimiter" name="delimiter" hint="detected" {...props} />
            <Field label="First line">
              {(id) => (
                <select
                  id={id}
                  value={options.header}
                  onChange={(event) => onChange({ header: chosen(HEADERS, event.currentTarget.value) })}
                >
                  <option value="">Detect</option>
                  <option value="true">Names of the columns</option>
                  <option value="false">Values</option>
                </select>
              )}
            </Field>
            <TextField label="Text for null" name="nullText" hint="the empty text" {...props} />
            <TextField label="Encoding" name="encoding" hint="utf-8" {...props} />
            <TextField label="Lines to skip" name="skip" hint="0" {...props} />
            <TextField label="Dates" name="dateFormat" hint="%d/%m/%Y" {...props} />
            <TextField label="Timestamps" name="timestampFormat" hint="%d/%m/%Y %H:%M" {...props} />
          </>
        )}
      </div>
    </details>
  );
}

type TextOption = Exclude<keyof UploadOptions, 'format' | 'handle' | 'header' | 'mode'>;

function TextField(
  props: OptionProps & { readonly label: string; readonly name: TextOption; readonly hint: string },
): JSX.Element {
  const { label, name, hint, options, onChange } = props;
  return (
    <Field label={label}>
      {(id) => (
        <input
          id={id}
          value={options[name]}
          placeholder={hint}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => onChange({ [name]: event.currentTarget.value })}
        />
      )}
    </Field>
  );
}

function Field({
  label,
  children,
}: {
  readonly label: string;
  readonly children: (id: string) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
    </div>
  );
}
