import { childrenOf, keyAndValueOf, typeOf } from '@svc/frames/columns';
import { DataType, type Field, type Schema } from 'apache-arrow';
import type { ArrowMeasure, ChildResponses } from '../wire/requests.ts';
import { fileNames, sqlName, uniqueNames } from '../wire/sql-names.ts';
import { fromClause } from './source-sql.ts';

/**
 * The most columns one statement aggregates. The time DuckDB takes grows with their square, and each expression takes
 * the memory of a vector; a statement for every few columns would read the footer too often.
 */
export const COLUMNS_PER_STATEMENT = 1000;

/** Returns SQL to estimate the size of the rows of a file of ours as Arrow. */
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
  /** Bytes of every value. */
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

/**
 * The COPY option to keep the sign of zero. DuckDB dictionary-encodes frequent values, and its dictionary
 * holds 0 and -0 as one value. Files without dictionaries are larger, so this is only for data with a -0.
 */
export const WITHOUT_DICTIONARIES = 'DICTIONARY_SIZE_LIMIT 0';

type Test = (value: string) => string;

const IS_ZERO: Test = (value) => `${value} = 0`;
const IS_NEGATIVE_ZERO: Test = (value) => `(${value} = 0 AND signbit(${value}))`;

/** True if the rows of `sql` have a -0: it may be a 0 in their copy at `path`. */
export async function losesNegativeZero(
  query: (sql: string) => Promise<ChildResponses['texts']>,
  { sql, path, schema }: { readonly sql: string; readonly path: string; readonly schema: Schema },
): Promise<boolean> {
  async function isAny(from: string, columns: readonly FloatColumn[], test: Test): Promise<boolean> {
    if (columns.length === 0) return false;
    const [[result] = []] = await query(anySql(from, columns, test));
    return result === 'true';
  }
  // Many files have no zero, and the copy is faster to scan than the source.
  const copied = fromClause({ kind: 'parquet', path });
  const columns = floatColumns(schema);
  const withZeros: FloatColumn[] = [];
  for (let at = 0; at < columns.length; at += COLUMNS_PER_STATEMENT) {
    const some = columns.slice(at, at + COLUMNS_PER_STATEMENT);
    if (await isAny(copied, some, IS_ZERO)) withZeros.push(...some);
  }
  // One statement: every further one would read the whole source again.
  return isAny(`(${sql})`, withZeros, IS_NEGATIVE_ZERO);
}

/** SQL: true if a test holds for some float of a column. */
type FloatColumn = (test: Test) => string;

function floatColumns(schema: Schema): FloatColumn[] {
  const names = fileNames(schema);
  return schema.fields.flatMap((field, i) => {
    const name = sqlName(names[i] ?? '');
    if (testSql(field, name, IS_ZERO) === undefined) return [];
    return [(test: Test) => testSql(field, name, test) ?? 'false'];
  });
}

/** SQL: the text `true` if a test holds for some value of some rows. */
function anySql(from: string, columns: readonly FloatColumn[], test: Test): string {
  // A list: a long chain of ORs would exceed DuckDB's limit on expression depth.
  const found = columns.map((column) => `bool_or(${column(test)})`).join(', ');
  return `SELECT coalesce(list_bool_or([${found}]), false)::VARCHAR FROM ${from}`;
}

/** SQL: true if a test holds for a value or one nested in it; undefined if there are no floats. */
function testSql(field: Field, value: string, test: Test): string | undefined {
  const type = typeOf(field);
  if (DataType.isFloat(type)) return test(value);
  const [child] = childrenOf(field);
  if (child === undefined) return undefined;
  if (DataType.isStruct(type)) {
    const names = uniqueNames(type.children.map(({ name }) => name));
    return anyOf(type.children.map((member, i) => testSql(member, `(${value}).${sqlName(names[i] ?? '')}`, test)));
  }
  if (DataType.isMap(type)) {
    const [keys, values] = keyAndValueOf(field);
    return anyOf([itemsSql(keys, `map_keys(${value})`, test), itemsSql(values, `map_values(${value})`, test)]);
  }
  return itemsSql(child, value, test);
}

function itemsSql(item: Field, list: string, test: Test): string | undefined {
  const found = testSql(item, 'e', test);
  return found && `list_bool_or(list_transform(${list}, lambda e: ${found}))`;
}

function anyOf(tests: readonly (string | undefined)[]): string | undefined {
  const found = tests.filter((sql) => sql !== undefined).map((sql) => `coalesce(${sql}, false)`);
  return found.length === 0 ? undefined : `(${found.join(' OR ')})`;
}
