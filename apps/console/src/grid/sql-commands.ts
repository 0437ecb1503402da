import type { CellLook, RowSource } from '../rows/row-source.ts';
import type { AppState } from '../state/app-state.ts';
import type { ColumnInfo, EngineName } from '../api/api.ts';
import { foldedName, quotedText, quoteName } from '../state/quote-name.ts';

/** The rows of a grid, and what shows a new statement over them. */
export interface SqlTarget {
  readonly app: AppState;
  readonly source: RowSource;
  readonly rows: SqlRows;
  readonly open: (sql: string) => void | Promise<void>;
}

/** Shows the rows sorted by a column. */
export async function sortRows({ rows, open }: SqlTarget, column: number): Promise<void> {
  await open(sortSql(rows, column));
}

/** Shows the rows with the value of a cell. */
export async function filterRows({ app, source, rows, open }: SqlTarget, column: number, row: number): Promise<void> {
  const cell = source.cell(row, column);
  if (cell === undefined) return;
  const sql = filterSql(rows, column, { look: cell.look, text: await source.wholeText(row, column) });
  if (sql === undefined) app.notify(`Rows cannot be filtered by a value of the type ${rows.columns[column]?.type}.`);
  else await open(sql);
}

/** The rows of a grid, as SQL reads them. */
export interface SqlRows {
  /** What follows `from`: a quoted handle, or a statement in parentheses. */
  readonly from: string;
  readonly columns: readonly ColumnInfo[];
  readonly engine: EngineName;
  /** The limit of the new statement. Default: none. */
  readonly limit?: number;
}

/** Returns the SQL to sort rows by a column, the largest values first; nulls come last. */
export function sortSql(rows: SqlRows, index: number): string {
  const column = isShared(rows, index) ? String(index + 1) : nameOf(rows, index);
  return selectSql(rows, `order by ${column} desc${rows.engine === 'tsdb' ? '' : ' nulls last'}`);
}

/** Returns the SQL of the rows with the same value; undefined if the value has no literal in SQL. */
export function filterSql(
  rows: SqlRows,
  index: number,
  cell: { readonly look: CellLook; readonly text: string },
): string | undefined {
  const type = rows.columns[index]?.type ?? '';
  const column = isShared(rows, index) ? `#${index + 1}` : nameOf(rows, index);
  const condition = conditionOf(type, cell, rows.engine);
  return condition && selectSql(rows, `where ${column} ${condition}`);
}

function selectSql({ from, limit }: SqlRows, clause: string): string {
  return `select *\nfrom ${from}\n${clause}${limit === undefined ? '' : `\nlimit ${limit}`}`;
}

function nameOf({ columns }: SqlRows, index: number): string {
  return quoteName(columns[index]?.name ?? '');
}

/** True if SQL, which does not tell `A` from `a`, has two columns of this name: they are called by their places. */
function isShared({ columns, engine }: SqlRows, index: number): boolean {
  const name = foldedName(columns[index]?.name ?? '');
  return engine === 'local' && columns.some((other, at) => at !== index && foldedName(other.name) === name);
}

/** Types with other texts in the grid than in SQL. */
const OTHER_TEXTS = /^(ARRAY|STRUCT|MAP|DURATION|INTERVAL)/;
const NUMBERS = /^(BYTE|SHORT|INT|LONG|ULONG|LONG128|DECIMAL)/;
const FLOATS: Readonly<Record<string, string>> = { FLOAT: 'float', DOUBLE: 'double' };

function conditionOf(
  type: string,
  { look, text }: { readonly look: CellLook; readonly text: string },
  engine: EngineName,
): string | undefined {
  if (look === 'null') return 'is null';
  if (OTHER_TEXTS.test(type)) return undefined;
  if (NUMBERS.test(type) && /^-?[\d.]+$/.test(text)) return `= ${text}`;
  const quoted = quotedText(text);
  const float = FLOATS[type];
  if (engine !== 'local') return `= ${float !== undefined && Number.isFinite(Number(text)) ? text : quoted}`;
  if (type === 'BINARY') return `= from_base64(${quoted})`;
  // A double is compared as the double of its text; a bare literal could be a decimal.
  return float === undefined ? `= ${quoted}` : `= ${quoted}::${float}`;
}
