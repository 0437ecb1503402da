import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import type { FrameStream } from '@svc/frames';
import { createSemaphore, createYield, tenantShare } from '@svc/frames/async';
import { readHead } from '@svc/frames/streams';
import { unlinkIfThere } from '@svc/objects/internal';
import type { RecordBatch, Schema } from 'apache-arrow';
import { columnOfInexactValue, explainDialect, explainFile, withUniformLines } from './csv/faults.ts';
import { mayHaveNegativeZero } from './csv/table.ts';
import type { ChildResponses, PutColumn, WrittenNumbers } from '../wire/requests.ts';
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
import type {
  ConvertOptions,
  FileSource,
  FrameFiles,
  FrameSource,
  SourceInfo,
  WriteOptions,
  WrittenFile,
} from './frame-files.ts';
import { losesNegativeZero, measureOf, WITHOUT_DICTIONARIES } from './copied-rows.ts';
import { estimateSize, growingRowGroups, rowGroupOption, type RowsSize } from './row-groups.ts';
import { type BatchPayload, createBatchEncoder } from '../types/batch-codec.ts';
import { createSharedValueLimit } from '../types/shared-values.ts';
import { withExactSource } from './parquet/footer.ts';
import { createFileChild, type FileChild, type FileChildOptions } from '../child-link/file-child.ts';
import { fromChild, type Subject } from './file-errors.ts';
import { decodeSource, readSource, subjectOf } from './read-source.ts';
import { filesOfParquet, tailsOf, watchSize } from './unfinished-files.ts';
import { attachment, checksOf, copyOptions, FILE_NOTES, storedRowsSql } from './source-sql.ts';
import { foreignColumn, hasInt96, isStoredBySql } from '../types/duckdb-types.ts';
import { fileNames, NO_COLUMNS_NAME } from '../wire/sql-names.ts';
import { type StoredColumn, storedSchema } from '../types/stored-types.ts';

/** `FrameFiles` whose child can be started ahead of time. */
export interface DuckdbFrameFiles extends FrameFiles {
  /** Starts the child ahead of the first operation. */
  warm(): Promise<void>;
  /** The process id of the child, if one is running. */
  readonly childPid: number | undefined;
}

/** Limits on the conversion of uploaded files. */
export interface ConversionOptions {
  /** The longest time of one conversion, without the time in the queue. Default 600 000. */
  readonly conversionTimeoutMs?: number;
  /** A file with more values, counted over all columns, is long. Default ten million. */
  readonly longValues?: number;
  /** A Parquet file with more values is refused: a few bytes can encode any number of values. Default 10^10. */
  readonly maxValues?: number;
  /** A file with more columns, including nested ones, is long even if it has few values. Default 2000. */
  readonly longColumns?: number;
  /**
   * The largest file of a conversion, in bytes, and the most bytes of the rows of an upload when each has
   * its own copy of shared values. Default 20 GiB.
   */
  readonly maxConversionBytes?: number;
}

/** The default of `maxConversionBytes`. */
const MAX_CONVERSION_BYTES = 20 * 1024 ** 3;

