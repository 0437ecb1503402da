import type { Schema } from 'apache-arrow';

/** The column of a file that holds a frame without columns. */
export const NO_COLUMNS_NAME = 'column';

/** The names that the columns of a frame have in its file; DuckDB has a column of its own name in every file. */
export function fileNames(schema: Schema): string[] {
  return uniqueNames(
    schema.fields.map(({ name }) => name),
    ['file_row_number'],
  );
}

/** Names that DuckDB takes for columns of one file: to it, names that differ only by case are the same. */
export function uniqueNames(names: readonly string[], reserved: readonly string[] = []): string[] {
  const taken = new Set(reserved);
  return names.map((name) => {
    const base = name.replaceAll('\0', '\uFFFD') || 'column';
    let unique = base;
    for (let i = 1; taken.has(unique.toLowerCase()); i++) unique = `${base}_${i}`;
    taken.add(unique.toLowerCase());
    return unique;
  });
}

/** A name in SQL. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text in SQL. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
