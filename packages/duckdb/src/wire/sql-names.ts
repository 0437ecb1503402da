import { ServiceError } from '@svc/errors';
import type { Schema } from 'apache-arrow';

/** The only column in the file of a frame without columns. */
export const NO_COLUMNS_NAME = 'column';

/** The column names in a frame's file. They avoid DuckDB's virtual columns of every file. */
export function fileNames(schema: Schema): string[] {
  return uniqueNames(
    schema.fields.map(({ name }) => name),
    ['file_row_number'],
  );
}

/** Makes column names unique for DuckDB: it ignores letter case. */
export function uniqueNames(names: readonly string[], reserved: readonly string[] = []): string[] {
  const taken = new Set(reserved);
  const numbers = new Map<string, number>();
  return names.map((name) => {
    const base = name.replaceAll('\0', '\uFFFD') || 'column';
    const folded = base.toLowerCase();
    let unique = base;
    // From the last number on: thousands of names may differ in letter case only.
    let number = numbers.get(folded) ?? 0;
    while (taken.has(unique.toLowerCase())) unique = `${base}_${(number += 1)}`;
    numbers.set(folded, number);
    taken.add(unique.toLowerCase());
    return unique;
  });
}

/** Quotes an identifier for SQL. */
export function sqlName(name: string): string {
  return `"${name.replaceAll(/"+/g, doubled)}"`;
}

/** SQL for a value under a name, which a column may have already. */
export function namedSql(value: string, name: string): string {
  const quotedName = sqlName(name);
  return value === quotedName ? value : `${value} AS ${quotedName}`;
}

/** Quotes a string literal for SQL. */
export function sqlText(text: string): string {
  return `'${text.replaceAll(/'+/g, doubled)}'`;
}

/** A run of quotes at a time: thirty times as fast for names of thousands of them. */
const doubled = (quotes: string): string => quotes + quotes;

/** Refused: these tables show the configuration of the engine. */
export const REFUSED_TABLES: readonly string[] = inSchema('pg_catalog', 'pg_prepared_statements pg_settings');

/** Allowed: these tables read only the shadowed catalogue functions, or hold no user data. */
export const CATALOGUE_TABLES: readonly string[] = [
  ...inSchema(
    'information_schema',
    `character_sets check_constraints columns constraint_column_usage constraint_table_usage key_column_usage
      referential_constraints schemata table_constraints tables views`,
  ),
  ...inSchema(
    'pg_catalog',
    `pg_am pg_attrdef pg_attribute pg_class pg_collation pg_constraint pg_database pg_depend pg_description pg_enum
      pg_index pg_indexes pg_namespace pg_proc pg_sequence pg_sequences pg_tables pg_tablespace pg_type pg_views`,
  ),
];

function inSchema(schema: string, names: string): string[] {
  return names
    .trim()
    .split(/\s+/)
    .map((name) => `${schema}.${name}`);
}

/** SQL for a path, with the wildcards of globs escaped. */
export function globFree(path: string): string {
  if (path.includes('\0')) throw new ServiceError('invalid_argument', 'A path cannot contain a NUL character.');
  return sqlText(path.replaceAll(/[*?[]/g, '[$&]'));
}
