import { createJsonScanner } from './json-scanner.ts';
import type { TableReader } from './table-reader.ts';
import type { ColumnInfo } from './types.ts';

/** Where the reader is in `{"columns":[…],"dataset":[[…],[…]],"count":2}`. */
type Place = 'start' | 'name' | 'colon' | 'value' | 'after value' | 'row' | 'after row' | 'end';

/** Creates a reader of JSON tables, as `/exec` and the time-series database send them. It keeps the text of cells, so that numbers have all their digits. */
export function createJsonTableReader(): TableReader {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const scanner = createJsonScanner();
  const members = new Map<string, unknown>();
  let columns: readonly ColumnInfo[] | undefined;
  let place: Place = 'start';
  let name = '';

  /** Expects one of some characters, and returns the place after it; undefined if it has not come. */
  function step(next: Readonly<Record<string, Place>>): Place | undefined {
    const character = scanner.peek();
    if (character === undefined) return undefined;
    const after = Object.hasOwn(next, character) ? next[character] : undefined;
    if (after === undefined) throw notTable();
    scanner.skip();
    return after;
  }

  function readName(): Place | undefined {
    if (scanner.peek() === '}') return step({ '}': 'end' });
    const text = scanner.value();
    if (text === undefined) return undefined;
    name = String(parsed(text));
    return 'colon';
  }

  function readValue(): Place | undefined {
    if (name === 'dataset') return step({ '[': 'row' });
    const text = scanner.value();
    if (text === undefined) return undefined;
    members.set(name, parsed(text));
    if (name === 'columns') columns = columnsFrom(members.get(name));
    return 'after value';
  }

  function readRow(rows: string[][]): Place | undefined {
    if (scanner.peek() === ']') return step({ ']': 'after value' });
    const cells = scanner.cells();
    if (cells === undefined) return undefined;
    if (columns === undefined || cells.length !== columns.length) throw notTable();
    rows.push(cells);
    return 'after row';
  }

  /** Each reads the part at a place, and returns the place after it; undefined if it has not come. */
  const parts: Readonly<Record<Place, (rows: string[][]) => Place | undefined>> = {
    start: () => step({ '{': 'name' }),
    name: readName,
    colon: () => step({ ':': 'value' }),
    value: readValue,
    'after value': () => step({ ',': 'name', '}': 'end' }),
    row: readRow,
    'after row': () => step({ ',': 'row', ']': 'after value' }),
    end: () => step({}),
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
      scanner.add(decoder.decode(chunk, { stream: true }));
      const rows: string[][] = [];
      for (let next = parts[place](rows); next !== undefined; next = parts[place](rows)) place = next;
      return rows.length > 0 ? [{ kind: 'json', rows, rowCount: rows.length }] : [];
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notTable();
  }
}

function columnsFrom(value: unknown): readonly ColumnInfo[] {
  if (!Array.isArray(value)) throw notTable();
  return value.map((column: unknown) => {
    const { name, type }: Partial<ColumnInfo> = typeof column === 'object' && column !== null ? column : {};
    if (typeof name !== 'string' || typeof type !== 'string') throw notTable();
    return { name, type };
  });
}

function notTable(): Error {
  return new Error('The answer is not a JSON table.');
}
