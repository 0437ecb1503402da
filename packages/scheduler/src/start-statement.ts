import { cancelledError, ServiceError } from '@svc/errors';
import { orAborted, quoted } from '@svc/errors/internal';
import type { Call, PinnableFrames, PinnedFrame, QueryOptions } from '@svc/frames';
import { checkSqlText, createTimeLimit, type Semaphore, type TimeLimit } from '@svc/frames/internal';
import type { BoundFrame, BoundStatement } from './driver.ts';
import { type CheckedStatement, checkStatement, checkTables, type SqlDialect } from './fence/check-statement.ts';
import type { RowCheck } from './row-check.ts';
import { schedulerFailed } from './scheduler-failed.ts';
import { tooManyStatements, wrongParameters } from './statement-errors.ts';

/** A statement that holds a slot and its frames until `end`. */
export interface RunningStatement {
  readonly statement: BoundStatement;
  /** The tables it reads, without the queries of WITH. */
  readonly tables: CheckedStatement['tables'];
  readonly limit: TimeLimit;
  /** Ends the time limit at once; slot and frames are released when `stopped` resolves. Only the first call counts. */
  end(stopped: Promise<unknown>): void;
}

/** What statements are started with. */
export interface StartOptions {
  readonly dialect: SqlDialect;
  /** Whether the frames are bound as files. Otherwise the tables are those of the other engine. */
  readonly readsFiles: boolean;
  readonly frames: PinnableFrames;
  readonly locate: (path: string) => string | undefined;
  readonly checkRows: RowCheck;
  readonly slots: Semaphore;
  readonly maxQueued: number;
  readonly maxQueuedPerTenant: number;
  readonly timeoutMs: number;
  readonly stopMs: number;
  readonly onNotStopping: ((call: Call) => void) | undefined;
  /** The limits of all statements that run or wait. */
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
    end: createEnd(options, call, { limit, release, pins }),
  };
}

/** Pins the frames. If the signal is aborted first, they are released when they arrive. */
async function pinInTime(
  { frames, locate }: StartOptions,
  { tenant }: Call,
  checked: CheckedStatement,
  signal: AbortSignal,
): Promise<FramePins> {
  const pinning = pinFrames(frames, checked, { tenant, locate });
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

interface Held {
  readonly limit: TimeLimit;
  readonly release: () => void;
  readonly pins: FramePins;
}

function createEnd(
  { limits, stopMs, onNotStopping }: StartOptions,
  call: Call,
  { limit, release, pins }: Held,
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

/** Request ids may have characters that a tag must not have. */
function tagOf(requestId: string): string {
  return `svc-${requestId.replaceAll(/[^\w.-]/g, '_')}`;
}

function closedResult(): ServiceError {
  return new ServiceError('cancelled', 'The result was closed.');
}

/** Frames that stay pinned until they are released. */
interface FramePins {
  readonly frames: readonly BoundFrame[];
  release(): void;
}

/** For statements without frames. */
const NO_FRAMES: FramePins = { frames: [], release: () => undefined };

/** Options of `pinFrames`. */
interface PinFramesOptions {
  readonly tenant: string;
  /** Returns the name that the cluster has for a file; undefined if it does not see the file. */
  readonly locate: (path: string) => string | undefined;
}

/**
 * Pins the frames that a statement reads, each at one version, whatever letter case the statement uses. A table that is not
 * a frame is `invalid_sql`: the cluster may have one of that name.
 */
async function pinFrames(
  source: PinnableFrames,
  statement: CheckedStatement,
  { tenant, locate }: PinFramesOptions,
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

function boundFrame(name: string, pin: PinnedFrame, locate: PinFramesOptions['locate']): BoundFrame {
  const { handle, version, rows } = pin;
  const uris = pin.paths.map((path) => locate(path) ?? unreachable(handle));
  return { name, handle, version, rows, uris, schema: pin.fileSchema() };
}

function unreachable(handle: string): never {
  throw schedulerFailed(`The cluster cannot read the frame ${quoted(handle)}.`, {
    hint: 'Upload it as a frame: only Parquet files in the directory of the frames can be read by others than this server.',
  });
}
