import { createHash } from 'node:crypto';
import { ServiceError } from '@svc/errors';
import { type Field, Schema } from 'apache-arrow';
import type { GetPlan } from '../wire/column-plans.ts';
import { CHECKS_KEY } from '../wire/file-checks.ts';
import { type ChildRequest, type FileCheck, type FileNotes, NOTE_PLACEHOLDER } from '../wire/file-requests.ts';
import { csvArguments } from './csv-arguments.ts';
import type { ForeignColumn, FrameSource, ReadPart, SourceInfo, WriteOptions } from './frame-files.ts';
import { METADATA_KEYS, schemaText } from '../types/schema-text.ts';
import { foreignColumn, storeExpression } from '../types/duckdb-types.ts';
import { fileNames, sqlName, sqlText } from '../wire/sql-names.ts';
import { storedColumn } from '../types/stored-types.ts';

/** A source of which everything is known that SQL has to say. */
export type SettledSource = FrameSource &
  ({ readonly kind: 'parquet' | 'table' } | { readonly delimiter: string; readonly texts?: readonly string[] });

/** A source as it was found to be. */
function settledSource(source: FrameSource, { delimiter = ',' }: SourceInfo): SettledSource {
  return source.kind === 'csv' ? { delimiter, ...source } : source;
}

/** The place in SQL from which the rows of a source come. */
export function fromClause(source: SettledSource, parquetOptions = ''): string {
  switch (source.kind) {
    case 'parquet':
      return `read_parquet(${globFree(source.path)}, hive_partitioning = false${parquetOptions})`;
    case 'csv':
      return `read_csv(${globFree(source.path)}${csvArguments(source)})`;
    case 'table':
      return `${databaseName(source.path)}.main.${sqlName(source.table)}`;
    default:
      return source satisfies never;
  }
}

