import type { Column } from './table-types.ts';
import { createJsonScanner, type JsonScanner } from './json-scanner.ts';
import { shown, TableError } from './table-error.ts';

/** Reads a JSON table, as `/exec` and the time-series database send it, while its bytes arrive. */
export interface JsonTableReader {
  /** Undefined until they have come. */
  readonly columns: readonly Column[] | undefined;
  /** What the table has besides its rows, by name. */
  readonly members: ReadonlyMap<string, unknown>;
  /** Whether the end of the table has come. */
  readonly isComplete: boolean;
  /**
   * Returns the rows that are complete now: the JSON text of each cell, so that numbers have all their digits. Throws a
   * `TableError` if the bytes are not a table.
   */
  push(chunk: Uint8Array): readonly (readonly string[])[];
}

/** The server sends no longer row; a server that does would fill the memory. */
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
