import { randomUUID } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { Schema } from 'apache-arrow';
import { createYield } from '@svc/frames/async';
import { checkSchema } from '@svc/frames/columns';
import { unlinkIfThere } from '@svc/objects/internal';
import { fitsPlan, type Int96Unit } from '../wire/column-plans.ts';
import type { ChildResponses } from '../wire/requests.ts';
import { type CsvHead, readCsvHead } from './csv/dialect.ts';
import { csvColumnName, type CsvTable } from './csv/table.ts';
import { csvInfo, type CsvReader, detectCsvTable, settleColumns, verifyCsvTable } from './csv/describe.ts';
import { describeParquet } from './parquet/columns.ts';
import type { CsvSource, FileSource, ParquetSource, SourceInfo } from './frame-files.ts';
import { type ParquetFooter, readParquetFooter } from './parquet/footer.ts';
import type { FileChild } from '../child-link/file-child.ts';
import { ChildError, isOfTheEngine } from '../child-link/child-errors.ts';
import { attachment, checksOf, databaseName, fromClause, type SettledSource } from './source-sql.ts';
import { fieldFromDuckdb } from '../types/duckdb-types.ts';
import { PARQUET_MAGIC } from '../wire/file-layout.ts';
import { globFree, NO_COLUMNS_NAME, sqlText } from '../wire/sql-names.ts';
import { METADATA_KEYS, schemaFromText, storedColumn } from '../types/stored-types.ts';

type FoundColumns = ChildResponses['inspect'];

/** The number of foreign sources described in parallel. */
const DESCRIBED_AT_ONCE = 4;

/** Describes each source, or returns an error if it cannot be read. Describes files of ours in batches. */
export async function describeSources(
  engine: FileChild,
  sources: readonly FileSource[],
): Promise<readonly (SourceInfo | Error)[]> {
  const own = await describeOwnFiles(
    engine,
    sources.filter((source) => source.kind === 'parquet'),
  );
  const found: (SourceInfo | Error)[] = [];
  let next = 0;
  async function work(): Promise<void> {
    for (let i = next++; i < sources.length; i = next++) {
      const source = sources[i];
      if (source === undefined) return;
      const known = own.get(source.path);
      const isKnown = known !== undefined && (isOwnFile(source) || (known instanceof Error && isOfTheEngine(known)));
      found[i] = isKnown ? known : await describeForeign(engine, source, known).catch(toError);
    }
  }
  await Promise.all(Array.from({ length: DESCRIBED_AT_ONCE }, work));
  return found;
}

function isOwnFile(source: FileSource): boolean {
  return source.kind === 'parquet' && source.isOwn === true;
}

/**
 * Describes a file without metadata of ours, or with metadata that may lie (`noted`): programs keep it when they write
 * other rows or columns.
 */
async function describeForeign(
  engine: FileChild,
  source: FileSource,
  noted: SourceInfo | Error | undefined,
): Promise<SourceInfo> {
  if (source.kind === 'csv') return describeForeignCsv(engine, source);
  const footer = source.kind === 'parquet' ? await readParquetFooter(source.path) : undefined;
  const needsCopy = footer?.keepsValues === false;
  const look = async (file: SettledSource): Promise<{ readonly found: FoundColumns; readonly rows: number }> => ({
    found: await inspect(engine, file),
    rows: await countRows(engine, file),
  });
  // A file of only the exact footer has everything for a description.
  const { found, rows } = await (needsCopy
    ? withScratchFile(engine, PARQUET_MAGIC, async (path) => {
        await footer.appendExact(path);
        return look({ kind: 'parquet', path });
      })
    : look(source));
  if (noted !== undefined && !(noted instanceof Error) && isFileOf(noted.schema, found)) {
    checkSchema(noted.schema);
    return noted.rows === rows ? noted : { schema: noted.schema, rows };
  }
  const info = footer ? await describeParquet(engine, { path: source.path, found, footer }) : foreignInfo(found);
  return { ...info, rows, ...(needsCopy && { needsCopy }) };
}

