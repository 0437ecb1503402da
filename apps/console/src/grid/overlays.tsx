import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { type ColumnInfo, toError } from '../api/api.ts';
import { copyText } from '../widgets/ErrorBox.tsx';
import { type CellRange, type RowSource, visibleText } from '../rows/row-source.ts';
import { countOf, formatCount } from '../state/format.ts';
import { clamp, type GridState, selectedRange } from './grid-state.ts';
import { effect, untracked } from '@preact/signals';

// What the grid needs only after a key or a click: one chunk, loaded when the page is idle.

interface Props {
  readonly source: RowSource;
  readonly row: number;
  readonly column: number;
  readonly onClose: () => void;
}

type Form = 'text' | 'json' | 'hex';
const TITLES: Readonly<Record<Form, string>> = { text: 'Text', json: 'JSON', hex: 'Hex' };

/** A value: loading, loaded or failed. */
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
        if (!abort.signal.aborted) setLoaded({ failure: toError(error).message });
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

/** A value in the chosen form. */
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

/** The sheet shows at most this many characters of a text, and this many bytes in hex. */
export const MAX_SHEET_CHARACTERS = 1_000_000;
const MAX_HEX_BYTES = 64 * 1024;

/** Deeper members are not indented further: spaces would be most of the text. */
const MAX_INDENT = 50;

/**
 * Returns a JSON text with a line for each member; undefined if it is not an object or an array. No digit changes. It ends
 * where the sheet does.
 */
export function indentedJson(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text) || !isJson(text)) return undefined;
  let result = '';
  let depth = 0;
  let isEmpty = false;
  const newLine = (): string => `\n${'  '.repeat(Math.min(depth, MAX_INDENT))}`;
  for (const token of jsonTokens(text)) {
    if (result.length > MAX_SHEET_CHARACTERS) break;
    const isEnd = token === ']' || token === '}';
    if (isEnd) depth -= 1;
    // What has no members stays on its line.
    if (isEnd !== isEmpty) result += newLine();
    isEmpty = token === '[' || token === '{';
    if (isEmpty) depth += 1;
    result += token === ':' ? ': ' : token;
    if (token === ',') result += newLine();
  }
  return result;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the signs, strings and other values of a valid JSON text. */
