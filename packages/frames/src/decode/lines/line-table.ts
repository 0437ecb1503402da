import { quoted } from '@svc/errors/internal';
import type { ByteBudget } from '../../byte-budget.ts';
import { type Handle, isHandle } from '../../handle.ts';
import { allocateCounted, MAX_COLUMNS } from '../limits.ts';
import { createLineColumn, type LineColumn, type LineKind, putHalves, toDoubles } from './line-column.ts';
import { isToken, LineError, textOf, type Token } from './line-cursor.ts';
import type { Halves } from './line-numbers.ts';

/** The column of the time of a line. */
const TIME_COLUMN = 'timestamp';

/** The lines of one measurement. */
export interface LineTable {
  readonly handle: Handle;
  readonly nameBytes: Uint8Array;
  readonly columns: LineColumn[];
  /** The place of each column. */
  readonly places: Map<string, number>;
  readonly time: LineColumn;
  /** The place of the next column, if a line has the columns of the line before it. */
  next: number;
  rows: number;
  /** The line of each row. */
  lines: Int32Array<ArrayBuffer>;
}

/** The most measurements of one request: each is a write of its own. */
const MAX_TABLES = 1000;

/** Finds the table of a measurement, or creates it. */
export function tableOf(
  tables: Map<string, LineTable>,
  token: Token,
  last: LineTable | undefined,
  line: number,
  budget: ByteBudget,
): LineTable {
  if (last !== undefined && isToken(token, last.nameBytes)) return last;
  const name = textOf(token);
  const known = tables.get(name);
  if (known !== undefined) return known;
  if (!isHandle(name)) {
    throw new LineError(
      line,
      name === '' ? 'the name of the table is missing.' : `${quoted(name)} is not a valid name of a table.`,
      'The name is the handle of a frame: 1 to 128 letters, digits, dots, dashes and underscores; it begins with a letter or digit.',
    );
  }
  if (tables.size >= MAX_TABLES) {
    throw new LineError(line, `a request has at most ${MAX_TABLES} tables.`, 'Send the lines in several requests.');
  }
  const table: LineTable = {
    handle: name,
    nameBytes: Buffer.from(name),
    columns: [],
    places: new Map(),
    time: createLineColumn(TIME_COLUMN, 'TIMESTAMP_NS', line, budget),
    next: 0,
    rows: 0,
    lines: new Int32Array(0),
  };
  tables.set(name, table);
  return table;
}

/**
 * Finds the column of a value, or creates it. A column has values of one kind; whole numbers and doubles may be mixed, as
 * the frame may have a type for both.
 */
export function columnOf(
  table: LineTable,
  token: Token,
  kind: LineKind,
  attempt: number,
  line: number,
  budget: ByteBudget,
): LineColumn {
  const expected: LineColumn | undefined = table.columns[table.next];
  const isExpected = expected !== undefined && isToken(token, expected.nameBytes);
  const column = isExpected ? expected : otherColumn(table, token, kind, line, budget);
  table.next++;
  if (column.attempt === attempt) {
    throw new LineError(line, `column ${quoted(column.name)} occurs twice.`, 'Send each column once in a line.');
  }
  column.attempt = attempt;
  if (column.kind !== kind) mix(column, kind, line);
  return column;
}

function otherColumn(table: LineTable, token: Token, kind: LineKind, line: number, budget: ByteBudget): LineColumn {
  const name = textOf(token);
  const place = table.places.get(name);
  if (place !== undefined) {
    table.next = place;
    return table.columns[place];
  }
  if (name === '') {
    throw new LineError(line, 'a column has no name.', 'Write tags and fields as name=value.');
  }
  if (name === TIME_COLUMN) {
    throw new LineError(
      line,
      `the column "${TIME_COLUMN}" is the time of the line.`,
      'Write the time at the end of the line, after a space.',
    );
  }
  if (table.columns.length >= MAX_COLUMNS - 1) {
    throw new LineError(line, `a table has at most ${MAX_COLUMNS} columns.`, 'Put the values in several tables.');
  }
  const column = createLineColumn(name, kind, line, budget);
  table.next = table.columns.length;
  table.places.set(name, table.next);
  table.columns.push(column);
  return column;
}

const NUMBERS: ReadonlySet<LineKind> = new Set(['LONG', 'ULONG', 'DOUBLE']);

function mix(column: LineColumn, kind: LineKind, line: number): void {
  const isMixable = NUMBERS.has(column.kind) && NUMBERS.has(kind) && (column.kind === 'DOUBLE' || kind === 'DOUBLE');
  if (isMixable && (column.kind === 'DOUBLE' || toDoubles(column))) column.mixedLine ??= line;
  else throw typeConflict(column, kind, line);
}

/** The error of a value whose type is not that of the column in an earlier line. */
export function typeConflict({ name, firstKind, firstLine }: LineColumn, kind: LineKind, line: number): LineError {
  return new LineError(
    line,
    `column ${quoted(name)} is ${kind} here, but ${firstKind} in line ${firstLine}.`,
    'Give every value of a column the same type: 1i is LONG, 1.0 is DOUBLE, "1" is STRING, t is BOOLEAN; a tag is SYMBOL.',
  );
}

/** Ends a row, whose columns have their values. */
export function endRow(table: LineTable, time: Halves, line: number, budget: ByteBudget): void {
  const { rows } = table;
  putHalves(table.time, rows, time, budget);
  if (rows >= table.lines.length) {
    const lines = new Int32Array(allocateCounted(budget, 8 * Math.max(32, rows)).buffer);
    lines.set(table.lines);
    budget.free(table.lines.byteLength);
    table.lines = lines;
  }
  table.lines[rows] = line;
  table.rows = rows + 1;
}
