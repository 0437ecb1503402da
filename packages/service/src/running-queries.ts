import { cancelledError, onAbort, ServiceError, toServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Call, Caller, Client, QueuePlace, StatementMonitor, StatementProgress, TraceContext } from '@svc/frames';
import { isCancelled, withSpan } from '@svc/frames/async';
import type { Audit } from './audit.ts';
import type { SqlTarget } from './engines.ts';
import { eventSource, type Observer, queryOutcome } from './events.ts';
import { isAllowed } from './permissions.ts';
import type { OperationName, QueryInfo, QueryTiming, Service } from './service.ts';
import { sqlFingerprint } from './sql-fingerprint.ts';

/** The registry of the running statements. */
export interface RunningQueries {
  /** Adds a statement, until its `end`. Throws `too_many_requests` if its tenant runs too many. */
  begin(call: Call, sql: string, engine: SqlTarget): RunningQuery;
  /** Returns the statements, oldest first. */
  list(): readonly QueryInfo[];
  /** Cancels the statements accepted by `isMeant`. Returns true if there were any. */
  cancel(isMeant: (query: QueryInfo) => boolean): boolean;
}

/**
 * Creates an empty registry. `startQuery` counts a statement of a tenant until the function that it returns is called, if the
 * tenant has a limit; `limitsOf` returns the limits of a tenant's results.
 */
export function createRunningQueries(
  observe: Observer,
  startQuery: (tenant: string) => (() => void) | undefined,
  limitsOf: (tenant: string) => ResultLimits,
): RunningQueries {
  const running = new Set<RunningQuery>();

  return {
    begin(call, sql, engine) {
      let release: (() => void) | undefined;
      const onEnd = (): void => {
        running.delete(query);
        release?.();
      };
      const query = createRunningQuery(call, sql, engine, observe, limitsOf(call.tenant), onEnd);
      running.add(query);
      try {
        release = startQuery(call.tenant);
      } catch (error) {
        query.end(error);
        throw error;
      }
      return query;
    },
    list: () => Array.from(running, (query) => query.info()),
    cancel(isMeant) {
      const meant = [...running].filter((query) => isMeant(query.info()));
      for (const query of meant) query.cancel(CANCELLED);
      return meant.length > 0;
    },
  };
}

const CANCELLED = new ServiceError('cancelled', 'The query was cancelled by another request.', {
  hint: 'Send it again if you still need the result. DELETE /queries/{id} cancels queries of the same tenant.',
});

/** Creates the operations to show and cancel running SQL. They also work while the service stops. */
export function createRegistryOperations(
  running: RunningQueries,
  authorize: (call: Call, operation: OperationName) => void,
  audit: Pick<Audit, 'useAdmin'>,
): Pick<Service, 'cancelQuery' | 'findQuery' | 'listQueries'> {
  /** Returns the test for visible statements: those of the caller's tenant that it could run itself; with `admin`, all. */
  function visibleTo(call: Call, operation: OperationName): (query: QueryInfo) => boolean {
    authorize(call, operation);
    if (audit.useAdmin(call, operation)) return () => true;
    return ({ tenant, engine }) => tenant === call.tenant && canRun(call, engine);
  }

  return {
    async listQueries(call) {
      return running.list().filter(visibleTo(call, 'listQueries'));
    },
    async findQuery(call, id) {
      const isVisible = visibleTo(call, 'findQuery');
      return running.list().findLast((query) => query.id === id && isVisible(query)) ?? notRunning(id);
    },
    async cancelQuery(call, id) {
      const isVisible = visibleTo(call, 'cancelQuery');
      if (!running.cancel((query) => query.id === id && isVisible(query))) notRunning(id);
    },
  };
}

function canRun(call: Call, engine: SqlTarget): boolean {
  return engine === 'tsdb' ? isAllowed(call, 'forward') : isAllowed(call, 'query', engine);
}

function notRunning(id: string): never {
  throw new ServiceError('query_not_found', `There is no running query ${quoted(id)}.`);
}

/** A running statement. However it ends, `end` must be called. */
export interface RunningQuery {
  /** The call of the statement. Its signal is also aborted when the query is cancelled. */
  readonly call: Call;
  readonly sql: string;
  /** For the engine. */
  readonly monitor: StatementMonitor;
  /** The result is there. If the call is cancelled from now on, `close` is called and the statement ends. */
  send(close: () => void): void;
  timing(): QueryTiming;
  addRows(count: number): void;
  addBytes(count: number): void;
  /** True if the bytes of the result are limited. */
  readonly isLimited: boolean;
  /** Ends the statement and throws if its result has more bytes than it may have. Default: the bytes so far. */
  checkBytes(bytes?: number): void;
  info(): QueryInfo;
  cancel(reason: ServiceError): void;
  /** Reports the event. Only the first call counts. */
  end(error?: unknown): void;
}

