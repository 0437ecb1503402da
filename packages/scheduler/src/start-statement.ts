import { cancelledError, ServiceError } from '@svc/errors';
import { counted, orAborted, quoted } from '@svc/errors/internal';
import type { Call, PinnableFrames, PinnedFrame, QueryOptions } from '@svc/frames';
import { createTimeLimit, type Semaphore, type TimeLimit } from '@svc/frames/async';
import { checkSqlText } from '@svc/frames/sql';
import {
  type BoundFrame,
  type BoundStatement,
  type Driver,
  schedulerFailed,
  tooManyStatements,
  wrongParameters,
} from './driver.ts';
import { type CheckedStatement, checkStatement, checkTables, type SqlDialect } from './fence/check-statement.ts';

/** A statement with a slot and its frames, until `end`. */
export interface RunningStatement {
  readonly statement: BoundStatement;
  /** The tables it reads, without the queries of WITH. */
  readonly tables: CheckedStatement['tables'];
  readonly limit: TimeLimit;
  /** Ends the time limit at once; slot and frames are released when `stopped` resolves. Only the first call counts. */
  end(stopped: Promise<unknown>): void;
}

/** What statements are started with. */
interface StartOptions {
  readonly dialect: SqlDialect;
  /** True if the frames are bound as files. Otherwise the tables are those of the other engine. */
  readonly readsFiles: boolean;
  readonly frames: PinnableFrames;
  /** Returns the cluster's name of a file; undefined if it does not see the file. */
  readonly locate: (path: string, storedPath: string) => string | undefined;
  readonly checkRows: RowCheck;
  readonly slots: Semaphore;
  readonly maxQueued: number;
  readonly maxQueuedPerTenant: number;
  readonly timeoutMs: number;
  readonly stopMs: number;
  readonly onNotStopping: ((call: Call) => void) | undefined;
  /** The limits of all running and waiting statements. */
  readonly limits: Set<TimeLimit>;
}

/** Checks a statement, waits for a slot, and pins its frames. */
export async function startStatement(
  options: StartOptions,
  call: Call,
  sql: string,
  { params, monitor }: Pick<QueryOptions, 'monitor' | 'params'> = {},
): Promise<RunningStatement> {
  const { slots, maxQueued, maxQueuedPerTenant, timeoutMs, limits } = options;
  if (call.signal.aborted) throw cancelledError(call.signal.reason);
  checkSqlText(sql);
  const limit = createTimeLimit(call.signal, { sql, timeoutMs, setting: 'scheduler.timeout_ms' });
  limits.add(limit);
  let pins: FramePins = NO_FRAMES;
  let release = (): void => undefined;
  let checked: CheckedStatement;
  try {
    checked = await checkStatement(sql, options.dialect);
    const { parameters } = checked;
    if (params !== undefined && params.length !== parameters) throw wrongParameters(sql, parameters, params.length);
    if (slots.waiting() >= maxQueued) throw tooManyStatements(maxQueued);
    if (slots.waiting(call.tenant) >= maxQueuedPerTenant) throw tooManyStatements(maxQueuedPerTenant);
    release = await slots.acquire(limit.signal, monitor?.queued, call);
    monitor?.running();
    if (options.readsFiles) pins = await pinInTime(options, call, checked, limit.signal);
    await orAborted(options.checkRows(call.tenant, pins.frames, limit.signal), limit.signal);
  } catch (error) {
    limits.delete(limit);
    limit.abort(closedResult());
    release();
    pins.release();
    throw error;
  }
  const { tenant, requestId, trace } = call;
  const { frames } = pins;
  const { parameters } = checked;
  return {
    statement: { sql: checked.sql, params: params ?? [], parameters, frames, tenant, tag: tagOf(requestId), trace },
    tables: checked.tables,
    limit,
    end: createEnd(options, call, limit, release, pins),
  };
}

