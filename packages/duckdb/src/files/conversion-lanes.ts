import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import type { PreparedUpload } from './describe-source.ts';
import type { WrittenFile } from './frame-files.ts';
import type { FileEngine } from '../engine/file-engine.ts';
import { fromChild } from './file-errors.ts';
import { createSlots } from '../engine/semaphore.ts';

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
}

/** Lets long conversions pass one at a time, and some short ones beside them. */
export interface ConversionLanes {
  /** The signal that `convert` gets is also aborted if the conversion takes too long. */
  run(
    upload: PreparedUpload,
    signal: AbortSignal | undefined,
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
  const { conversionTimeoutMs = 600_000, longValues = 1e7, longColumns = 2000, maxValues = 1e10 } = options;
  const long = createSlots(1);
  const short = createSlots(MAX_SHORT);
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
    signal: AbortSignal | undefined,
    convert: (signal: AbortSignal) => Promise<WrittenFile>,
  ): Promise<WrittenFile> {
    const exceeded = new AbortController();
    const timer = setTimeout(() => exceeded.abort(tooLate(conversionTimeoutMs)), conversionTimeoutMs);
    try {
      return await convert(AbortSignal.any([exceeded.signal, ...(signal ? [signal] : [])]));
    } catch (error) {
      signal?.throwIfAborted();
      throw exceeded.signal.aborted ? exceeded.signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async run(upload, signal, convert) {
      if (!(await isLong(upload, signal))) return short.use(() => withinLimits(signal, convert), signal);
      if (waiting >= MAX_WAITING) {
        throw new ServiceError('too_many_requests', `${waiting} other long files are to become frames already.`);
      }
      waiting += 1;
      try {
        return await long.use(() => withinLimits(signal, convert), signal);
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
