import { longOf, type Longs, parseExact, shown, TableError, textOf, type Value } from './exact-json.ts';

/** Reads a JSON table, as `/exec` and the time-series database send it, while its bytes arrive. */
export interface JsonTableReader {
  /** Undefined until they have come. */
  readonly columns: readonly Column[] | undefined;
  /** What the table has besides its rows, by name. */
  readonly members: ReadonlyMap<string, unknown>;
  /** True when the end of the table has come. */
  readonly isComplete: boolean;
  /**
   * Returns the rows that are complete now: the JSON text of each cell, so that numbers have all their digits. Throws a
   * `TableError` if the bytes are not a table.
   */
  push(chunk: Uint8Array): readonly (readonly string[])[];
}

/** The server sends no longer row. A longer one would fill the memory. */
const MAX_ROW_CHARACTERS = 128 * 1024 * 1024;

type Place =
  'start' | 'name' | 'next name' | 'colon' | 'value' | 'after value' | 'row' | 'next row' | 'after row' | 'end';

/** Creates a reader. */
export function createJsonTableReader(): JsonTableReader {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const scanner = createJsonScanner();
  const members = new Map<string, unknown>();
  let columns: readonly Column[] | undefined;
  let place: Place = 'start';
  let name = '';
  let waiting = 0;

  const step = (next: Readonly<Record<string, Place>>): Place | undefined => stepOver(scanner, next);

  function readName(): Place | undefined {
    const text = scanner.value();
    if (text === undefined) return undefined;
    if (text !== '' && !text.startsWith('"')) throw new TableError(`expected a key, found ${shown(text)}`);
    name = String(parsed(text, scanner.peek()));
    return 'colon';
  }

  function readValue(): Place | undefined {
    if (name === 'dataset') return step({ '[': 'row' });
    const text = scanner.value();
    if (text === undefined) return undefined;
    const value = parsed(text, scanner.peek());
    members.set(name, value);
    if (name === 'columns') columns = columnsFrom(value);
    return 'after value';
  }

  function readRow(rows: (readonly string[])[]): Place | undefined {
    const first = scanner.peek();
    if (first !== undefined && first !== '[') throw misplaced(['['], first);
    const cells = scanner.cells();
    if (cells === 'more') return undefined;
    rows.push(checkedRow(cells, columns));
    return 'after row';
  }

  /** Each reads the part at a place, and returns the place after it; undefined if it has not come. */
  const parts: Readonly<Record<Place, (rows: (readonly string[])[]) => Place | undefined>> = {
    start: () => step({ '{': 'name' }),
    name: () => (scanner.peek() === '}' ? step({ '}': 'end' }) : readName()),
    'next name': readName,
    colon: () => step({ ':': 'value' }),
    value: readValue,
    'after value': () => step({ ',': 'next name', '}': 'end' }),
    row: (rows) => (scanner.peek() === ']' ? step({ ']': 'after value' }) : readRow(rows)),
    'next row': readRow,
    'after row': () => step({ ',': 'next row', ']': 'after value' }),
    end() {
      if (scanner.peek() !== undefined) throw new TableError('there is text after the end of the table');
      return undefined;
    },
  };

  return {
    members,
    get columns() {
      return columns;
    },
    get isComplete() {
      return place === 'end';
    },
    push(chunk) {
      const text = decoded(decoder, chunk);
      scanner.push(text);
      waiting += text.length;
      if (waiting > MAX_ROW_CHARACTERS) throw new TableError('a row is longer than 128 MiB', true);
      const rows: (readonly string[])[] = [];
      for (let next = parts[place](rows); next !== undefined; next = parts[place](rows)) {
        place = next;
        waiting = text.length;
      }
      return rows;
    },
  };
}

/** Expects one of some characters, and returns the place after it; undefined if it has not come. */
function stepOver(scanner: JsonScanner, next: Readonly<Record<string, Place>>): Place | undefined {
  const mark = scanner.peek();
  if (mark === undefined) return undefined;
  const after = Object.hasOwn(next, mark) ? next[mark] : undefined;
  if (after === undefined) throw misplaced(Object.keys(next), mark);
  scanner.skip();
  return after;
}

