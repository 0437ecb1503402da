import { ServiceError } from '@svc/errors';
import { counted, quoted } from '@svc/errors/internal';
import type { BoundFrame, Driver } from './driver.ts';
import { schedulerFailed } from './scheduler-failed.ts';

/** Throws `scheduler_failed` unless the cluster sees every row of the frames. */
export type RowCheck = (tenant: string, frames: readonly BoundFrame[], signal: AbortSignal) => Promise<void>;

/** The number of versions that are remembered. */
const MAX_CHECKED = 10_000;

/**
 * Creates the check that a cluster sees the files of a frame. Engines read a missing file as an empty table, or only the
 * files of one of their machines, and the answer would look complete. Each version is counted once if the
 * engine notices that a file is missing later; otherwise before each statement.
 */
export function createRowCheck(driver: Driver): RowCheck {
  const checked = new Set<string>();

  async function check(tenant: string, frame: BoundFrame, signal: AbortSignal): Promise<void> {
    const key = JSON.stringify([tenant, frame.handle, frame.version]);
    if (checked.has(key)) return;
    const { seen, noticesMissingFiles } = await countRows(driver, tenant, frame, signal).catch((error: unknown) => {
      throw unreadable(frame, error);
    });
    if (seen !== BigInt(frame.rows)) throw missingRows(frame, seen);
    if (!noticesMissingFiles) return;
    if (checked.size >= MAX_CHECKED)
      for (const oldest of [...checked].slice(0, MAX_CHECKED / 2)) checked.delete(oldest);
    checked.add(key);
  }

  return async (tenant, frames, signal) => {
    const versions = new Map(frames.map((frame) => [frame.handle, frame]));
    for (const frame of versions.values()) await check(tenant, frame, signal);
  };
}

interface Count {
  readonly seen: bigint;
  readonly noticesMissingFiles: boolean;
}

async function countRows(driver: Driver, tenant: string, frame: BoundFrame, signal: AbortSignal): Promise<Count> {
  const frames = [{ ...frame, name: 'svc_frame' }];
  const statement = {
    sql: 'SELECT count(*) AS n FROM svc_frame',
    params: [],
    parameters: 0,
    frames,
    tenant,
    tag: 'svc-rows',
  };
  const result = await driver.query(statement, signal);
  const { noticesMissingFiles = false } = result;
  try {
    for await (const batch of result.batches) {
      if (batch.numRows > 0) return { seen: BigInt(String(batch.getChildAt(0)?.get(0))), noticesMissingFiles };
    }
    throw schedulerFailed(`The scheduler did not count the rows of frame ${quoted(frame.handle)}.`);
  } finally {
    await result.stop();
  }
}

/** The count is right SQL: an engine that refuses it cannot read the files. */
function unreadable({ handle }: BoundFrame, error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'invalid_sql') return error;
  return schedulerFailed(`The scheduler cannot read the frame ${quoted(handle)}: ${error.message}`, {
    hint: SAME_FILES,
    cause: error.cause,
  });
}

const SAME_FILES =
  'Check that every machine of the cluster reads the same directory, and that scheduler.frames_url names it.';

function missingRows({ handle, rows }: BoundFrame, seen: bigint): Error {
  const message = `The scheduler sees ${seen} of ${counted(rows, 'row')} of the frame ${quoted(handle)}.`;
  return schedulerFailed(message, { hint: SAME_FILES });
}
