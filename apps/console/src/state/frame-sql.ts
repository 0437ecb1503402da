import type { ColumnInfo } from '../api/types.ts';
import type { CellLook } from '../rows/row-source.ts';
import { quotedText, quoteName } from './quote-name.ts';

/** The rows of the queries that are made from the grid. */
const LIMIT = 1000;

/** Returns the SQL that shows a frame sorted by a column; nulls come last. */
export function sortSql(handle: string, column: ColumnInfo): string {
  return `select *\nfrom ${quoteName(handle)}\norder by ${quoteName(column.name)} desc nulls last\nlimit ${LIMIT}`;
}

/** Returns the SQL of the rows with the same value; undefined if the value has no literal in SQL. */
export function filterSql(
  handle: string,
  column: ColumnInfo,
  cell: { readonly look: CellLook; readonly text: string },
): string | undefined {
  const condition = conditionOf(column, cell);
  return (
    condition && `select *\nfrom ${quoteName(handle)}\nwhere ${quoteName(column.name)} ${condition}\nlimit ${LIMIT}`
  );
}

/** The types whose values the grid does not show as the texts that SQL reads. */
const OTHER_TEXTS = /^(ARRAY|STRUCT|MAP|DURATION|INTERVAL)/;
const NUMBERS = /^(BYTE|SHORT|INT|LONG|ULONG|LONG128|DECIMAL)/;

function conditionOf(
  { type }: ColumnInfo,
  { look, text }: { readonly look: CellLook; readonly text: string },
): string | undefined {
  if (look === 'null') return 'is null';
  if (OTHER_TEXTS.test(type)) return undefined;
  if (NUMBERS.test(type) && /^-?[\d.]+$/.test(text)) return `= ${text}`;
  const quoted = quotedText(text);
  if (type === 'BINARY') return `= from_base64(${quoted})`;
  // A double is compared as the double that the text is; a bare literal could be a decimal.
  if (type === 'FLOAT' || type === 'DOUBLE') return `= ${quoted}::${type === 'FLOAT' ? 'float' : 'double'}`;
  return `= ${quoted}`;
}
