import { randomUUID } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { columnInfo } from '@svc/frames';
import { Schema } from 'apache-arrow';
import { fitsPlan } from '../wire/fits-plan.ts';
import type { Int96Unit } from '../wire/column-plans.ts';
import type { ChildResponses } from '../wire/file-requests.ts';
import { unlinkIfThere } from '../disk/durable-files.ts';
import { type CsvHead, readCsvHead } from './csv-sniffer.ts';
import { csvColumnName, type CsvTable } from './csv-table.ts';
import { csvInfo, type CsvReader, detectCsvTable, settleColumns, verifyCsvTable } from './describe-csv.ts';
import { describeOwnFiles, type ParquetSource, toError } from './describe-own-files.ts';
import { describeParquet } from './parquet/describe-parquet.ts';
import type { FileSource, SourceInfo } from './frame-files.ts';
import { type ParquetFooter, readParquetFooter } from './parquet/parquet-footer.ts';
import type { FileEngine } from '../engine/file-engine.ts';
import { isOfTheEngine } from '../engine/child-errors.ts';
import { attachment, type CsvSource, databaseName, fromClause, type SettledSource } from './source-sql.ts';
import { fieldFromDuckdb } from '../types/duckdb-types.ts';
import { PARQUET_MAGIC } from '../wire/parquet-tail.ts';
import { NO_COLUMNS_NAME, sqlText } from '../wire/sql-names.ts';
import { storedColumn } from '../types/stored-types.ts';

type FoundColumns = ChildResponses['inspect'];

/** The number of foreign sources that are described in parallel. */
const DESCRIBED_AT_ONCE = 4;

/** Describes each source, or returns an error if it cannot be read. Describes files of ours in batches. */
export async function describeSources(
  engine: FileEngine,
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
      found[i] = isKnown ? known : await describeForeign(engine, source, { noted: known }).catch(toError);
    }
  }
  await Promise.all(Array.from({ length: DESCRIBED_AT_ONCE }, work));
  return found;
}

function isOwnFile(source: FileSource): boolean {
  return source.kind === 'parquet' && source.isOwn === true;
}

interface ForeignOptions {
  /** The description in its metadata. Programs keep metadata of a file when they write other rows or columns. */
  readonly noted?: SourceInfo | Error | undefined;
  readonly signal?: AbortSignal | undefined;
}

async function describeForeign(
  engine: FileEngine,
  source: FileSource,
  { noted, signal }: ForeignOptions = {},
): Promise<SourceInfo> {
  if (source.kind === 'csv') return describeForeignCsv(engine, source, signal);
  const footer = source.kind === 'parquet' ? await readParquetFooter(source.path) : undefined;
  const needsCopy = footer?.keepsValues === false;
  const look = async (file: SettledSource): Promise<{ readonly found: FoundColumns; readonly rows: number }> => ({
    found: await inspect(engine, file, signal),
    rows: await countRows(engine, file, signal),
  });
  const { found, rows } = await (needsCopy ? withExactFooter(engine, footer, look) : look(source));
  if (noted !== undefined && !(noted instanceof Error) && isFileOf(noted.schema, found))
    return noted.rows === rows ? noted : { schema: noted.schema, rows };
  const info = footer
    ? await describeParquet(engine, { path: source.path, found, footer }, signal)
    : foreignInfo(found);
  return { ...info, rows, ...(needsCopy && { needsCopy }) };
}

/** Describes a CSV file from all of its rows, which are read at least once to count them. */
async function describeForeignCsv(engine: FileEngine, source: CsvSource, signal?: AbortSignal): Promise<SourceInfo> {
  const reader = csvReader(engine, signal);
  const table = await detectCsvTable(reader, source, await readCsvHead(source.path, source.delimiter));
  const { table: verified, rows } = await verifyCsvTable(reader.query, source, table);
  // The file may change before it is read.
  const columns = verified.columns.map((column) => ({ ...column, isVerified: false, hasNegativeZero: true }));
  return { ...csvInfo({ ...verified, columns }), rows };
}

