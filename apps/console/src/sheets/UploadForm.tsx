import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { UploadMode } from '../api/upload.ts';
import type { AppState } from '../state/app-state.ts';
import { formatBytes } from '../state/format.ts';
import { compressionOf, isTextFormat, type UploadOptions } from '../state/upload-plan.ts';
import { Icon } from '../panes/Icon.tsx';

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

/** Returns the value of a list that a `select` has. */
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
      <button type="button" class="quiet remove" aria-label={`Remove ${file.name}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
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
