import { childrenOf, keyAndValueOf, typeOf } from '@svc/frames/internal';
import { DataType, type Field, type Schema } from 'apache-arrow';
import type { ChildResponses } from '../wire/file-requests.ts';
import { COLUMNS_PER_STATEMENT } from './measure-rows.ts';
import { fromClause } from './source-sql.ts';
import { fileNames, sqlName, uniqueNames } from '../wire/sql-names.ts';

/**
 * The COPY option with which a file keeps the sign of zero. DuckDB dictionary-encodes frequent values, and its dictionary
 * holds 0 and -0 as one value. Files without dictionaries are larger, so this is only for data with a -0.
 */
export const WITHOUT_DICTIONARIES = 'DICTIONARY_SIZE_LIMIT 0';

type Test = (value: string) => string;

const IS_ZERO: Test = (value) => `${value} = 0`;
const IS_NEGATIVE_ZERO: Test = (value) => `(${value} = 0 AND signbit(${value}))`;

/** Whether the rows of `sql` have a -0 that may be a 0 in the file at `path`, which holds a copy of them. */
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

/** SQL for whether a test holds for some float of a column. */
type FloatColumn = (test: Test) => string;

function floatColumns(schema: Schema): FloatColumn[] {
  const names = fileNames(schema);
  return schema.fields.flatMap((field, i) => {
    const name = sqlName(names[i] ?? '');
    if (testSql(field, name, IS_ZERO) === undefined) return [];
    return [(test: Test) => testSql(field, name, test) ?? 'false'];
  });
}

/** SQL for whether a test holds for some value of some rows, as the text `true`. */
function anySql(from: string, columns: readonly FloatColumn[], test: Test): string {
  // A list: a long chain of ORs would exceed DuckDB's limit on expression depth.
  const found = columns.map((column) => `bool_or(${column(test)})`).join(', ');
  return `SELECT coalesce(list_bool_or([${found}]), false)::VARCHAR FROM ${from}`;
}

/** SQL for whether a test holds for a value or one nested in it; undefined if there are no floats. */
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