function* jsonTokens(text: string): Generator<string> {
  const value = /[^\s[\]{},:"]+/y;
  for (let at = 0; at < text.length;) {
    const sign = text[at] ?? '';
    value.lastIndex = at;
    const token = sign === '"' ? text.slice(at, stringEnd(text, at)) : (value.exec(text)?.[0] ?? sign);
    at += token.length;
    if (token.trim() !== '') yield token;
  }
}

/** Returns the end of the string at a place. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at += 1;
    else if (code === 0x22) return at + 1;
  }
  return text.length;
}

/** Returns the bytes of a value in hex, 16 a line: a binary value is base64, a text UTF-8. */
export function hexText(text: string, { type }: ColumnInfo): string {
  const bytes = type === 'BINARY' ? bytesFromBase64(text) : new TextEncoder().encode(text.slice(0, MAX_HEX_BYTES));
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, MAX_HEX_BYTES); at += 16) {
    const line = bytes.subarray(at, at + 16);
    const hex = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const plain = Array.from(line, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${plain}`);
  }
  return lines.join('\n');
}

function bytesFromBase64(text: string): Uint8Array {
  const start = text.slice(0, Math.ceil(MAX_HEX_BYTES / 3) * 4);
  return Uint8Array.from(atob(start), (character) => character.charCodeAt(0));
}

interface GoToProps {
  readonly source: RowSource;
  readonly onGo: (target: { readonly row: number } | { readonly column: number }) => void;
  readonly onClose: () => void;
}

/** The number of suggested columns. */
const MAX_SUGGESTIONS = 1000;

/** Asks for a row or a column, and goes there. */
export function GoTo({ source, onGo, onClose }: GoToProps): JSX.Element {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  useLayoutEffect(() => input.current?.focus(), []);
  const names = source.columns.map(({ name }) => name);
  const target = parseGoTo(text, source.rowCount.value, names);
  return (
    // Escape closes the form, wherever in it the focus is; a button does, too.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      class="grid-go-to"
      onSubmit={(event) => {
        event.preventDefault();
        if (target !== undefined) onGo(target);
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') onClose();
      }}
    >
      <label>
        Go to row or column{' '}
        <input
          ref={input}
          value={text}
          list={list}
          placeholder="1000, 50% or a name"
          autocomplete="off"
          aria-invalid={text.trim() !== '' && target === undefined}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <datalist id={list}>
        {names.slice(0, MAX_SUGGESTIONS).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </datalist>
      <button type="submit" disabled={target === undefined}>
        Go
      </button>
      <button type="button" onClick={onClose} aria-label="Close the search for a row or column">
        Close
      </button>
    </form>
  );
}

/** Returns the row or the column of a text: `1 000 000`, `50%`, or the start of a column's name. */
export function parseGoTo(
  text: string,
  rows: number,
  names: readonly string[],
): { readonly row: number } | { readonly column: number } | undefined {
  const wanted = text.trim();
  if (wanted === '') return undefined;
  const isSame = (name: string): boolean => name.toLowerCase() === wanted.toLowerCase();
  const isStart = (name: string): boolean => name.toLowerCase().startsWith(wanted.toLowerCase());
  const exact = names.findIndex(isSame);
  if (exact >= 0) return { column: exact };
  const percent = /^(\d{1,3}(?:\.\d+)?)\s*%$/.exec(wanted)?.[1];
  if (percent !== undefined && rows > 0) {
    return { row: clamp(Math.floor((Number(percent) / 100) * rows), 0, rows - 1) };
  }
  const digits = wanted.replaceAll(/[\s,_.']/g, '');
  if (/^\d+$/.test(digits) && rows > 0) return { row: clamp(Number(digits) - 1, 0, rows - 1) };
  const start = names.findIndex(isStart);
  const column = start >= 0 ? start : names.findIndex((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  return column >= 0 ? { column } : undefined;
}

/** How long the grid says how a copy ended. */
const STATUS_MS = 4000;

/** Copies the selected cells. */
export async function copyCells(
  { source, selection }: Pick<GridState, 'selection' | 'source'>,
  withHeads: boolean,
  setStatus: (status: string) => void,
): Promise<void> {
  const range = selectedRange(selection);
  const cells = (range.lastRow - range.firstRow + 1) * (range.lastColumn - range.firstColumn + 1);
  try {
    if (cells > 1000) setStatus(`Copying ${formatCount(cells)} cells…`);
    await copyText(await rangeAsTsv(source, range, { withHeads }));
    setStatus(cells === 1 ? 'Copied the cell.' : `Copied ${formatCount(cells)} cells.`);
  } catch (error) {
    setStatus(toError(error).message);
  }
  setTimeout(() => setStatus(''), STATUS_MS);
}

/** A copy has at most this many cells, and this many characters. */
const MAX_COPIED_CELLS = 200_000;
const MAX_COPIED_CHARACTERS = 64 * 1024 * 1024;
const HINT = 'Select fewer, or download all rows.';

/**
 * Returns a range as tab-separated values, loading what is not there. Spreadsheets read it: texts with tabs, line breaks or
 * quotes are quoted, and null is empty.
 */
export async function rangeAsTsv(
  source: RowSource,
  range: CellRange,
  { withHeads }: { readonly withHeads: boolean },
): Promise<string> {
  const columns = range.lastColumn - range.firstColumn + 1;
  if ((range.lastRow - range.firstRow + 1) * columns > MAX_COPIED_CELLS) {
    throw new RangeError(`A copy has at most ${formatCount(MAX_COPIED_CELLS)} cells. ${HINT}`);
  }
  const heads = source.columns.slice(range.firstColumn, range.lastColumn + 1).map(({ name }) => quoted(name));
  const lines = withHeads ? [heads.join('\t')] : [];
  let characters = 0;
  for (let row = range.firstRow; row <= range.lastRow; row += 1) {
    await untilLoaded(source, { ...range, firstRow: row, lastRow: Math.min(range.lastRow, row + STEP_ROWS) });
    const cells: string[] = [];
    for (let column = range.firstColumn; column <= range.lastColumn; column += 1) {
      cells.push(await cellText(source, row, column));
    }
    const line = cells.join('\t');
    characters += line.length + 1;
    if (characters > MAX_COPIED_CHARACTERS) {
      throw new RangeError(`A copy has at most ${formatCount(MAX_COPIED_CHARACTERS)} characters. ${HINT}`);
    }
    lines.push(line);
  }
  return lines.join('\n');
}

const STEP_ROWS = 511;

async function cellText(source: RowSource, row: number, column: number): Promise<string> {
  const cell = source.cell(row, column);
  if (cell?.look === 'null') return '';
  if (cell?.look === 'value' && PLAIN.test(cell.text)) return cell.text;
  return quoted(await source.wholeText(row, column));
}

/** Texts without a different form in the clipboard. */
const PLAIN = /^[\x20\x21\x23-\x7e]*$/;

const quoted = (text: string): string => (/[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Waits until the first row of a range is loaded. */
async function untilLoaded(source: RowSource, range: CellRange): Promise<void> {
  const isThere = (): boolean => {
    for (let column = range.firstColumn; column <= range.lastColumn; column += 1) {
      if (source.cell(range.firstRow, column) === undefined) return false;
    }
    return true;
  };
  if (isThere()) return;
  let stop: (() => void) | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      stop = effect(() => {
        const [, isOutdated, failure] = [source.revision.value, source.isOutdated.value, source.failure.value];
        if (isThere()) resolve();
        else if (isOutdated) reject(new Error('The frame has been replaced. Load the newer version, and copy again.'));
        else if (failure !== undefined) reject(failure);
        // Again after each arrival: the grid wants other rows when it is scrolled, and the last wish counts.
        else untracked(() => source.want(range));
      });
    });
  } finally {
    stop?.();
  }
}
