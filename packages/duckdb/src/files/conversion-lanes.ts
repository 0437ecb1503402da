import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import type { FrameSource } from './frame-files.ts';
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
}

/** Lets long conversions pass one at a time, and short ones beside them. */
export interface ConversionLanes {
  /** The signal that `convert` gets is aborted when the conversion takes too long, too. */
  run<T>(
    source: FrameSource,
    signal: AbortSignal | undefined,
    convert: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
}

/** A value of a CSV file takes about so many bytes. */
const CSV_BYTES_PER_VALUE = 4;
/** So many long conversions may wait, each with its file on the disk. */
const MAX_WAITING = 64;

/** Lanes that are free. A file with more values than may be is `payload_too_large`. */
export function createConversionLanes(engine: FileEngine, options: ConversionOptions): ConversionLanes {
  const { conversionTimeoutMs = 600_000, longValues = 1e7, maxValues = 1e10 } = options;
  const long = createSlots(1);
  let waiting = 0;

  async function isLong(source: FrameSource, signal: AbortSignal | undefined): Promise<boolean> {
    // Tables are not uploaded.
    if (source.kind === 'table') return false;
    if (source.kind === 'csv') return (await stat(source.path)).size / CSV_BYTES_PER_VALUE > longValues;
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
    return values > longValues;
  }

  async function inTime<T>(signal: AbortSignal | undefined, convert: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), conversionTimeoutMs);
    try {
      return await convert(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]));
    } catch (error) {
      signal?.throwIfAborted();
      if (!late.signal.aborted) throw error;
      throw new ServiceError('deadline_exceeded', `The file did not become a frame within ${conversionTimeoutMs} ms.`, {
        hint: 'Send fewer rows at once, or raise storage.conversion_timeout_ms.',
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async run(source, signal, convert) {
      if (!(await isLong(source, signal))) return inTime(signal, convert);
      if (waiting >= MAX_WAITING) {
        throw new ServiceError('too_many_requests', `${waiting} other long files are to become frames already.`);
      }
      waiting += 1;
      try {
        return await long.use(() => inTime(signal, convert), signal);
      } finally {
        waiting -= 1;
      }
    },
  };
}
