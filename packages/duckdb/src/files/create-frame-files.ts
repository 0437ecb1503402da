import { ServiceError } from '@svc/errors';
import type { FrameStream } from '@svc/frames';
import { createYield, readHead } from '@svc/frames/internal';
import type { RecordBatch, Schema } from 'apache-arrow';
import { explainFile, withUniformLines } from './csv-line-ends.ts';
import { explainDialect } from './csv-sniffer.ts';
import { mayHaveNegativeZero } from './csv-table.ts';
import type { ChildResponses, PutColumn, WrittenNumbers } from '../wire/file-requests.ts';
import {
  type ConversionLanes,
  type ConversionOptions,
  createConversionLanes,
  MAX_CONVERSION_BYTES,
} from './conversion-lanes.ts';
import {
  countRows,
  describeAgain,
  type DescribedUpload,
  describeSources,
  describeUpload,
  type DescribeUploadOptions,
  type PreparedUpload,
  prepareUpload,
  tablesOf,
} from './describe-source.ts';
import { unlinkIfThere } from '../disk/durable-files.ts';
import type {
  ConvertOptions,
  FileSource,
  FrameFiles,
  FrameSource,
  SourceInfo,
  WriteOptions,
  WrittenFile,
} from './frame-files.ts';
import { measureOf } from './measure-rows.ts';
import { estimateSize, growingRowGroups, rowGroupOption, type RowsSize } from './row-groups.ts';
import { losesNegativeZero, WITHOUT_DICTIONARIES } from './negative-zeros.ts';
import { type BatchPayload, createBatchEncoder } from '../types/batch-codec.ts';
import { createSharedValueLimit } from '../types/shared-values.ts';
import { withExactSource } from './parquet/exact-source.ts';
import { createFileEngine, type FileEngine, type FileEngineOptions } from '../engine/file-engine.ts';
import { columnOfInexactValue, fromChild, hasUnknownDialect, type Subject } from './file-errors.ts';
import { decodeSource, readSource, subjectOf } from './read-source.ts';
import { filesOfParquet, tailsOf } from './side-files.ts';
import { attachment, checksOf, copyOptions, FILE_NOTES, storedRowsSql } from './source-sql.ts';
import { foreignColumn, hasInt96, isStoredBySql } from '../types/duckdb-types.ts';
import { fileNames, NO_COLUMNS_NAME } from '../wire/sql-names.ts';
import { type StoredColumn, storedSchema } from '../types/stored-types.ts';

/** `FrameFiles` whose child can be started ahead of time. */
export interface DuckdbFrameFiles extends FrameFiles {
  /** Starts the child, so that the first operation does not wait for it. */
  warm(): Promise<void>;
  /** The process id of the child, if one is running. */
  readonly childPid: number | undefined;
}

/** Reads and writes frames in files through an engine child, which starts on first use if it is not running yet. */
export function createFrameFiles(options: FileEngineOptions & ConversionOptions): DuckdbFrameFiles {
  const engine = createFileEngine(options);
  const lanes = createConversionLanes(engine, options);
  const { maxConversionBytes = MAX_CONVERSION_BYTES } = options;
  return {
    write(path, { schema, batches }, write) {
      const source = { schema, batches: withinLimit(batches, maxConversionBytes) };
      return removeOnFailure(path, writeFrame(engine, path, source, write));
    },
    async convert(from, path, write) {
      const convertTo = (source: FileSource): Promise<WrittenFile> =>
        removeOnFailure(path, convertSource({ engine, lanes }, source, path, write));
      return withExactSource(from, path, (source) => withUniformLines(source, path, convertTo, write.signal));
    },
    merge(from, info, path, write) {
      const arrowBytes = from.parts.reduce((sum, { size }) => sum + (size?.arrowBytes ?? NaN), 0);
      const size = { rows: info.rows, bytesPerRow: arrowBytes > 0 ? arrowBytes / info.rows : 0 };
      const rows = { sql: storedRowsSql(from, info), sources: [from], schema: info.schema, arrowBytes, size };
      return removeOnFailure(path, copyRows(engine, rows, path, write));
    },
    async describe(sources) {
      const found = await describeSources(engine, sources);
      return Promise.all(found.map((info, i) => explainedInfo(info, sources[i] ?? NO_SOURCE)));
    },
    async verify(source, { again = false, signal } = {}) {
      const checked = checksOf(source);
      if (checked.length === 0) return { isChecked: false };
      const request = { op: 'verify', files: checked, ...(again && { again }) } as const;
      return guarded(subjectOf(source), () => engine.call(request, signal));
    },
    read: (source, info, part = {}) => readSource(engine, source, info, part),
    decode: (source, info, decode) => decodeSource(engine, source, info, decode),
    tables: (path) => guarded('table', () => tablesOf(engine, path)),
    get childPid() {
      return engine.childPid;
    },
    warm: () => engine.warm(),
    isResponding: () => engine.isResponding(),
    close: () => engine.close(),
  };
}

