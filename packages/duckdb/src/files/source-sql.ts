import { createHash } from 'node:crypto';
import { type Field, Schema } from 'apache-arrow';
import type { GetPlan } from '../wire/column-plans.ts';
import { CHECKS_KEY } from '../wire/file-layout.ts';
import {
  type ChildRequest,
  type FileCheck,
  type FileNotes,
  NOTE_PLACEHOLDER,
  type RowsCheck,
  type RowsPart,
} from '../wire/requests.ts';
import { csvTextsSql } from './csv/dialect.ts';
import { type CsvTable, typedRowsSql } from './csv/table.ts';
import type {
  CsvSource,
  FileSource,
  ForeignColumn,
  FramePart,
  FrameSource,
  ReadPart,
  SourceInfo,
  WriteOptions,
} from './frame-files.ts';
import { METADATA_KEYS, schemaText, storedColumn } from '../types/stored-types.ts';
import { foreignColumn, storeExpression } from '../types/duckdb-types.ts';
import { fileNames, globFree, namedSql, sqlName, sqlText } from '../wire/sql-names.ts';

/** A source with everything SQL needs. */
export type SettledSource =
  Exclude<FileSource, { kind: 'csv' }> | (CsvSource & { /** How the file is read. */ readonly table: CsvTable });

/** Completes a source with what was detected. */
function settledSource(source: FileSource, { csvTable }: SourceInfo): SettledSource {
  if (source.kind !== 'csv') return source;
  if (csvTable === undefined) throw new Error('A CSV file is read as it was described.');
  return { ...source, table: csvTable };
}

/** SQL for a source in a FROM clause. */
export function fromClause(source: SettledSource, parquetOptions = ''): string {
  switch (source.kind) {
    case 'parquet':
      return parquetClause([source.path], parquetOptions);
    case 'csv':
      return `(${typedRowsSql(source.table, csvTextsSql(source, source.table))})`;
    case 'table':
      return `${databaseName(source.path)}.main.${sqlName(source.table)}`;
    default:
      return source satisfies never;
  }
}

/** SQL for Parquet files with the same columns in a FROM clause. Their rows keep their order. */
export function parquetClause(paths: readonly string[], options = ''): string {
  const [first = ''] = paths;
  const files = paths.length === 1 ? globFree(first) : `[${paths.map(globFree).join(', ')}]`;
  return `read_parquet(${files}, hive_partitioning = false${options})`;
}

/** The statements to make a source readable. */
export function attachment(source: FrameSource): string[] {
  if (source.kind !== 'table') return [];
  return [`ATTACH IF NOT EXISTS ${sqlText(source.path)} AS ${databaseName(source.path)} (READ_ONLY)`];
}

/** The checks to run before a source is read: by default of the whole file. */
export function checksOf(source: FrameSource, part: FileCheck['part'] = 'all'): FileCheck[] {
  if (source.kind === 'parts') return source.parts.map(({ path }) => ({ path, isOwn: true, part }));
  if (source.kind !== 'parquet') return [];
  return [{ path: source.path, ...(source.isOwn && { isOwn: true }), part }];
}

/** The name of an attached database file. */
export function databaseName(path: string): string {
  return `file_${createHash('sha256').update(path).digest('hex').slice(0, 16)}`;
}

/** The request to read a part of a source. */
export interface ReadPlan {
  readonly schema: Schema;
  /** The number of rows to read. */
  readonly rows: number;
  /** Made when the rows are read: thousands of columns take milliseconds. */
  readonly request: () => ReadRequest;
}

type ReadRequest = Extract<ChildRequest, { op: 'read' }>;

/** From this many rows on, a larger buffer gains more time than it takes to set its size. */
const LONG_READ_ROWS = 8192;

/** Plans how to read a part of a source. */
export function readPlan(
  source: FrameSource,
  info: SourceInfo,
  { offset = 0, limit = Infinity, columns }: ReadPart,
): ReadPlan {
  const rows = Math.max(0, Math.min(limit, info.rows - offset));
  return {
    schema: columns === undefined ? info.schema : chosenSchema(info.schema, columns),
    rows,
    request: () => readRequest(source, info, { from: offset, to: offset + rows, ...(columns && { columns }) }),
  };
}

function chosenSchema({ fields, metadata }: Schema, columns: readonly number[]): Schema {
  return new Schema(
    columns.flatMap((i) => fields[i] ?? []),
    metadata,
  );
}

function readRequest(source: FrameSource, info: SourceInfo, part: RowsPart): ReadRequest {
  const { fields } = info.schema;
  const names = info.isForeign ? fields.map(({ name }) => name) : fileNames(info.schema);
  const chosen = (part.columns ?? names.map((_, i) => i)).flatMap((i) => {
    const field = fields[i];
    return field === undefined ? [] : [columnPlan(field, sqlName(names[i] ?? ''), info, info.foreignColumns?.[i])];
  });
  // A query needs a column, even to count rows.
  const list = chosen.length === 0 ? 'true' : chosen.map(({ sql }) => sql).join(', ');
  const { clauses, checks } = rowsOf(source, info, part);
  return {
    op: 'read',
    setup: attachment(source),
    sql: clauses.map((clause) => `SELECT ${list} FROM ${clause}`).join(' UNION ALL '),
    plans: chosen.map(({ get }) => get),
    ...(part.to - part.from >= LONG_READ_ROWS && { isLong: true }),
    ...(checks.length > 0 && { rowChecks: checks }),
  };
}