/** Describes a CSV file from all of its rows: they are read at least once to count them. */
async function describeForeignCsv(engine: FileChild, source: CsvSource): Promise<SourceInfo> {
  const reader = csvReader(engine);
  const table = await detectCsvTable(reader, source, await readCsvHead(source.path, source.delimiter));
  const { table: verified, rows } = await verifyCsvTable(reader.query, source, table);
  // The file may change before it is read.
  const columns = verified.columns.map((column) => ({ ...column, isVerified: false, hasNegativeZero: true }));
  return { ...csvInfo({ ...verified, columns }), rows };
}

function csvReader(engine: FileChild, signal?: AbortSignal): CsvReader {
  return {
    query: (sql) => engine.call({ op: 'texts', sql }, signal),
    withFile: (text, work) => withScratchFile(engine, text, work),
  };
}

/** Saves bytes to a file, and removes it after the work. */
async function withScratchFile<T>(
  engine: FileChild,
  bytes: Uint8Array | string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  await engine.scratch.make();
  const path = join(engine.scratch.path, randomUUID());
  try {
    await writeFile(path, bytes);
    return await work(path);
  } finally {
    await unlinkIfThere(path);
  }
}

/** An upload whose head or footer was read. */
export interface PreparedUpload {
  readonly source: FileSource;
  /** The number of columns, including nested ones; 0 if unknown. */
  readonly columns: number;
  /** The head of a CSV file. */
  readonly head?: CsvHead;
  /** The original footer of a Parquet file. */
  readonly footer?: ParquetFooter | undefined;
}

/** Reads the head or the footer of an upload (fast), and appends an exact footer if DuckDB needs one. */
export async function prepareUpload(source: FileSource): Promise<PreparedUpload> {
  if (source.kind === 'csv') {
    const head = await readCsvHead(source.path, source.delimiter);
    return { source, columns: head.columns, head };
  }
  if (source.kind === 'table') return { source, columns: 0 };
  const footer = await exactFooter(source);
  return { source, columns: footer?.leaves.length ?? 0, footer };
}

/** An upload with its description and the names of its columns in DuckDB. */
export interface DescribedUpload {
  readonly source: SettledSource;
  readonly info: SourceInfo;
  readonly columnNames: readonly string[];
}

/** How an upload is described. */
export interface DescribeUploadOptions {
  readonly signal?: AbortSignal | undefined;
  /** The unit for Parquet's deprecated INT96 timestamps. */
  readonly int96Unit?: Int96Unit | undefined;
}

/**
 * Describes an upload. Trusts its metadata only if the columns match it. Does not count the rows, which would read a CSV
 * file twice.
 */
export async function describeUpload(
  engine: FileChild,
  { source, head, footer }: PreparedUpload,
  { signal, int96Unit }: DescribeUploadOptions = {},
): Promise<DescribedUpload> {
  if (source.kind === 'csv') {
    const csvHead = head ?? (await readCsvHead(source.path, source.delimiter));
    return describedCsv(source, await detectCsvTable(csvReader(engine, signal), source, csvHead));
  }
  const found = await inspect(engine, source, signal);
  const columnNames = found.map(({ name }) => name);
  if (footer === undefined || source.kind !== 'parquet') return { source, info: foreignInfo(found), columnNames };
  const { path } = source;
  const own = (await describeOwnFiles(engine, [source], signal)).get(path);
  if (own instanceof Error && isOfTheEngine(own)) throw own;
  const isOwn = own !== undefined && !(own instanceof Error) && isStoredAs(own.schema, found);
  if (isOwn) checkSchema(own.schema);
  const info = isOwn ? own : await describeParquet(engine, { path, found, footer, int96Unit }, signal);
  return { source, info, columnNames };
}

/** Describes a CSV upload again, from all values of these columns, or from all values. */
export async function describeAgain(
  engine: FileChild,
  upload: DescribedUpload,
  { columns, signal }: { readonly columns: readonly number[] | 'all'; readonly signal: AbortSignal | undefined },
): Promise<DescribedUpload> {
  const { source } = upload;
  if (source.kind !== 'csv') return upload;
  const { query } = csvReader(engine, signal);
  const table =
    columns === 'all'
      ? (await verifyCsvTable(query, source, source.table)).table
      : await settleColumns(query, source, source.table, columns);
  return describedCsv(source, table);
}

