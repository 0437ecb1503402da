import { basename } from 'node:path';
import { type ServiceError, toServiceError } from '@svc/errors';
import type { ChildFailure } from '../wire/file-requests.ts';
import { isOfTheFile } from '../files/file-errors.ts';
import { unreadableParquet } from '../files/parquet/parquet-faults.ts';
import { ChildError } from '../engine/child-errors.ts';
import type { PinnedSource } from '../store/sql-frames.ts';
import { unreadableFrame } from '../store/store-errors.ts';

/**
 * Returns the failure of a statement if the file of a frame is to blame and not the SQL. DuckDB's error only raises a
 * suspicion: the files are then verified against their checksums.
 */
export async function frameFailure(
  error: unknown,
  pins: readonly PinnedSource[],
  signal: AbortSignal,
): Promise<ServiceError | undefined> {
  if (!(error instanceof ChildError)) return undefined;
  const { failure } = error;
  if (failure.code !== 'sql_fault' && failure.code !== 'unreadable_frame') return undefined;
  const suspects = suspectsOf(failure, pins);
  try {
    for (const frame of suspects) {
      const isForeign = frame.info.isForeign === true;
      const { isChecked } = isForeign ? { isChecked: false } : await frame.verify(signal);
      if (isChecked || !isOfTheFile(failure)) continue;
      return unreadableFrame(frame.handle, isForeign, unreadableParquet(failure.message, error));
    }
  } catch (damage) {
    if (signal.aborted) return undefined;
    return toServiceError(damage);
  }
  const first = suspects.find(({ info }) => info.isForeign !== true);
  return first && failure.kind !== UNNAMED ? unreadableFrame(first.handle, false, error) : undefined;
}

/** The kind of failures without details: a truncated page, an invalid footer. */
const UNNAMED = 'Invalid';
/** Messages about pages, which name no file. */
const BROKEN_PAGE = /file might be corrupted|Parquet file|bitpacked data/i;
/** The kinds of failures that name their file. */
const NAMING: ReadonlySet<string> = new Set(['Invalid Input', 'IO', 'INTERNAL', 'FATAL', 'Serialization']);

/** Returns the frames whose files may have caused a failure. */
function suspectsOf(
  failure: Extract<ChildFailure, { code: 'sql_fault' | 'unreadable_frame' }>,
  pins: readonly PinnedSource[],
): readonly PinnedSource[] {
  if (failure.code === 'unreadable_frame') return pins.filter(({ handle }) => handle === failure.frame);
  if (failure.kind === UNNAMED || BROKEN_PAGE.test(failure.message)) return pins;
  if (!NAMING.has(failure.kind)) return [];
  return pins.filter(({ paths }) => paths.some((path) => failure.message.includes(`${basename(path)}"`)));
}
