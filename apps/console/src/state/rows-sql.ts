import type { ColumnInfo, EngineName } from '../api/types.ts';
import type { CellLook } from '../rows/row-source.ts';
import { quotedText, quoteName } from './quote-name.ts';

/** The rows of a grid, as SQL reads them. */
export interface SqlRows {
  /** What follows `from`: a quoted handle, or a statement in parentheses. */
  readonly from: string;
  readonly columns: readonly ColumnInfo[];
  readonly engine: EngineName;
  /** The most rows that the new statement returns. Default: all. */
  readonly limit?: number;
}

/** Returns the SQL that shows rows sorted by a column, the largest values first; nulls come last. */
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

/** Whether SQL, which does not tell `A` from `a`, has two columns of a name: they are called by their places. */
function isShared({ columns, engine }: SqlRows, index: number): boolean {
  const name = foldedName(columns[index]?.name ?? '');
  return engine === 'local' && columns.some((other, at) => at !== index && foldedName(other.name) === name);
}

/** Returns a name as SQL compares it: without the case of ASCII letters. */
export function foldedName(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The types whose values the grid does not show as the texts that SQL reads. */
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
  // A double is compared as the double that the text is; a bare literal could be a decimal.
  return float === undefined ? `= ${quoted}` : `= ${quoted}::${float}`;
}
