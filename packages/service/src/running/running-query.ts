import { cancelledError, onAbort, ServiceError, toServiceError } from '@svc/errors';
import type { Call, QueuePlace, StatementMonitor, StatementProgress } from '@svc/frames';
import { withSpan } from '@svc/frames/internal';
import type { SqlTarget } from '../engine-names.ts';
import type { Observer } from '../events.ts';
import { createQueryClock, type QueryTiming } from './query-clock.ts';
import { queryOutcome } from '../query-outcome.ts';
import { eventSource } from '../event-source.ts';
import { sqlFingerprint } from '../sql-fingerprint.ts';
import { StatementCall } from './statement-call.ts';

/** A statement that waits, runs, or sends its result. */
export interface QueryInfo {
  /** The id of the request that started it. */
  readonly id: string;
  readonly tenant: string;
  /** The id of the caller. Omitted if authentication is off. */
  readonly caller?: string;
  readonly engine: SqlTarget;
  readonly state: 'queued' | 'running' | 'sending';
  readonly elapsedMs: number;
  /** Omitted unless it is queued. */
  readonly queue?: QueuePlace;
  /** Omitted if it is unknown. */
  readonly progress?: StatementProgress;
  /** The rows that were read from the result so far. */
  readonly rows: number;
  /** The bytes of the response so far, before compression. */
  readonly bytes: number;
  readonly sql: string;
}

/** A statement that runs. Whatever way it ends, `end` must be called. */
export interface RunningQuery {
  /** The call of the statement. Its signal is also aborted when the query is cancelled. */
  readonly call: Call;
  readonly sql: string;
  /** For the engine. */
  readonly monitor: StatementMonitor;
  /**
   * The result is there. If the call is cancelled from now on, `close` is called and the statement ends. Undefined: all of the
   * result has arrived, and the statement ends now.
   */
  send(close: (() => void) | undefined): void;
  timing(): QueryTiming;
  addRows(count: number): void;
  addBytes(count: number): void;
  /** Ends the statement and throws if its result has more bytes than it may have. Default: the bytes so far. */
  checkBytes(bytes?: number): void;
  info(): QueryInfo;
  cancel(reason: ServiceError): void;
  /** Reports the event. Only the first call counts. */
  end(error?: unknown): void;
}

/** Limits of a whole result. What is undefined is not limited. */
export interface ResultLimits {
  /** From its first rows until it is read. */
  readonly maxResultMs?: number | undefined;
  /** Of the response before compression, or of the rows to store. */
  readonly maxResultBytes?: number | undefined;
}

/** Options of `createRunningQuery`. */
export interface RunningQueryOptions {
  readonly sql: string;
  readonly engine: SqlTarget;
  readonly observe: Observer;
  readonly limits: ResultLimits;
  /** Called once, before the event. */
  readonly onEnd: () => void;
}

/** Starts to track a statement. */
export function createRunningQuery(call: Call, options: RunningQueryOptions): RunningQuery {
  const { sql, engine, observe, onEnd } = options;
  const { maxResultMs, maxResultBytes = Infinity } = options.limits;
  const clock = createQueryClock();
  const cancellable = new StatementCall(call);
  const own = withSpan(cancellable);
  const counts = { rows: 0, bytes: 0 };
  const tracker = createTracker(clock);
  let stopListening: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;

  function end(error?: unknown): void {
    if (isEnded) return;
    isEnded = true;
    stopListening?.();
    clearTimeout(timer);
    cancellable.end();
    onEnd();
    const code = error === undefined ? undefined : toServiceError(error).code;
    observe({
      kind: 'query_ended',
      ...eventSource(own),
      engine,
      outcome: queryOutcome(code),
      ...(code && { code }),
      ...clock.timing(),
      durationMs: clock.elapsedMs(),
      ...counts,
      fingerprint: () => sqlFingerprint(sql, engine),
    });
  }

  return {
    call: own,
    sql,
    monitor: tracker,
    send(close) {
      tracker.sending();
      if (isEnded || close === undefined) return;
      const { signal } = own;
      stopListening = onAbort(signal, () => {
        close();
        end(cancelledError(signal.reason));
      });
      if (maxResultMs !== undefined && !isEnded)
        timer = setTimeout(() => cancellable.cancel(tooLate(maxResultMs)), maxResultMs).unref();
    },
    timing: () => clock.timing(),
    addRows: (count) => void (counts.rows += count),
    addBytes: (count) => void (counts.bytes += count),
    checkBytes(bytes = counts.bytes) {
      if (bytes <= maxResultBytes) return;
      const error = tooLong(maxResultBytes);
      cancellable.cancel(error);
      throw error;
    },
    info: () => ({ ...sourceOf(call), engine, ...tracker.state(), elapsedMs: clock.elapsedMs(), ...counts, sql }),
    cancel: (reason) => cancellable.cancel(reason),
    end,
  };
}

function tooLate(maxMs: number): ServiceError {
  return new ServiceError('deadline_exceeded', `The query result was not read within ${maxMs} ms (max_result_ms).`, {
    hint: 'Ask for fewer rows, read them faster, or ask the operator to raise sql.max_result_ms or that of the tenant.',
  });
}

function tooLong(maxBytes: number): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The query result is longer than ${maxBytes} bytes (max_result_bytes).`,
    {
      hint: 'Ask for fewer rows or columns, or ask the operator to raise sql.max_result_bytes or that of the tenant.',
    },
  );
}

function sourceOf({ requestId, tenant, caller }: Call): Pick<QueryInfo, 'caller' | 'id' | 'tenant'> {
  return { id: requestId, tenant, ...(caller && { caller: caller.id }) };
}

interface Tracker extends StatementMonitor {
  sending(): void;
  state(): Pick<QueryInfo, 'progress' | 'queue' | 'state'>;
}

/** Remembers what the engine reports of a statement. */
function createTracker(clock: ReturnType<typeof createQueryClock>): Tracker {
  let state: QueryInfo['state'] = 'running';
  let place: (() => QueuePlace) | undefined;
  let progress: StatementProgress | undefined;
  return {
    queued(current) {
      clock.wait();
      state = 'queued';
      place = current;
      // An interrupted statement starts again.
      progress = undefined;
    },
    running() {
      clock.run();
      state = 'running';
      place = undefined;
    },
    progressed: (current) => void (progress = current),
    sending() {
      clock.send();
      state = 'sending';
    },
    state: () => ({ state, ...(place && { queue: place() }), ...(progress && { progress }) }),
  };
}