function decoded(decoder: TextDecoder, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true });
  } catch {
    throw new TableError('its text is not UTF-8');
  }
}

function parsed(text: string, after: string | undefined): unknown {
  if (text === '') throw new TableError(`expected a value, found ${shown(after ?? '')}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new TableError(`${shown(text)} is not JSON`);
  }
}

function checkedRow(cells: readonly string[] | undefined, columns: readonly Column[] | undefined): readonly string[] {
  if (cells === undefined) throw new TableError('a row is not an array');
  if (columns === undefined) throw new TableError('its rows come before its columns');
  if (cells.includes('')) throw new TableError('a row has a comma without a value');
  if (cells.length !== columns.length) {
    throw new TableError(`a row has ${counted(cells.length, 'value')} for ${counted(columns.length, 'column')}`);
  }
  return cells;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function columnsFrom(value: unknown): readonly Column[] {
  if (!Array.isArray(value)) throw new TableError('its columns are not a list');
  return value.map((column: unknown) => {
    const { name, type }: Partial<Column> = typeof column === 'object' && column !== null ? column : {};
    if (typeof name !== 'string' || typeof type !== 'string') throw new TableError('a column has no name or no type');
    return { name, type };
  });
}

function misplaced(marks: readonly string[], mark: string): TableError {
  return new TableError(`expected ${marks.map(shown).join(' or ')}, found ${shown(mark)}`);
}

/** Finds the values of a JSON text while it arrives. It checks brackets and strings only: `JSON.parse` checks the rest. */
interface JsonScanner {
  /** Adds the next text, when a method has returned undefined: what came before is scanned. */
  push(text: string): void;
  /** Returns the next character besides white space; undefined if it has not come. */
  peek(): string | undefined;
  /** Consumes the character of `peek`. */
  skip(): void;
  /** Consumes the next value and returns its text; undefined if its end has not come. */
  value(): string | undefined;
  /** The same for an array: returns the texts of its elements. Undefined if the value is not an array. */
  cells(): readonly string[] | 'more' | undefined;
}

/** Where a scanner is. */
interface ScannerState {
  text: string;
  /** Where the current value begins in `text`, and how far it has been scanned. */
  start: number;
  at: number;
  /** The part of the value before `text`. */
  held: string;
  /** Its first character: to look for it in `held` would copy the whole text. */
  first: string | undefined;
  depth: number;
  isString: boolean;
  /** Where the elements of the current array begin and end, from its own beginning. */
  edges: number[];
}

/** Creates a scanner. No character is scanned twice, however the text is cut. */
function createJsonScanner(): JsonScanner {
  const place: ScannerState = { text: '', start: 0, at: 0, held: '', first: '', depth: 0, isString: false, edges: [] };
  return {
    push(more) {
      if (place.held === '') place.first = place.text[place.start];
      place.held += place.text.slice(place.start);
      place.at -= place.text.length;
      place.start = 0;
      place.text = more;
    },
    peek() {
      skipSpace(place);
      return place.held === '' ? place.text[place.start] : place.first;
    },
    skip() {
      place.start += 1;
      place.at = place.start;
    },
    value: () => take(place)?.text,
    cells() {
      const taken = take(place);
      return taken === undefined ? 'more' : cellsOf(taken);
    },
  };
}

function skipSpace(place: ScannerState): void {
  const { text, start, held } = place;
  let { at } = place;
  // A value is being read: what is asked for is its own beginning.
  if (at > start || held !== '') return;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  place.start = at;
  place.at = at;
}

function take(place: ScannerState): Taken | undefined {
  skipSpace(place);
  const { text, start, held, edges } = place;
  if (!scan(place)) return undefined;
  const taken = { text: held + text.slice(start, place.at), edges };
  place.held = '';
  place.edges = [];
  place.start = place.at;
  return taken;
}

/** Scans to the end of the value; returns true if it has come. */
function scan(place: ScannerState): boolean {
  const { text, edges, start, held } = place;
  let { at, depth, isString } = place;
  const origin = start - held.length;
  let isEnd = false;
  for (; at < text.length && !isEnd; at += 1) {
    const code = text.charCodeAt(at);
    if (isString) {
      // The character after a backslash may be the first one of the next text.
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) {
        isString = false;
        isEnd = depth === 0;
      }
    } else if (code === QUOTE) isString = true;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      depth += 1;
      if (depth === 1) edges.push(at + 1 - origin);
    } else if (depth > 1) {
      if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth -= 1;
    } else if (depth === 1) {
      if (code === COMMA) edges.push(at - origin, at + 1 - origin);
      else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
        depth = 0;
        edges.push(at - origin);
        isEnd = true;
      }
    } else if (code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || isSpace(code)) {
      // A number or a word ends before it.
      place.at = at;
      return true;
    }
  }
  place.at = at;
  place.depth = depth;
  place.isString = isString;
  return isEnd;
}

/** The text of a value, and where its elements begin and end, if it has some. */
interface Taken {
  readonly text: string;
  readonly edges: readonly number[];
}

function cellsOf({ text, edges }: Taken): readonly string[] | undefined {
  if (!text.startsWith('[') || !text.endsWith(']')) return undefined;
  const cells: string[] = [];
  for (let i = 0; i < edges.length; i += 2) cells.push(text.slice(edges[i], edges[i + 1]).trim());
  return cells.length === 1 && cells[0] === '' ? [] : cells;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Returns a function to make a row of the texts of its cells. */
export function rowReader(columns: readonly Column[], longs: Longs): (cells: readonly string[]) => Row {
  const readers = columns.map(({ type }) => valueReader(type, longs));
  return (cells) => {
    const row: Record<string, Value> = {};
    for (let i = 0; i < columns.length; i += 1) {
      const name = columns[i]?.name ?? '';
      const text = cells[i] ?? 'null';
      const value = text === 'null' ? null : (readers[i]?.(text) ?? null);
      if (name === '__proto__') Object.defineProperty(row, name, { value, enumerable: true });
      else row[name] = value;
    }
    return row;
  };
}

const NUMBER = /^(?:BYTE|SHORT|INT|FLOAT|DOUBLE)$/;
const DIGITS = /^-?\d+$/;

function valueReader(type: string, longs: Longs): (text: string) => Value {
  if (isLongType(type)) {
    return (text) => {
      const digits = stringOf(text) ?? text;
      if (!DIGITS.test(digits)) throw new TableError(`${shown(text)} is not an integer`);
      return longOf(digits, longs);
    };
  }
  if (NUMBER.test(type)) {
    return (text) => {
      const value = Number(text);
      if (Number.isNaN(value)) throw new TableError(`${shown(text)} is not a number`);
      return value;
    };
  }
  // The time-series database sends decimals without quotes.
  if (type.startsWith('DECIMAL')) return (text) => stringOf(text) ?? text;
  return (text) => stringOf(text) ?? parseExact(text, longs);
}

/** Returns the text in a JSON string; undefined if it is another value. */
export function stringOf(json: string): string | undefined {
  if (!json.startsWith('"')) return undefined;
  // Most strings have no escapes and need no parsing.
  if (!json.includes('\\') && json.indexOf('"', 1) === json.length - 1) return json.slice(1, -1);
  return textOf(parseExact(json, 'bigint'));
}

const LONG = /^(?:U?LONG|LONG128)$/;

/** True if the values of a type are integers beyond a `number`. */
function isLongType(type: string): boolean {
  return LONG.test(type);
}

/** A column of a frame or of a result, with the server's name of its type: `LONG`, `DECIMAL(10,2)`, `TIMESTAMP`. */
export interface Column {
  readonly name: string;
  readonly type: string;
}

/** A row of a result, by the names of its columns. */
export type Row = Readonly<Record<string, Value>>;