function columnPlan(
  field: Field,
  name: string,
  info: SourceInfo,
  known: ForeignColumn | undefined,
): { readonly sql: string; readonly get: GetPlan } {
  if (info.isForeign === undefined) return { sql: name, get: storedColumn(field).get };
  const { sqlType, get } = known ?? foreignColumn(field);
  return { sql: `CAST(${known ? sqlName(known.name) : name} AS ${sqlType})`, get };
}

/** FROM clauses whose rows follow each other, and the checks of the files. */
interface RowsPlan {
  readonly clauses: readonly string[];
  readonly checks: readonly RowsCheck[];
}

function rowsOf(source: FrameSource, info: SourceInfo, part: RowsPart): RowsPlan {
  const { from, to } = part;
  if (source.kind === 'parts') return partsPlan(source.parts, part);
  const settled = settledSource(source, info);
  const checks = checksOf(source).map((check) => ({ ...check, part }));
  if (to - from === info.rows) return { clauses: [fromClause(settled)], checks };
  const isNumbered = info.schema.fields.every(({ name }) => name.toLowerCase() !== 'file_row_number');
  if (source.kind !== 'parquet' || (info.isForeign && !isNumbered)) {
    return { clauses: [`${fromClause(settled)} LIMIT ${to - from} OFFSET ${from}`], checks };
  }
  return { clauses: [numberedRows(source.path, from, to)], checks };
}

/** SQL for some rows of a file. With a filter on row numbers DuckDB skips row groups; with OFFSET it does not. */
function numberedRows(path: string, from: number, to: number): string {
  const numbered = parquetClause([path], ', file_row_number = true');
  return `${numbered} WHERE file_row_number >= ${from} AND file_row_number < ${to}`;
}

/** Reads only the parts with the rows. Adjacent whole parts share a clause. */
function partsPlan(parts: readonly FramePart[], { from, to, columns }: RowsPart): RowsPlan {
  const clauses: string[] = [];
  const checks: RowsCheck[] = [];
  let whole: string[] = [];
  const endWhole = (): void => {
    if (whole.length > 0) clauses.push(parquetClause(whole));
    whole = [];
  };
  let start = 0;
  for (const {
    path,
    size: { rows },
  } of parts) {
    const part = { from: Math.max(0, from - start), to: Math.min(rows, to - start), ...(columns && { columns }) };
    start += rows;
    if (part.from >= part.to) continue;
    checks.push({ path, isOwn: true, part });
    if (part.to - part.from === rows) {
      whole.push(path);
    } else {
      endWhole();
      clauses.push(numberedRows(path, part.from, part.to));
    }
  }
  endWhole();
  return { clauses, checks };
}

/** SQL for the rows of a source, converted to the stored types. */
export function storedRowsSql(source: FrameSource, info: SourceInfo, columnNames?: readonly string[]): string {
  const target = fileNames(info.schema);
  const names = columnNames ?? (info.isForeign ? info.schema.fields.map(({ name }) => name) : target);
  const list = info.schema.fields.map((field, i) => {
    const name = sqlName(names[i] ?? '');
    const stored = info.isForeign ? storeExpression(name, field, info.foreignColumns?.[i]?.sqlType) : name;
    return namedSql(stored, target[i] ?? '');
  });
  return `SELECT ${list.length === 0 ? '*' : list.join(', ')} FROM ${wholeClause(source, info)}`;
}

function wholeClause(source: FrameSource, info: SourceInfo): string {
  if (source.kind === 'parts') return parquetClause(source.parts.map(({ path }) => path));
  return fromClause(settledSource(source, info));
}

/** The metadata to fill in when a file is complete. */
export const FILE_NOTES: FileNotes = { rowsKey: METADATA_KEYS.rows, bytesKey: METADATA_KEYS.arrowBytes };

/** The COPY options for a file with this schema, except for the size of its row groups. */
export function copyOptions(schema: Schema, { compression, level }: WriteOptions): string {
  const metadata = {
    [METADATA_KEYS.schema]: schemaText(schema),
    [METADATA_KEYS.rows]: NOTE_PLACEHOLDER,
    [METADATA_KEYS.arrowBytes]: NOTE_PLACEHOLDER,
    // The last key: near the end of the file.
    [CHECKS_KEY]: 'crc32',
  };
  const pairs = Object.entries(metadata).map(([key, value]) => `${sqlText(key)}: ${sqlText(value)}`);
  return [
    'FORMAT parquet',
    `COMPRESSION ${compression === 'none' ? 'uncompressed' : compression}`,
    ...(compression === 'zstd' && level !== undefined ? [`COMPRESSION_LEVEL ${level}`] : []),
    'USE_TMP_FILE false',
    `KV_METADATA {${pairs.join(', ')}}`,
  ].join(', ');
}
