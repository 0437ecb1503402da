import { randomUUID } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quoted, ServiceError } from '@svc/errors';
import { columnInfo } from '@svc/frames';
import { TYPE_METADATA_KEY } from '@svc/frames/internal';
import { DataType, Field, Schema } from 'apache-arrow';
import { fitsPlan } from '../wire/fits-plan.ts';
import type { Int96Unit } from '../wire/column-plans.ts';
import type { ChildResponses } from '../wire/file-requests.ts';
import { unlinkIfThere } from '../disk/durable-files.ts';
import { isHeaderOf, readCsvHead } from './csv-sniffer.ts';
import { describeOwnFiles, type ParquetSource, toError } from './describe-own-files.ts';
import { describeParquet } from './parquet/describe-parquet.ts';
import type { FileSource, SourceInfo } from './frame-files.ts';
import { type ParquetFooter, readParquetFooter } from './parquet/parquet-footer.ts';
import { refuseRepeatedName } from './refuse-repeated-name.ts';
import type { FileEngine } from '../engine/file-engine.ts';
import { isOfTheEngine } from '../engine/child-errors.ts';
import { attachment, databaseName, fromClause, globFree, type SettledSource } from './source-sql.ts';
import { fieldFromDuckdb } from '../types/duckdb-types.ts';
import { PARQUET_MAGIC } from '../wire/parquet-tail.ts';
import { sqlText } from '../wire/sql-names.ts';
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
      found[i] = own.get(source.path) ?? (await describeForeign(engine, source).catch(toError));
    }
  }
  await Promise.all(Array.from({ length: DESCRIBED_AT_ONCE }, work));
  return found;
}

async function describeForeign(engine: FileEngine, source: FileSource, signal?: AbortSignal): Promise<SourceInfo> {
  const { source: settled } = await settle(source);
  const footer = source.kind === 'parquet' ? await readParquetFooter(source.path) : undefined;
  const isExact = footer?.isExact !== false;
  const found = isExact ? await inspect(engine, settled, signal) : await inspectExact(engine, footer, signal);
  const info = footer
    ? await describeParquet(engine, { path: source.path, found, footer }, signal)
    : foreignInfo(settled, found);
  return { ...info, rows: await countRows(engine, settled, signal), ...(!isExact && { needsCopy: true }) };
}

/** Returns DuckDB's columns of a file under our exact footer, by writing a file that has only this footer. */
async function inspectExact(engine: FileEngine, footer: ParquetFooter, signal?: AbortSignal): Promise<FoundColumns> {
  await engine.scratch.make();
  const path = join(engine.scratch.path, `${randomUUID()}.parquet`);
  try {
    await writeFile(path, PARQUET_MAGIC);
    await footer.appendExact(path);
    return await inspect(engine, { kind: 'parquet', path }, signal);
  } finally {
    await unlinkIfThere(path);
  }
}

/** Detects the options that SQL needs and the client did not give, and counts the columns in the head of a CSV file. */
async function settle(source: FileSource): Promise<Omit<PreparedUpload, 'footer'>> {
  if (source.kind !== 'csv') return { source, columns: 0 };
  const { delimiter, columns, firstLine } = await readCsvHead(source.path, source.delimiter);
  const { addedTo, header = true } = source;
  const plain = { source: { ...source, delimiter }, columns, firstLine };
  if (addedTo === undefined || source.columns !== undefined || !header) return plain;
  const fields = new Map(addedTo.fields.map((field) => [field.name, field]));
  // If the first line has other names it may hold values: DuckDB detects which.
  if (firstLine === undefined || !firstLine.every((name) => fields.has(name))) return plain;
  const texts = new Set(firstLine.filter((name) => DataType.isUtf8(fields.get(name)?.type)));
  return { ...plain, source: { ...source, delimiter, header, texts: [...texts] } };
}

/** An upload whose head or footer was read. */
export interface PreparedUpload {
  readonly source: SettledSource;
  /** The number of columns, including nested ones; 0 if unknown. */
  readonly columns: number;
  /** The values of the first line of a CSV file, if it is complete. */
  readonly firstLine?: readonly string[] | undefined;
  /** The original footer of a Parquet file. */
  readonly footer?: ParquetFooter | undefined;
}

/** Reads the head or the footer of an upload, which is fast, and extends the footer so that DuckDB changes no value. */
export async function prepareUpload(from: FileSource): Promise<PreparedUpload> {
  const settled = await settle(from);
  if (from.kind !== 'parquet') return settled;
  const footer = await exactFooter(from);
  return { ...settled, columns: footer?.leaves.length ?? 0, footer };
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
  { source, firstLine, footer }: PreparedUpload,
  { signal, int96Unit }: DescribeUploadOptions = {},
): Promise<DescribedUpload> {
  const found = await inspect(engine, source, signal);
  const columnNames = found.map(({ name }) => name);
  if (source.kind === 'csv') {
    const named = withOwnNames(source, firstLine, found);
    return { source, info: foreignInfo(source, named), columnNames };
  }
  if (footer === undefined || source.kind !== 'parquet')
    return { source, info: foreignInfo(source, found), columnNames };
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

/** Restores the names in the header of a CSV file: DuckDB changes names that differ only in case. */
function withOwnNames(
  { columns, header }: Extract<SettledSource, { kind: 'csv' }>,
  line: readonly string[] | undefined,
  found: FoundColumns,
): FoundColumns {
  if (columns !== undefined || header === false) return found;
  const names = found.map(({ name }) => name);
  if (line === undefined || !isHeaderOf(line, names)) return found;
  const given = line.filter((name) => name !== '');
  refuseRepeatedName('CSV', given, 'Give every column a unique name, in the file or with ?columns=.');
  return found.map((column, i) => ({ ...column, name: line[i] === '' ? column.name : (line[i] ?? column.name) }));
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
  if (source.kind === 'csv' && (await stat(source.path)).size === 0) {
    throw new ServiceError('invalid_data', 'The CSV file is empty.', {
      hint: 'Send at least a header line.',
    });
  }
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
function foreignInfo(source: SettledSource, found: FoundColumns): SourceInfo {
  const named = source.kind === 'csv' ? source.columns : undefined;
  if (named !== undefined && named.length !== found.length) {
    throw new ServiceError(
      'invalid_data',
      `The CSV file has ${found.length} columns, but ${named.length} were named.`,
      {
        hint: 'Name every column, in the order of the file.',
      },
    );
  }
  const symbols = new Set(named?.flatMap(({ name, type }) => (isSymbol(type) ? [name] : [])));
  const fields = found.map(({ name, type }) => {
    const field = fieldFromDuckdb(name, type);
    return symbols.has(name) ? new Field(name, field.type, true, new Map([[TYPE_METADATA_KEY, 'SYMBOL']])) : field;
  });
  for (const field of fields) columnInfo(field);
  const delimiter = source.kind === 'csv' ? { delimiter: source.delimiter } : {};
  return { schema: new Schema(fields), rows: 0, isForeign: true, ...delimiter };
}

function isSymbol(type: string | undefined): boolean {
  return type?.toUpperCase() === 'SYMBOL';
}

/** Counts the rows of a source. */
export async function countRows(engine: FileEngine, source: SettledSource, signal?: AbortSignal): Promise<number> {
  const sql =
    source.kind === 'parquet'
      ? `SELECT num_rows::VARCHAR FROM parquet_file_metadata(${globFree(source.path)})`
      : `SELECT count(*)::VARCHAR FROM ${fromClause(source)}`;
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