function csvReader(engine: FileEngine, signal: AbortSignal | undefined): CsvReader {
  return {
    query: (sql) => engine.call({ op: 'texts', sql }, signal),
    withFile: (text, work) => withScratchFile(engine, text, work),
  };
}

/** Saves bytes to a file, which is removed after the work. */
async function withScratchFile<T>(
  engine: FileEngine,
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

/** Runs `work` with a file that has only the exact footer, which has all that a description needs. */
async function withExactFooter<T>(
  engine: FileEngine,
  footer: ParquetFooter,
  work: (file: SettledSource) => Promise<T>,
): Promise<T> {
  return withScratchFile(engine, PARQUET_MAGIC, async (path) => {
    await footer.appendExact(path);
    return work({ kind: 'parquet', path });
  });
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

/** Reads the head or the footer of an upload, which is fast, and extends the footer so that DuckDB changes no value. */
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
  engine: FileEngine,
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
  const own = await describeOwn(engine, source, signal).catch((error: unknown) => {
    if (isOfTheEngine(error)) throw error;
    return undefined;
  });
  const info =
    own !== undefined && isStoredAs(own.schema, found)
      ? own
      : await describeParquet(engine, { path, found, footer, int96Unit }, signal);
  return { source, info, columnNames };
}

/** Describes a CSV upload again, from all values of these columns, or from all values. */
export async function describeAgain(
  engine: FileEngine,
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

/** Reads the footer of an upload, and extends the file so that DuckDB changes no value. */
async function exactFooter({
  path,
  isTemporary,
}: Extract<FileSource, { kind: 'parquet' }>): Promise<ParquetFooter | undefined> {
  const footer = await readParquetFooter(path);
  if (footer?.isExact === false) {
    if (!isTemporary) throw new Error('A Parquet file that must not be changed needs a copy.');
    await footer.appendExact(path);
  }
  return footer;
}

/** True if a file of ours with this schema has such columns: one that stands for none if there are none. */
function isFileOf(schema: Schema, found: FoundColumns): boolean {
  if (schema.fields.length > 0) return isStoredAs(schema, found);
  return found.length === 1 && found[0]?.name === NO_COLUMNS_NAME;
}

function isStoredAs(schema: Schema, found: FoundColumns): boolean {
  if (schema.fields.length !== found.length) return false;
  return schema.fields.every((field, i) => {
    const type = found[i]?.type;
    const stored = storedColumn(field);
    // We never write a type that is stored as another one: such a schema is not ours.
    return type !== undefined && typeText(stored.field) === typeText(field) && fitsPlan(type, stored.get);
  });
}

/** All types have a text form, but apache-arrow does not declare it for their base class. */
function typeText({ type }: { readonly type: { toString(): string } }): string {
  return type.toString();
}

async function inspect(engine: FileEngine, source: SettledSource, signal?: AbortSignal): Promise<FoundColumns> {
  return engine.call({ op: 'inspect', setup: attachment(source), sql: `SELECT * FROM ${fromClause(source)}` }, signal);
}

async function describeOwn(
  engine: FileEngine,
  file: ParquetSource,
  signal?: AbortSignal,
): Promise<SourceInfo | undefined> {
  const found = (await describeOwnFiles(engine, [file], signal)).get(file.path);
  if (found instanceof Error) throw found;
  return found;
}

/** Describes a foreign source, except for the number of rows. */
function foreignInfo(found: FoundColumns): SourceInfo {
  const fields = found.map(({ name, type }) => fieldFromDuckdb(name, type));
  for (const field of fields) columnInfo(field);
  return { schema: new Schema(fields), rows: 0, isForeign: true };
}

/** Counts the rows of a source. DuckDB sums up the row groups of a Parquet file; the footer may declare another number. */
export async function countRows(engine: FileEngine, source: SettledSource, signal?: AbortSignal): Promise<number> {
  const sql = `SELECT count(*)::VARCHAR FROM ${fromClause(source)}`;
  const [[rows] = []] = await engine.call({ op: 'texts', setup: attachment(source), sql }, signal);
  return Number(rows);
}

/** Lists the tables of a database file. Creates the file if it does not exist. */
export async function tablesOf(engine: FileEngine, path: string): Promise<readonly string[]> {
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
