import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import type { ColumnInfo } from '../api/types.ts';
import { copyText } from '../panes/copy-text.ts';
import type { RowSource } from '../rows/row-source.ts';
import { visibleText } from '../rows/visible-text.ts';
import { countOf, formatCount } from '../state/format.ts';
import { hexText, indentedJson, MAX_SHEET_CHARACTERS } from './cell-views.ts';

interface Props {
  readonly source: RowSource;
  readonly row: number;
  readonly column: number;
  readonly onClose: () => void;
}

type Form = 'text' | 'json' | 'hex';
const TITLES: Readonly<Record<Form, string>> = { text: 'Text', json: 'JSON', hex: 'Hex' };

/** A value that is being loaded, is there, or could not be loaded. */
interface Loaded {
  readonly text?: string;
  readonly failure?: string;
}

/** Loads the whole text of a cell. */
function useWholeText(source: RowSource, row: number, column: number): Loaded {
  const [loaded, setLoaded] = useState<Loaded>({});
  useEffect(() => {
    const abort = new AbortController();
    source.wholeText(row, column, abort.signal).then(
      (text) => setLoaded({ text }),
      (error: unknown) => {
        if (!abort.signal.aborted) setLoaded({ failure: error instanceof Error ? error.message : String(error) });
      },
    );
    return () => abort.abort();
  }, [source, row, column]);
  return loaded;
}

/** Shows one value whole: as text, as JSON with a line for each member, or as bytes. */
export function CellSheet({ source, row, column, onClose }: Props): JSX.Element {
  const { text, failure } = useWholeText(source, row, column);
  const sheet = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => sheet.current?.focus(), []);
  const info = source.columns[column];
  const name = visibleText(info?.name ?? '');
  return (
    // Escape closes the sheet, wherever in it the focus is; a button does, too.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <dialog
      open
      class="cell-sheet"
      aria-label={`${name}, row ${row + 1}`}
      tabIndex={-1}
      ref={sheet}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') onClose();
      }}
    >
      <header>
        <h2>
          {name} <small>{info?.type}</small>, row {formatCount(row + 1)}
        </h2>
        <button type="button" onClick={onClose} aria-label="Close the cell">
          Close
        </button>
      </header>
      {failure !== undefined && <p role="alert">{failure}</p>}
      {text === undefined && failure === undefined && <output>Loading…</output>}
      {text !== undefined && info !== undefined && <Value text={text} info={info} />}
    </dialog>
  );
}

/** A value in the form that the user chooses. */
function Value({ text, info }: { readonly text: string; readonly info: ColumnInfo }): JSX.Element {
  const [form, setForm] = useState<Form>();
  const [copied, setCopied] = useState('Copy');
  const json = useMemo(() => indentedJson(text), [text]);
  const forms: readonly Form[] = json === undefined ? ['text', 'hex'] : ['text', 'json', 'hex'];
  const chosen = form ?? (json === undefined ? 'text' : 'json');
  const shown = chosen === 'hex' ? hexText(text, info) : chosen === 'json' ? (json ?? text) : text;
  const copy = (): void => {
    copyText(text).then(
      () => setCopied('Copied'),
      () => setCopied('Could not copy'),
    );
  };
  return (
    <>
      <header>
        {forms.map((option) => (
          <button type="button" key={option} aria-pressed={option === chosen} onClick={() => setForm(option)}>
            {TITLES[option]}
          </button>
        ))}
        <button type="button" onClick={copy}>
          {copied}
        </button>
        <span>
          {countOf(text.length, 'character')}
          {shown.length > MAX_SHEET_CHARACTERS &&
            `; the first ${formatCount(MAX_SHEET_CHARACTERS)} are shown, Copy takes all`}
        </span>
      </header>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- A long text scrolls, also by keyboard. */}
      <pre class={chosen} tabIndex={0} aria-label="Value">
        {shown.slice(0, MAX_SHEET_CHARACTERS)}
      </pre>
    </>
  );
}
