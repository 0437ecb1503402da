import duckdb, { type Database } from '@duckdb/node-bindings';

let first: Promise<Database> | undefined;

/** Opens an in-memory database, on another thread. */
export async function openDatabase(): Promise<Database> {
  return duckdb.open(':memory:');
}

/** The database of every child. The first call starts to open it. */
export function firstDatabase(): Promise<Database> {
  if (first === undefined) {
    first = openDatabase();
    // Avoid an unhandled rejection; each request awaits it itself.
    first.catch(() => undefined);
  }
  return first;
}