/** Removes the files of a failed write: a child removes them itself unless it was killed. */
async function removeOnFailure(path: string, writing: Promise<WrittenFile>): Promise<WrittenFile> {
  try {
    return await writing;
  } catch (error) {
    for (const file of filesOfParquet(path)) await unlinkIfThere(file).catch(() => {});
    throw error;
  }
}

async function writeFrame(
  engine: FileEngine,
  path: string,
  source: FrameStream,
  write: WriteOptions,
): Promise<WrittenFile> {
  write.signal?.throwIfAborted();
  // With thousands of columns, each of these steps takes milliseconds.
  const pause = createYield();
  const { schema, columns } = storedSchema(source.schema);
  await pause();
  const { head, all } = await readHead(payloadsOf(source), () => true);
  await pause();
  const options = copyOptions(schema, write);
  await pause();
  const put = putColumns(schema, columns);
  await pause();
  // Estimate the row length from the first batch.
  const bytesPerRow = head[0] === undefined ? 0 : Math.max(head[0].length, head[0].writtenBytes) / head[0].rows;
  const segments = {
    tailPaths: tailsOf(path),
    options,
    growing: growingRowGroups(bytesPerRow),
    exact: WITHOUT_DICTIONARIES,
  };
  const request = { op: 'write', path, segments, notes: FILE_NOTES, columns: put } as const;
  const numbers = await guarded('new file', () => engine.write(request, all, write));
  return written(schema, numbers);
}

/** Converts a source into a file of ours. An upload is described and written within the limits of its lane. */
async function convertSource(
  { engine, lanes }: { readonly engine: FileEngine; readonly lanes: ConversionLanes },
  from: FileSource,
  path: string,
  { isUpload = false, ...write }: ConvertOptions,
): Promise<WrittenFile> {
  const upload = await guarded(subjectOf(from), () => prepareUpload(from));
  if (!isUpload) return convertUpload(engine, upload, path, write);
  const { signal, origin } = write;
  return lanes.run(upload, { paths: filesOfParquet(path), signal, origin }, (limited) =>
    convertUpload(engine, upload, path, { ...write, signal: limited }),
  );
}

async function convertUpload(
  engine: FileEngine,
  upload: PreparedUpload,
  path: string,
  write: WriteOptions,
): Promise<WrittenFile> {
  const { signal } = write;
  const size = await estimateSize(upload);
  const first = { ...(await describeGuarded(engine, upload, { signal })), size };
  if (first.source.kind === 'csv') return writeCsv(engine, first, path, write);
  const { foreignColumns } = first.info;
  if (!foreignColumns?.some(({ get }) => hasInt96(get))) return writeUpload(engine, first, path, write);
  // Only the values show whether they need microseconds, or nanoseconds over a shorter range of years.
  return writeUpload(engine, first, path, write).catch(async (error: unknown) => {
    const isUnfit = error instanceof ServiceError && error.code === 'invalid_data';
    // Nanoseconds have a shorter range.
    if (!isUnfit || error.message.includes('range of a timestamp in microseconds')) throw error;
    const int96Unit = foreignColumns.some(({ get }) => hasInt96(get, 'nanos')) ? 'micros' : 'nanos';
    const second = await describeGuarded(engine, upload, { signal, int96Unit });
    return writeUpload(engine, { ...second, size }, path, write);
  });
}

type SizedUpload = DescribedUpload & { readonly size: RowsSize };

/**
 * Writes a CSV file in the types of its first rows. If a later value does not fit one, writes it again with a type for
 * that column from all rows, and if that fails, too, with all types from all rows.
 */
async function writeCsv(
  engine: FileEngine,
  first: SizedUpload,
  path: string,
  write: WriteOptions,
): Promise<WrittenFile> {
  const { signal } = write;
  const { size } = first;
  let upload = first;
  for (let failures = 0; ; failures++) {
    try {
      return await writeUpload(engine, upload, path, write);
    } catch (error) {
      const column = columnOfInexactValue(error);
      if (column === undefined || failures === 2) throw error;
      const again = { columns: failures === 0 ? [column] : 'all', signal } as const;
      const described = upload;
      upload = { ...(await guarded('CSV file', () => describeAgain(engine, described, again))), size };
    }
  }
}

function describeGuarded(
  engine: FileEngine,
  upload: PreparedUpload,
  options: DescribeUploadOptions,
): Promise<DescribedUpload> {
  const { source, head } = upload;
  return guarded(subjectOf(source), () => describeUpload(engine, upload, options)).catch(async (error: unknown) => {
    throw head === undefined ? error : await explainDialect(error, source.path, head.delimiter, options.signal);
  });
}