/** Reads and writes frames in files through an engine child. It starts on first use if it is not running yet. */
export function createFrameFiles(options: FileChildOptions & ConversionOptions): DuckdbFrameFiles {
  const engine = createFileChild(options);
  const convertUpload = createConversions(engine, options);
  const { maxConversionBytes = MAX_CONVERSION_BYTES } = options;

  /** An upload is described and written within the limits of conversions. */
  async function convertSource(
    from: FileSource,
    path: string,
    { isUpload = false, ...write }: ConvertOptions,
  ): Promise<WrittenFile> {
    const upload = await guarded(subjectOf(from), () => prepareUpload(from));
    return isUpload ? convertUpload(upload, path, write) : convertPrepared(engine, upload, path, write);
  }

  return {
    write(path, { schema, batches }, write) {
      const source = { schema, batches: withinLimit(batches, maxConversionBytes) };
      return removeOnFailure(path, writeFrame(engine, path, source, write));
    },
    async convert(from, path, write) {
      const convertTo = (source: FileSource): Promise<WrittenFile> =>
        removeOnFailure(path, convertSource(source, path, write));
      return withExactSource(from, path, (source) => withUniformLines(source, path, convertTo, write.signal));
    },
    merge(from, info, path, write) {
      const arrowBytes = from.parts.reduce((sum, { size }) => sum + (size.arrowBytes ?? NaN), 0);
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
  engine: FileChild,
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

/** The approximate size of a value in a CSV file. */
const CSV_BYTES_PER_VALUE = 4;
/**
 * Conversions in parallel. A CSV file takes about 45 MB of DuckDB's memory and 0.21 MB for each column, so one with many
 * columns counts as several.
 */
const MAX_CONVERTING = 8;
const COLUMNS_PER_PERMIT = 400;
/** Long conversions of a tenant in the queue, each with its upload on disk. */
const MAX_WAITING = 64;

type Convert = (upload: PreparedUpload, path: string, write: WriteOptions) => Promise<WrittenFile>;

/**
 * Returns a conversion with limits for uploads: long conversions run one at a time, with a few short ones in
 * parallel. One that takes too long or writes too much is aborted. A file with too many values is `payload_too_large`.
 */
function createConversions(engine: FileChild, options: ConversionOptions): Convert {
  const { conversionTimeoutMs = 600_000, maxConversionBytes = MAX_CONVERSION_BYTES } = options;
  const { longValues = 1e7, longColumns = 2000, maxValues = 1e10 } = options;
  const long = createSemaphore(1);
  const converting = createSemaphore(MAX_CONVERTING, tenantShare(MAX_CONVERTING));
  /** The number of long conversions of each tenant. */
  const waiting = new Map<string, number>();

  async function isLong({ source, columns }: PreparedUpload, signal: AbortSignal | undefined): Promise<boolean> {
    // Tables are not uploaded.
    if (source.kind === 'table') return false;
    const isWide = columns > longColumns;
    if (source.kind === 'csv') return isWide || (await stat(source.path)).size / CSV_BYTES_PER_VALUE > longValues;
    const values = await guarded('Parquet file', () => engine.call({ op: 'values', path: source.path }, signal));
    if (values > maxValues) {
      throw new ServiceError(
        'payload_too_large',
        `The Parquet file has ${values} values; at most ${maxValues} are allowed.`,
        { hint: 'Send the rows in several files: POST /frames/{handle} appends.' },
      );
    }
    return isWide || values > longValues;
  }

  const withinLimits: Convert = async (upload, path, write) => {
    const { signal } = write;
    const exceeded = new AbortController();
    const timer = setTimeout(() => exceeded.abort(tooLate(conversionTimeoutMs)), conversionTimeoutMs);
    const stopWatching = watchSize(filesOfParquet(path), maxConversionBytes, () =>
      exceeded.abort(tooLarge(maxConversionBytes)),
    );
    try {
      const limited = AbortSignal.any([exceeded.signal, ...(signal ? [signal] : [])]);
      const result = await convertPrepared(engine, upload, path, { ...write, signal: limited });
      // The last bytes may have been written after the last check.
      if (result.fileBytes > maxConversionBytes) throw tooLarge(maxConversionBytes);
      return result;
    } catch (error) {
      signal?.throwIfAborted();
      throw exceeded.signal.aborted ? exceeded.signal.reason : error;
    } finally {
      clearTimeout(timer);
      stopWatching();
    }
  };

  return async (upload, path, write) => {
    const { signal, origin } = write;
    const permits = 1 + Math.floor(upload.columns / COLUMNS_PER_PERMIT);
    const run = (): Promise<WrittenFile> =>
      converting.use(() => withinLimits(upload, path, write), signal, origin, permits);
    if (!(await isLong(upload, signal))) return run();
    const tenant = origin?.tenant ?? '';
    const others = waiting.get(tenant) ?? 0;
    if (others >= MAX_WAITING) {
      throw new ServiceError('too_many_requests', `${others} long files of the tenant are already being converted.`, {
        hint: 'Send the file again when one of them is done.',
      });
    }
    waiting.set(tenant, others + 1);
    try {
      return await long.use(run, signal, origin);
    } finally {
      const left = (waiting.get(tenant) ?? 1) - 1;
      if (left === 0) waiting.delete(tenant);
      else waiting.set(tenant, left);
    }
  };
}

function tooLate(timeoutMs: number): ServiceError {
  return new ServiceError('deadline_exceeded', `Converting the file took longer than ${timeoutMs} ms.`, {
    hint: 'Send fewer rows at once, or raise storage.conversion_timeout_ms.',
  });
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `The frame takes more than ${maxBytes} bytes on disk.`, {
    hint: 'Send the rows in several files: POST /frames/{handle} appends. Or raise storage.max_conversion_bytes.',
  });
}

async function convertPrepared(
  engine: FileChild,
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
  // Only the values show the unit they need: microseconds, or nanoseconds over a shorter range of years.
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
  engine: FileChild,
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
  engine: FileChild,
  upload: PreparedUpload,
  options: DescribeUploadOptions,
): Promise<DescribedUpload> {
  const { source, head } = upload;
  return guarded(subjectOf(source), () => describeUpload(engine, upload, options)).catch(async (error: unknown) => {
    throw head === undefined ? error : await explainDialect(error, source.path, head.delimiter, options.signal);
  });
}

/** Returns the description of a source, or an error about what is wrong with it. */
async function explainedInfo(info: SourceInfo | Error, source: FileSource): Promise<SourceInfo | Error> {
  if (!(info instanceof Error)) return info;
  const error = fromChild(info, subjectOf(source));
  return source.kind === 'csv' ? explainFile(error, source) : error;
}

async function writeUpload(
  engine: FileChild,
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

/** True if SQL alone can convert the rows to the types of our files. */
function isCopiedBySql({ isForeign, foreignColumns, schema }: SourceInfo): boolean {
  if (isForeign === undefined) return true;
  return (foreignColumns ?? schema.fields.map(foreignColumn)).every(({ get }) => isStoredBySql(get));
}

/** Rows to copy in DuckDB, without a detour through the parent. */
interface RowsToCopy {
  readonly sql: string;
  readonly sources: readonly FrameSource[];
  readonly schema: Schema;
  readonly size: RowsSize;
  /** NaN if unknown. */
  readonly arrowBytes?: number;
  /** True if a float may be -0. Default: detected after the rows were written. */
  readonly hasNegativeZero?: boolean | undefined;
}

async function copyRows(
  engine: FileChild,
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