function describedCsv(source: CsvSource, table: CsvTable): DescribedUpload {
  const columnNames = table.columns.map((_, i) => csvColumnName(i));
  return { source: { ...source, table }, info: csvInfo(table), columnNames };
}

/** Reads the footer of an upload, and appends an exact one if DuckDB needs one. */
async function exactFooter({ path, isTemporary }: ParquetSource): Promise<ParquetFooter | undefined> {
  const footer = await readParquetFooter(path);
  if (footer?.isExact === false) {
    if (!isTemporary) throw new Error('A Parquet file that must not be changed needs a copy.');
    await footer.appendExact(path);
  }
  return footer;
}

/** True if a file of ours with this schema has such columns: a stand-in if there are none. */
function isFileOf(schema: Schema, found: FoundColumns): boolean {
  if (schema.fields.length > 0) return isStoredAs(schema, found);
  return found.length === 1 && found[0]?.name === NO_COLUMNS_NAME;
}

function isStoredAs(schema: Schema, found: FoundColumns): boolean {
  if (schema.fields.length !== found.length) return false;
  return schema.fields.every((field, i) => {
    const type = found[i]?.type;
    const stored = storedColumn(field);
    // We never write a type with another stored type: such a schema is not ours.
    return type !== undefined && typeText(stored.field) === typeText(field) && fitsPlan(type, stored.get);
  });
}

/** All types have a text form, but apache-arrow does not declare it for their base class. */
function typeText({ type }: { readonly type: { toString(): string } }): string {
  return type.toString();
}

async function inspect(engine: FileChild, source: SettledSource, signal?: AbortSignal): Promise<FoundColumns> {
  return engine.call({ op: 'inspect', setup: attachment(source), sql: `SELECT * FROM ${fromClause(source)}` }, signal);
}

/** Describes a foreign source, except for the number of rows. */
function foreignInfo(found: FoundColumns): SourceInfo {
  const schema = new Schema(found.map(({ name, type }) => fieldFromDuckdb(name, type)));
  checkSchema(schema);
  return { schema, rows: 0, isForeign: true };
}

/** Counts the rows of a source. DuckDB sums up the row groups of a Parquet file; the footer may declare another number. */
export async function countRows(engine: FileChild, source: SettledSource, signal?: AbortSignal): Promise<number> {
  const sql = `SELECT count(*)::VARCHAR FROM ${fromClause(source)}`;
  const [[rows] = []] = await engine.call({ op: 'texts', setup: attachment(source), sql }, signal);
  return Number(rows);
}

/** Lists the tables of a database file. Creates the file if it does not exist. */
export async function tablesOf(engine: FileChild, path: string): Promise<readonly string[]> {
  const name = databaseName(path);
  if (path.includes('\0'))
    throw new ServiceError('invalid_argument', `The path ${quoted(path)} contains a NUL character.`);
  const isThere = await stat(path).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    const create = [`ATTACH ${sqlText(path)} AS ${name}_new`, `DETACH ${name}_new`];
    await engine.call({ op: 'texts', setup: create, sql: "SELECT ''" });
  }
  const rows = await engine.call({
    op: 'texts',
    setup: attachment({ kind: 'table', path, table: '' }),
    sql: `SELECT table_name FROM duckdb_tables() WHERE database_name = '${name}' AND schema_name = 'main' ORDER BY 1`,
  });
  return rows.map(([table]) => table ?? '');
}

/** The number of files per query, and of queries in parallel. */
const BATCH_FILES = 256;
const MAX_QUERIES = 4;

/**
 * Describes Parquet files from our metadata in them: a map from the path to the description, or to the error if the file
 * cannot be read. Files without our metadata are not in the map.
 */
async function describeOwnFiles(
  engine: FileChild,
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

/** True if an error ends the whole operation: it was cancelled, or the engine is gone. */
function isOver(error: unknown): boolean {
  if (error instanceof ChildError) return error.failure.code === 'cancelled';
  return error instanceof ServiceError && ['cancelled', 'unavailable'].includes(error.code);
}

type Notes = ReadonlyMap<string, string>;

async function notesOf(
  engine: FileChild,
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
function toError(error: unknown): Error {
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