/** A path in SQL, in which stars and brackets are just themselves. */
export function globFree(path: string): string {
  if (path.includes('\0')) throw new ServiceError('invalid_argument', 'A path cannot have a NUL character.');
  return sqlText(path.replaceAll(/[*?[]/g, '[$&]'));
}

/** The statements after which a source can be read. */
export function attachment(source: FrameSource): string[] {
  if (source.kind !== 'table') return [];
  return [`ATTACH IF NOT EXISTS ${sqlText(source.path)} AS ${databaseName(source.path)} (READ_ONLY)`];
}

/** What is compared with checksums before a source is read: by default all of its file. */
export function checksOf(source: FrameSource, part: FileCheck['part'] = 'all'): FileCheck[] {
  if (source.kind !== 'parquet') return [];
  return [{ path: source.path, ...(source.isOwn && { isOwn: true }), part }];
}

/** The name under which a database file is attached. */
export function databaseName(path: string): string {
  return `file_${createHash('sha256').update(path).digest('hex').slice(0, 16)}`;
}

/** What to ask for to read a part of a source. */
export interface ReadPlan {
  readonly schema: Schema;
  /** How many rows that is. */
  readonly rows: number;
  readonly request: Extract<ChildRequest, { op: 'read' }>;
}

/** How a part of a source is read. */
export function readPlan(
  source: FrameSource,
  info: SourceInfo,
  { offset = 0, limit = Infinity, columns }: ReadPart,
): ReadPlan {
  const { foreignColumns } = info;
  const names = info.isForeign ? info.schema.fields.map(({ name }) => name) : fileNames(info.schema);
  const chosen = (columns ?? names.map((_, i) => i)).flatMap((i) => {
    const field = info.schema.fields[i];
    return field === undefined
      ? []
      : [{ field, ...columnPlan(field, sqlName(names[i] ?? ''), info, foreignColumns?.[i]) }];
  });
  const rows = Math.max(0, Math.min(limit, info.rows - offset));
  const part = { from: offset, to: offset + rows, ...(columns && { columns }) };
  const [rowCheck] = checksOf(source).map((check) => ({ ...check, part }));
  // A query needs a column, also where only rows are counted.
  const list = chosen.length === 0 ? 'true' : chosen.map(({ sql }) => sql).join(', ');
  return {
    schema: new Schema(
      chosen.map(({ field }) => field),
      info.schema.metadata,
    ),
    rows,
    request: {
      op: 'read',
      setup: attachment(source),
      sql: `SELECT ${list} FROM ${rowsClause(settledSource(source, info), info, offset, rows)}`,
      plans: chosen.map(({ get }) => get),
      ...(rowCheck && { rowCheck }),
    },
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

/** Only some rows of a source. The numbers of the rows let DuckDB pass over row groups, which OFFSET does not. */
function rowsClause(source: SettledSource, info: SourceInfo, offset: number, rows: number): string {
  if (rows === info.rows) return fromClause(source);
  const isNumbered = info.schema.fields.every(({ name }) => name.toLowerCase() !== 'file_row_number');
  if (source.kind !== 'parquet' || (info.isForeign && !isNumbered)) {
    return `${fromClause(source)} LIMIT ${rows} OFFSET ${offset}`;
  }
  const numbered = fromClause(source, ', file_row_number = true');
  return `${numbered} WHERE file_row_number >= ${offset} AND file_row_number < ${offset + rows}`;
}

/** The rows of a source as they are stored in a file with its schema. */
export function storedRowsSql(source: FrameSource, info: SourceInfo, columnNames?: readonly string[]): string {
  const target = fileNames(info.schema);
  const names = columnNames ?? (info.isForeign ? info.schema.fields.map(({ name }) => name) : target);
  const list = info.schema.fields.map((field, i) => {
    const name = sqlName(names[i] ?? '');
    const stored = info.isForeign ? storeExpression(name, field, info.foreignColumns?.[i]?.sqlType) : name;
    return `${stored} AS ${sqlName(target[i] ?? '')}`;
  });
  return `SELECT ${list.length === 0 ? '*' : list.join(', ')} FROM ${fromClause(settledSource(source, info))}`;
}

/** Row groups of this many rows: reading a few rows anywhere is quick, and files stay small. */
const ROW_GROUP_ROWS = 20_480;
/** DuckDB holds a row group in memory until it is written: rows that are long make smaller ones. */
const MAX_ROW_GROUP_BYTES = 32 * 1024 * 1024;

/** Which numbers are written into a file at its end. */
export const FILE_NOTES: FileNotes = { rowsKey: METADATA_KEYS.rows, bytesKey: METADATA_KEYS.arrowBytes };

/** The options of COPY for a file with this schema; `bytesPerRow` is a guess, where there is one. */
export function copyOptions(schema: Schema, { compression, level }: WriteOptions, bytesPerRow = 0): string {
  const groupRows = Math.max(1, Math.min(ROW_GROUP_ROWS, Math.floor(MAX_ROW_GROUP_BYTES / Math.max(1, bytesPerRow))));
  const metadata = {
    [METADATA_KEYS.schema]: schemaText(schema),
    [METADATA_KEYS.rows]: NOTE_PLACEHOLDER,
    [METADATA_KEYS.arrowBytes]: NOTE_PLACEHOLDER,
    // The last one, so that it is near the end of the file.
    [CHECKS_KEY]: 'crc32',
  };
  const pairs = Object.entries(metadata).map(([key, value]) => `${sqlText(key)}: ${sqlText(value)}`);
  return [
    'FORMAT parquet',
    `COMPRESSION ${compression === 'none' ? 'uncompressed' : compression}`,
    ...(compression === 'zstd' && level !== undefined ? [`COMPRESSION_LEVEL ${level}`] : []),
    `ROW_GROUP_SIZE ${groupRows}`,
    'USE_TMP_FILE false',
    `KV_METADATA {${pairs.join(', ')}}`,
  ].join(', ');
}