/** Returns the description of a source, or an error that says what is wrong with it. */
async function explainedInfo(info: SourceInfo | Error, source: FileSource): Promise<SourceInfo | Error> {
  if (!(info instanceof Error)) return info;
  const error = fromChild(info, subjectOf(source));
  return source.kind === 'csv' && hasUnknownDialect(error) ? explainFile(error, source) : error;
}

async function writeUpload(
  engine: FileEngine,
  { source, info, columnNames, size }: SizedUpload,
  path: string,
  write: WriteOptions,
): Promise<WrittenFile> {
  const pause = createYield();
  if (isCopiedBySql(info)) {
    await pause();
    const sql = storedRowsSql(source, info, columnNames);
    await pause();
    const hasNegativeZero = info.csvTable && mayHaveNegativeZero(info.csvTable);
    return copyRows(engine, { sql, sources: [source], schema: info.schema, size, hasNegativeZero }, path, write);
  }
  const rows = await guarded(subjectOf(source), () => countRows(engine, source, write.signal));
  const part = write.signal === undefined ? {} : { signal: write.signal };
  return writeFrame(engine, path, readSource(engine, source, { ...info, rows }, part), write);
}

/** Whether SQL alone can convert the rows to the types of our files. */
function isCopiedBySql({ isForeign, foreignColumns, schema }: SourceInfo): boolean {
  if (isForeign === undefined) return true;
  return (foreignColumns ?? schema.fields.map(foreignColumn)).every(({ get }) => isStoredBySql(get));
}

/** Rows that DuckDB reads and writes without a detour through the parent. */
interface RowsToCopy {
  readonly sql: string;
  readonly sources: readonly FrameSource[];
  readonly schema: Schema;
  readonly size: RowsSize;
  /** NaN if unknown. */
  readonly arrowBytes?: number;
  /** Whether a float may be -0. Default: detected after the rows were written. */
  readonly hasNegativeZero?: boolean | undefined;
}

async function copyRows(
  engine: FileEngine,
  { sql, sources, schema, size, arrowBytes = NaN, hasNegativeZero }: RowsToCopy,
  path: string,
  write: WriteOptions,
): Promise<WrittenFile> {
  const pause = createYield();
  const setup = sources.flatMap((source) => attachment(source));
  const copied = copyOptions(schema, write);
  await pause();
  const measure = Number.isNaN(arrowBytes)
    ? measureOf(path, schema)
    : { bytes: arrowBytes, bytesPerRow: 0, statements: [] };
  await pause();
  const request = {
    op: 'copy',
    checks: sources.flatMap((source) => checksOf(source)),
    setup,
    sql,
    path,
    options: [copied, rowGroupOption(size), ...(hasNegativeZero === true ? [WITHOUT_DICTIONARIES] : [])].join(', '),
    measure,
    notes: FILE_NOTES,
  } as const;
  const subject = subjectOf(sources[0] ?? NO_SOURCE);
  return guarded(subject, async () => {
    const numbers = await engine.call(request, write.signal, write.origin);
    const query = (statement: string): Promise<ChildResponses['texts']> =>
      engine.call({ op: 'texts', setup, sql: statement }, write.signal);
    const isExact = hasNegativeZero !== undefined || !(await losesNegativeZero(query, { sql, path, schema }));
    if (isExact) return written(schema, numbers);
    const options = `${request.options}, ${WITHOUT_DICTIONARIES}`;
    return written(schema, await engine.call({ ...request, options }, write.signal, write.origin));
  });
}

const NO_SOURCE: FileSource = { kind: 'parquet', path: '' };

function putColumns(schema: Schema, columns: readonly StoredColumn[]): readonly PutColumn[] {
  if (columns.length === 0) return [{ name: NO_COLUMNS_NAME, title: '', plan: { kind: 'empty_struct' } }];
  const names = fileNames(schema);
  return columns.map(({ field, put }, i) => ({ name: names[i] ?? '', title: field.name, plan: put }));
}

async function guarded<T>(subject: Subject, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw fromChild(error, subject);
  }
}

function written(schema: Schema, { rows, arrowBytes, fileBytes }: WrittenNumbers): WrittenFile {
  return { schema, rows, arrowBytes, fileBytes };
}

async function* payloadsOf(source: FrameStream): AsyncGenerator<BatchPayload, void, undefined> {
  const encoder = createBatchEncoder();
  const pause = createYield();
  for await (const batch of source.batches) {
    await pause();
    yield* encoder.encode(batch);
  }
}

/** Refuses batches whose shared values take too many bytes, before any row of them is written. */
async function* withinLimit(batches: FrameStream['batches'], maxBytes: number): AsyncGenerator<RecordBatch> {
  const limit = createSharedValueLimit(maxBytes);
  for await (const batch of batches) {
    await limit.admit(batch);
    yield batch;
  }
}
