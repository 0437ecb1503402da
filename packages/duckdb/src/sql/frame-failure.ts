import { basename } from 'node:path';
import { ServiceError, toServiceError } from '@svc/errors';
import type { ChildFailure } from '../wire/file-requests.ts';
import { isOfTheFile } from '../files/file-errors.ts';
import { ChildError } from '../engine/child-errors.ts';
import type { PinnedFrame } from '../store/sql-frames.ts';
import { unreadableFrame } from '../store/store-errors.ts';

/**
 * Why a statement failed, where the file of a frame is to blame and not the SQL. What DuckDB says only raises a
 * suspicion: the files are compared with their checksums.
 */
export async function frameFailure(
  error: unknown,
  pins: readonly PinnedFrame[],
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
      const damage = new ServiceError('invalid_data', 'Its file is damaged.', { cause: error });
      return unreadableFrame(frame.handle, isForeign, damage);
    }
  } catch (damage) {
    if (signal.aborted) return undefined;
    return toServiceError(damage);
  }
  const first = suspects.find(({ info }) => info.isForeign !== true);
  return first && failure.kind !== UNNAMED ? unreadableFrame(first.handle, false, error) : undefined;
}

/** The kind of failures that are only said to be one: a page that ends too soon, a footer that makes no sense. */
const UNNAMED = 'Invalid';
/** The kinds of failures that name the file they are about. */
const NAMING: ReadonlySet<string> = new Set(['Invalid Input', 'IO', 'INTERNAL', 'FATAL', 'Serialization']);

/** The frames whose files a failure may be about. */
function suspectsOf(
  failure: Extract<ChildFailure, { code: 'sql_fault' | 'unreadable_frame' }>,
  pins: readonly PinnedFrame[],
): readonly PinnedFrame[] {
  if (failure.code === 'unreadable_frame') return pins.filter(({ handle }) => handle === failure.frame);
  if (failure.kind === UNNAMED) return pins;
  if (!NAMING.has(failure.kind)) return [];
  return pins.filter(({ path }) => failure.message.includes(`${basename(path)}"`));
}
