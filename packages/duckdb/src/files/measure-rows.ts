import { childrenOf, keyAndValueOf, typeOf } from '@svc/frames/internal';
import { DataType, type Field, type Schema } from 'apache-arrow';
import type { ArrowMeasure } from '../wire/file-requests.ts';
import { fileNames, sqlName, uniqueNames } from '../wire/sql-names.ts';
import { fromClause } from './source-sql.ts';

/**
 * The most columns one statement aggregates. The time DuckDB takes grows with their square, and each expression takes
 * the memory of a vector; a statement for every few columns would read the footer too often.
 */
export const COLUMNS_PER_STATEMENT = 1000;

/** Returns the SQL that estimates the size of the rows of a file of ours as Arrow. */
export function measureOf(path: string, schema: Schema): ArrowMeasure {
  const names = fileNames(schema);
  const columns = schema.fields.map((field, i) => {
    const name = sqlName(names[i] ?? '');
    return { name, ...widthOf(field, name) };
  });
  const statements: string[] = [];
  for (let at = 0; at < columns.length; at += COLUMNS_PER_STATEMENT) {
    statements.push(statementOf(path, columns.slice(at, at + COLUMNS_PER_STATEMENT)));
  }
  return { bytes: 0, bytesPerRow: columns.reduce((sum, { fixed }) => sum + fixed, 0), statements };
}

interface ColumnWidth {
  /** Bytes that every value takes. */
  readonly fixed: number;
  /** SQL for the additional bytes of a value, if they vary. */
  readonly variable?: string;
}

function widthOf(field: Field, name: string): ColumnWidth {
  if (DataType.isUtf8(field.type)) return { fixed: 4, variable: `strlen(${name})` };
  if (DataType.isBinary(field.type)) return { fixed: 4, variable: `octet_length(${name})` };
  const bytes = bytesSql(field, name);
  const fixed = Number(bytes);
  return Number.isFinite(fixed) ? { fixed } : { fixed: 0, variable: bytes };
}

/** SQL for the bytes of values of variable length, and of the validity bitmaps. Few expressions, over lists. */
function statementOf(path: string, columns: readonly (ColumnWidth & { readonly name: string })[]): string {
  const sums = columns.flatMap(({ variable }) => (variable === undefined ? [] : [`sum(${variable})::DOUBLE`]));
  const present = columns.map(({ name }) => `count(${name})`);
  return `SELECT (bytes + rows / 8 * len(list_filter(present, lambda n: n < rows)))::VARCHAR FROM (
    SELECT count(*) AS rows, [${present.join(', ')}] AS present,
      coalesce(list_sum([${sums.join(', ')}]), 0) AS bytes
    FROM ${fromClause({ kind: 'parquet', path })})`;
}

/** SQL for the size of a value in bytes. */
function bytesSql(field: Field, value: string): string {
  const type = typeOf(field);
  if (DataType.isUtf8(type)) return `4 + coalesce(strlen(${value}), 0)`;
  if (DataType.isBinary(type)) return `4 + coalesce(octet_length(${value}), 0)`;
  const children = childrenOf(field);
  const [child] = children;
  if (child === undefined) return String(bytesPerValue(type));
  if (DataType.isStruct(type)) {
    const names = uniqueNames(children.map(({ name }) => name));
    return sumSql(children.map((member, i) => bytesSql(member, `(${value}).${sqlName(names[i] ?? '')}`)));
  }
  if (!DataType.isMap(type)) return `4 + ${itemsBytesSql(child, value)}`;
  const [key, item] = keyAndValueOf(field);
  return `4 + ${itemsBytesSql(key, `map_keys(${value})`)} + ${itemsBytesSql(item, `map_values(${value})`)}`;
}

function itemsBytesSql(item: Field, list: string): string {
  const bytes = bytesSql(item, 'e');
  const isFixed = Number.isFinite(Number(bytes));
  const sum = isFixed ? `len(${list}) * ${bytes}` : sumSql([`list_sum(list_transform(${list}, lambda e: ${bytes}))`]);
  return `coalesce(${sum}, 0)`;
}

/** Uses a list: a long chain of additions would exceed DuckDB's limit on expression depth. */
function sumSql(numbers: readonly string[]): string {
  return `coalesce(list_sum([${numbers.map((number) => `(${number})::DOUBLE`).join(', ')}]), 0)`;
}

function bytesPerValue(type: DataType): number {
  if (DataType.isBool(type)) return 1 / 8;
  if (DataType.isInterval(type)) return 4 * 2 ** type.unit;
  if (DataType.isDecimal(type)) return type.bitWidth / 8;
  if (DataType.isFixedSizeBinary(type)) return type.byteWidth;
  if (DataType.isStruct(type)) return 0;
  const { ArrayType } = type as { ArrayType?: { BYTES_PER_ELEMENT?: number } };
  return ArrayType?.BYTES_PER_ELEMENT ?? 8;
}