/** Pins the frames. If the signal is aborted first, they are released when they arrive. */
async function pinInTime(
  options: StartOptions,
  { tenant }: Call,
  checked: CheckedStatement,
  signal: AbortSignal,
): Promise<FramePins> {
  const pinning = pinFrames(options, tenant, checked);
  try {
    return await orAborted(pinning, signal);
  } catch (error) {
    void pinning.then(
      (late) => late.release(),
      () => undefined,
    );
    throw error;
  }
}

/** Returns the function to end a statement. */
function createEnd(
  { limits, stopMs, onNotStopping }: StartOptions,
  call: Call,
  limit: TimeLimit,
  release: () => void,
  pins: FramePins,
): RunningStatement['end'] {
  let isEnded = false;
  return (stopped) => {
    if (isEnded) return;
    isEnded = true;
    limits.delete(limit);
    limit.abort(closedResult());
    const timer = setTimeout(() => {
      release();
      onNotStopping?.(call);
    }, stopMs).unref();
    const letGo = (): void => {
      clearTimeout(timer);
      release();
      // Until now, the cluster may have read the files.
      pins.release();
    };
    stopped.then(letGo, letGo);
  };
}

/** Request ids may have characters not allowed in a tag. */
function tagOf(requestId: string): string {
  return `svc-${requestId.replaceAll(/[^\w.-]/g, '_')}`;
}

function closedResult(): ServiceError {
  return new ServiceError('cancelled', 'The result was closed.');
}

/** Frames, pinned until they are released. */
interface FramePins {
  readonly frames: readonly BoundFrame[];
  release(): void;
}

/** For statements without frames. */
const NO_FRAMES: FramePins = { frames: [], release: () => undefined };

/**
 * Pins the frames that a statement reads, each at one version, whatever letter case the statement uses. A table that is not
 * a frame is `invalid_sql`: the cluster may have one of that name.
 */
async function pinFrames(
  { frames: source, locate }: StartOptions,
  tenant: string,
  statement: CheckedStatement,
): Promise<FramePins> {
  const spellings = new Map<string, Set<string>>();
  for (const { name } of statement.tables) {
    const key = name.toLowerCase();
    spellings.set(key, (spellings.get(key) ?? new Set()).add(name));
  }
  const pins = new Map<string, PinnedFrame>();
  const release = (): void => {
    for (const pin of pins.values()) pin.release();
    pins.clear();
  };
  try {
    for (const key of spellings.keys()) {
      const pin = await source.pin({ tenant, name: key });
      // It is the first one in the statement: the check below refuses it.
      if (pin === undefined) break;
      pins.set(key, pin);
    }
    checkTables(statement, (name) => pins.has(name.toLowerCase()));
    const frames = [...pins].flatMap(([key, pin]) =>
      [...(spellings.get(key) ?? [])].map((name) => boundFrame(name, pin, locate)),
    );
    return { frames, release };
  } catch (error) {
    release();
    throw error;
  }
}

function boundFrame(name: string, pin: PinnedFrame, locate: StartOptions['locate']): BoundFrame {
  const { handle, version, rows } = pin;
  const { paths, storedPaths = paths } = pin;
  const uris = paths.map((path, at) => locate(path, storedPaths[at] ?? path) ?? unreachable(handle));
  return { name, handle, version, rows, uris, schema: pin.fileSchema() };
}

function unreachable(handle: string): never {
  throw schedulerFailed(`The cluster cannot read the frame ${quoted(handle)}.`, {
    hint: 'Upload it as a frame: only Parquet files in the directory of the frames can be read by others than this server.',
  });
}

/** Throws `scheduler_failed` unless the cluster sees every row of the frames. */
type RowCheck = (tenant: string, frames: readonly BoundFrame[], signal: AbortSignal) => Promise<void>;

/** The number of remembered versions. */
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

/** The count is right SQL: if an engine refuses it, it cannot read the files. */
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