/** Limits of a whole result. What is undefined is not limited. */
interface ResultLimits {
  /** From its first rows until it is read. */
  readonly maxResultMs?: number | undefined;
  /** Of the response before compression, or of the rows to store. */
  readonly maxResultBytes?: number | undefined;
}

/** Starts to track a statement. `onEnd` is called once, before the event. */
function createRunningQuery(
  call: Call,
  sql: string,
  engine: SqlTarget,
  observe: Observer,
  { maxResultMs, maxResultBytes = Infinity }: ResultLimits,
  onEnd: () => void,
): RunningQuery {
  const cancellable = new StatementCall(call);
  const own = withSpan(cancellable);
  const counts = { rows: 0, bytes: 0 };
  const tracker = createTracker();
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
      ...tracker.timing(),
      durationMs: tracker.elapsedMs(),
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
      if (isEnded) return;
      const { signal } = own;
      stopListening = onAbort(signal, () => {
        close();
        end(cancelledError(signal.reason));
      });
      if (maxResultMs !== undefined && !isEnded)
        timer = setTimeout(() => cancellable.cancel(tooLate(maxResultMs)), maxResultMs).unref();
    },
    timing: () => tracker.timing(),
    addRows: (count) => void (counts.rows += count),
    addBytes: (count) => void (counts.bytes += count),
    isLimited: maxResultBytes < Infinity,
    checkBytes(bytes = counts.bytes) {
      if (bytes <= maxResultBytes) return;
      const error = tooLong(maxResultBytes);
      cancellable.cancel(error);
      throw error;
    },
    info: () => ({ ...sourceOf(call), engine, ...tracker.state(), elapsedMs: tracker.elapsedMs(), ...counts, sql }),
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

/** What the engine reports of a statement, and the time of its phases: it may wait more than once. */
interface Tracker extends StatementMonitor {
  /** The first rows are there. */
  sending(): void;
  state(): Pick<QueryInfo, 'progress' | 'queue' | 'state'>;
  elapsedMs(): number;
  /** Until now, or until the first rows. */
  timing(): QueryTiming;
}

function createTracker(): Tracker {
  const startMs = performance.now();
  let waitedMs = 0;
  let waitsSinceMs: number | undefined;
  let firstRowsMs: number | undefined;
  let state: QueryInfo['state'] = 'running';
  let place: (() => QueuePlace) | undefined;
  let progress: StatementProgress | undefined;

  function endWait(): void {
    if (waitsSinceMs !== undefined) waitedMs += performance.now() - waitsSinceMs;
    waitsSinceMs = undefined;
  }

  return {
    queued(current) {
      waitsSinceMs ??= performance.now();
      state = 'queued';
      place = current;
      // An interrupted statement starts again.
      progress = undefined;
    },
    running() {
      endWait();
      state = 'running';
      place = undefined;
    },
    progressed: (current) => void (progress = current),
    sending() {
      endWait();
      firstRowsMs ??= performance.now();
      state = 'sending';
    },
    state: () => ({ state, ...(place && { queue: place() }), ...(progress && { progress }) }),
    elapsedMs: () => performance.now() - startMs,
    timing() {
      const nowMs = firstRowsMs ?? performance.now();
      const waitMs = waitedMs + (waitsSinceMs === undefined ? 0 : nowMs - waitsSinceMs);
      return { waitMs, executeMs: nowMs - startMs - waitMs };
    },
  };
}

/** The call of a statement, which can be cancelled apart from the request that sent it. Its signal is created on first use. */
class StatementCall implements Call {
  readonly #call: Call;
  #controller: AbortController | undefined;
  #reason: ServiceError | undefined;
  #stopListening: (() => void) | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  get tenant(): string {
    return this.#call.tenant;
  }

  get caller(): Caller | undefined {
    return this.#call.caller;
  }

  get client(): Client | undefined {
    return this.#call.client;
  }

  get requestId(): string {
    return this.#call.requestId;
  }

  get trace(): TraceContext | undefined {
    return this.#call.trace;
  }

  get isCancelled(): boolean {
    return this.#reason !== undefined || isCancelled(this.#call);
  }

  get signal(): AbortSignal {
    this.#controller ??= this.#createController();
    return this.#controller.signal;
  }

  cancel(reason: ServiceError): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
  }

  /** Stops listening to the request: it may outlive the statement. */
  end(): void {
    this.#stopListening?.();
  }

  #createController(): AbortController {
    const controller = new AbortController();
    if (this.#reason !== undefined) controller.abort(this.#reason);
    else {
      const { signal } = this.#call;
      this.#stopListening = onAbort(signal, () => controller.abort(signal.reason));
    }
    return controller;
  }
}
