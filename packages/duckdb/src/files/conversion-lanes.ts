import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import type { PreparedUpload } from './describe-source.ts';
import type { WrittenFile } from './frame-files.ts';
import type { FileEngine } from '../engine/file-engine.ts';
import { fromChild } from './file-errors.ts';
import { createSemaphore } from '../engine/semaphore.ts';
import { watchSize } from './watch-size.ts';

/** How much work files that came from outside may make. */
export interface ConversionOptions {
  /** How long it may take to make a frame of one file, once that has begun. Default 600 000. */
  readonly conversionTimeoutMs?: number;
  /** A file of more values, all columns counted, is a long one. Default ten million. */
  readonly longValues?: number;
  /** A Parquet file of more values is refused: few bytes can stand for any number of them. Default 10^10. */
  readonly maxValues?: number;
  /** A file of more columns, nested ones included, is a long one, however few values it has. Default 2000. */
  readonly longColumns?: number;
  /** How many bytes the file that is written of one may have. Default 20 GiB. */
  readonly maxConversionBytes?: number;
}

/** What a conversion writes, and who may give it up. */
export interface ConversionTarget {
  /** Files that it writes. */
  readonly paths: readonly string[];
  readonly signal: AbortSignal | undefined;
}

/** Lets long conversions pass one at a time, and some short ones beside them. */
export interface ConversionLanes {
  /** The signal that `convert` gets is also aborted if the conversion takes too long or writes too much. */
  run(
    upload: PreparedUpload,
    target: ConversionTarget,
    convert: (signal: AbortSignal) => Promise<WrittenFile>,
  ): Promise<WrittenFile>;
}

/** A value of a CSV file takes about so many bytes. */
const CSV_BYTES_PER_VALUE = 4;
/** Short conversions that run at once: DuckDB reads each CSV file through buffers of many megabytes, however short. */
const MAX_SHORT = 8;
/** So many long conversions may wait, each with its file on the disk. */
const MAX_WAITING = 64;

/** Lanes that are free. A file with more values than may be is `payload_too_large`. */
export function createConversionLanes(engine: FileEngine, options: ConversionOptions): ConversionLanes {
  const { conversionTimeoutMs = 600_000, maxConversionBytes = 20 * 1024 ** 3 } = options;
  const { longValues = 1e7, longColumns = 2000, maxValues = 1e10 } = options;
  const long = createSemaphore(1);
  const short = createSemaphore(MAX_SHORT);
  let waiting = 0;

  async function isLong({ source, columns }: PreparedUpload, signal: AbortSignal | undefined): Promise<boolean> {
    // Tables are not uploaded.
    if (source.kind === 'table') return false;
    const isWide = columns > longColumns;
    if (source.kind === 'csv') return isWide || (await stat(source.path)).size / CSV_BYTES_PER_VALUE > longValues;
    const values = await engine.call({ op: 'values', path: source.path }, signal).catch((error: unknown) => {
      throw fromChild(error, 'Parquet file');
    });
    if (values > maxValues) {
      throw new ServiceError(
        'payload_too_large',
        `The Parquet file has ${values} values, where ${maxValues} are allowed.`,
        { hint: 'Send the rows in several files: POST /frames/{handle} appends.' },
      );
    }
    return isWide || values > longValues;
  }

  async function withinLimits(
    { paths, signal }: ConversionTarget,
    convert: (signal: AbortSignal) => Promise<WrittenFile>,
  ): Promise<WrittenFile> {
    const exceeded = new AbortController();
    const timer = setTimeout(() => exceeded.abort(tooLate(conversionTimeoutMs)), conversionTimeoutMs);
    const stopWatching = watchSize(paths, maxConversionBytes, () => exceeded.abort(tooLarge(maxConversionBytes)));
    try {
      const written = await convert(AbortSignal.any([exceeded.signal, ...(signal ? [signal] : [])]));
      // The last bytes may have come after the last look.
      if (written.fileBytes > maxConversionBytes) throw tooLarge(maxConversionBytes);
      return written;
    } catch (error) {
      signal?.throwIfAborted();
      throw exceeded.signal.aborted ? exceeded.signal.reason : error;
    } finally {
      clearTimeout(timer);
      stopWatching();
    }
  }

  return {
    async run(upload, target, convert) {
      const { signal } = target;
      if (!(await isLong(upload, signal))) return short.use(() => withinLimits(target, convert), signal);
      if (waiting >= MAX_WAITING) {
        throw new ServiceError('too_many_requests', `${waiting} other long files are to become frames already.`);
      }
      waiting += 1;
      try {
        return await long.use(() => withinLimits(target, convert), signal);
      } finally {
        waiting -= 1;
      }
    },
  };
}

function tooLate(timeoutMs: number): ServiceError {
  return new ServiceError('deadline_exceeded', `The file did not become a frame within ${timeoutMs} ms.`, {
    hint: 'Send fewer rows at once, or raise storage.conversion_timeout_ms.',
  });
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `The frame takes more than ${maxBytes} bytes on the disk.`, {
    hint: 'Send the rows in several files: POST /frames/{handle} appends. Or raise storage.max_conversion_bytes.',
  });
}
