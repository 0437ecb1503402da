import { useEffect, useRef, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import type { RowSource } from '../rows/row-source.ts';
import { visibleText } from '../rows/visible-text.ts';
import { hexText, indentedJson, MAX_SHEET_CHARACTERS } from './cell-views.ts';
import { writeClipboard } from './copy.ts';

interface Props {
  readonly source: RowSource;
  readonly row: number;
  readonly column: number;
  readonly onClose: () => void;
}

type Form = 'text' | 'json' | 'hex';
const TITLES: Readonly<Record<Form, string>> = { text: 'Text', json: 'JSON', hex: 'Hex' };

/** Shows one value whole: as text, as JSON with a line for each member, or as bytes. */
export function CellSheet({ source, row, column, onClose }: Props): JSX.Element {
  const [text, setText] = useState<string>();
  const [failure, setFailure] = useState<string>();
  const [form, setForm] = useState<Form>();
  const [isCopied, setIsCopied] = useState(false);
  const sheet = useRef<HTMLElement>(null);
  useEffect(() => {
    const abort = new AbortController();
    source.wholeText(row, column, abort.signal).then(setText, (error: unknown) => {
      if (!abort.signal.aborted) setFailure(error instanceof Error ? error.message : String(error));
    });
    sheet.current?.focus();
    return () => abort.abort();
  }, [source, row, column]);
  const info = source.columns[column];
  const json = text === undefined ? undefined : indentedJson(text);
  const forms: readonly Form[] = json === undefined ? ['text', 'hex'] : ['text', 'json', 'hex'];
  const chosen = form ?? (json === undefined ? 'text' : 'json');
  const shown =
    text === undefined || info === undefined
      ? ''
      : chosen === 'hex'
        ? hexText(text, info)
        : chosen === 'json'
          ? json
          : text;
  const copy = (): void => {
    if (text === undefined) return;
    writeClipboard(text).then(
      () => setIsCopied(true),
      (error: unknown) => setFailure(String(error)),
    );
  };
  const name = visibleText(info?.name ?? '');
  return (
    <aside
      class="cell-sheet"
      role="dialog"
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
          {name} <small>{info?.type}</small>, row {(row + 1).toLocaleString('en')}
        </h2>
        {forms.map((option) => (
          <button type="button" key={option} aria-pressed={option === chosen} onClick={() => setForm(option)}>
            {TITLES[option]}
          </button>
        ))}
        <button type="button" onClick={copy} disabled={text === undefined}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
        <button type="button" onClick={onClose} aria-label="Close the cell">
          Close
        </button>
      </header>
      {failure !== undefined && <p role="alert">{failure}</p>}
      {text === undefined && failure === undefined && <p role="status">Loading…</p>}
      {text !== undefined && (
        <>
          <p>
            {text.length.toLocaleString('en')} characters
            {(shown?.length ?? 0) > MAX_SHEET_CHARACTERS && ', the first 1,000,000 are shown; Copy takes all'}
          </p>
          {/* A long text scrolls: it can be reached by keyboard. */}
          <pre tabIndex={0} aria-label="Value">
            {shown?.slice(0, MAX_SHEET_CHARACTERS)}
          </pre>
        </>
      )}
    </aside>
  );
}
