import { ServiceError } from '@svc/errors';
import { createYield } from '@svc/frames/internal';
import type { FileSource, SourceInfo } from './frame-files.ts';
import type { FileEngine } from '../engine/file-engine.ts';
import { ChildError } from '../engine/child-errors.ts';
import { checksOf, globFree } from './source-sql.ts';
import { METADATA_KEYS, schemaFromText } from '../types/schema-text.ts';
import { sqlText } from '../wire/sql-names.ts';

/** A Parquet file. */
export type ParquetSource = Extract<FileSource, { kind: 'parquet' }>;

/** The number of files per query, and of queries in parallel. */
const BATCH_FILES = 256;
const MAX_QUERIES = 4;

/**
 * Describes Parquet files from our metadata in them: a map from the path to the description, or to the error if the file
 * cannot be read. Files without our metadata are not in the map.
 */
export async function describeOwnFiles(
  engine: FileEngine,
  files: readonly ParquetSource[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, SourceInfo | Error>> {
  const found = new Map<string, SourceInfo | Error>();
  let next = 0;
  async function work(): Promise<void> {
    while (next < files.length) {
      next += BATCH_FILES;
      await describeBatch(files.slice(next - BATCH_FILES, next));
    }
  }
  await Promise.all(Array.from({ length: MAX_QUERIES }, work));
  return found;

  async function describeBatch(batch: readonly ParquetSource[]): Promise<void> {
    try {
      const pause = createYield();
      for (const [path, notes] of await notesOf(engine, batch, signal)) {
        // The schema of a wide frame takes some milliseconds.
        await pause();
        addFile(path, notes);
      }
    } catch (error) {
      if (isOver(error)) throw error;
      const [file] = batch;
      if (file !== undefined && batch.length === 1) {
        found.set(file.path, toError(error));
        return;
      }
      // One unreadable file fails the query for all: bisect the batch to find it.
      const half = batch.length >> 1;
      await describeBatch(batch.slice(0, half));
      await describeBatch(batch.slice(half));
    }
  }

  function addFile(path: string, notes: Notes): void {
    try {
      const info = infoFrom(notes);
      if (info !== undefined) found.set(path, info);
    } catch (error) {
      found.set(path, toError(error));
    }
  }
}

/** Whether an error ends the whole operation: it was cancelled, or the engine is gone. */
function isOver(error: unknown): boolean {
  if (error instanceof ChildError) return error.failure.code === 'cancelled';
  return error instanceof ServiceError && ['cancelled', 'unavailable'].includes(error.code);
}

type Notes = ReadonlyMap<string, string>;

async function notesOf(
  engine: FileEngine,
  batch: readonly ParquetSource[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, Notes>> {
  const keys = Object.values(METADATA_KEYS).map((key) => `${sqlText(key)}::BLOB`);
  const paths = batch.map(({ path }) => globFree(path));
  const sql = `SELECT file_name, decode(key), decode(value) FROM parquet_kv_metadata([${paths.join(', ')}])
    WHERE key IN (${keys.join(', ')})`;
  const checks = batch.flatMap((file) => checksOf(file, 'footer'));
  const files = new Map<string, Map<string, string>>();
  for (const [path, key, value] of await engine.call({ op: 'texts', checks, sql }, signal)) {
    if (typeof path !== 'string' || typeof key !== 'string' || typeof value !== 'string') continue;
    const notes = files.get(path) ?? new Map<string, string>();
    files.set(path, notes.set(key, value));
  }
  return files;
}

/** Converts a thrown value to an `Error`. */
export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Returns the description in our metadata, or undefined if the file has none. */
function infoFrom(notes: Notes): SourceInfo | undefined {
  const schema = notes.get(METADATA_KEYS.schema);
  const rows = Number(notes.get(METADATA_KEYS.rows) ?? NaN);
  const arrowBytes = Number(notes.get(METADATA_KEYS.arrowBytes) ?? NaN);
  if (schema === undefined || !Number.isSafeInteger(rows) || !Number.isSafeInteger(arrowBytes)) return undefined;
  return { schema: schemaFromText(schema), rows, arrowBytes };
}
