import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import type { RequestOrigin } from '@svc/frames';
import { createSemaphore, tenantShare } from '@svc/frames/internal';
import type { PreparedUpload } from './describe-source.ts';
import type { WrittenFile } from './frame-files.ts';
import type { FileEngine } from '../engine/file-engine.ts';
import { fromChild } from './file-errors.ts';
import { watchSize } from './watch-size.ts';

/** Limits on the conversion of uploaded files. */
export interface ConversionOptions {
  /** The longest time that one conversion may take, not counting the time in the queue. Default 600 000. */
  readonly conversionTimeoutMs?: number;
  /** A file with more values, counted over all columns, is long. Default ten million. */
  readonly longValues?: number;
  /** A Parquet file with more values is refused: a few bytes can encode any number of values. Default 10^10. */
  readonly maxValues?: number;
  /** A file with more columns, including nested ones, is long even if it has few values. Default 2000. */
  readonly longColumns?: number;
  /**
   * The largest file that a conversion may write, in bytes, and the most bytes that the rows of an upload take when each has
   * its own copy of the values that they share. Default 20 GiB.
   */
  readonly maxConversionBytes?: number;
}

/** The default of `maxConversionBytes`. */
export const MAX_CONVERSION_BYTES: number = 20 * 1024 ** 3;

/** The files that a conversion writes, the signal that cancels it, and the request that it is for. */
export interface ConversionTarget {
  readonly paths: readonly string[];
  readonly signal: AbortSignal | undefined;
  readonly origin: RequestOrigin | undefined;
}

/** Runs long conversions one at a time, with a few short ones in parallel. */
export interface ConversionLanes {
  /** Also aborts the signal of `convert` if the conversion takes too long or writes too much. */
  run(
    upload: PreparedUpload,
    target: ConversionTarget,
    convert: (signal: AbortSignal) => Promise<WrittenFile>,
  ): Promise<WrittenFile>;
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

/** Creates idle lanes. A file with too many values is `payload_too_large`. */
export function createConversionLanes(engine: FileEngine, options: ConversionOptions): ConversionLanes {
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
    const values = await engine.call({ op: 'values', path: source.path }, signal).catch((error: unknown) => {
      throw fromChild(error, 'Parquet file');
    });
    if (values > maxValues) {
      throw new ServiceError(
        'payload_too_large',
        `The Parquet file has ${values} values; at most ${maxValues} are allowed.`,
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
      // The last bytes may have been written after the last check.
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
      const { signal, origin } = target;
      const permits = 1 + Math.floor(upload.columns / COLUMNS_PER_PERMIT);
      const run = (): Promise<WrittenFile> =>
        converting.use(() => withinLimits(target, convert), signal, origin, permits);
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
    },
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
