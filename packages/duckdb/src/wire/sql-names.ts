import type { Schema } from 'apache-arrow';

/** The only column in the file of a frame without columns. */
export const NO_COLUMNS_NAME = 'column';

/** The column names in a frame's file. They avoid the virtual columns that DuckDB adds to every file. */
export function fileNames(schema: Schema): string[] {
  return uniqueNames(
    schema.fields.map(({ name }) => name),
    ['file_row_number'],
  );
}

/** Makes column names unique for DuckDB, which ignores letter case. */
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
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes a string literal for SQL. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
