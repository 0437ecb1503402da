import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { Api } from '../api/api.ts';
import { endQuery, isCancelled, type RunningSql } from '../api/queries.ts';
import type { ServerTiming } from '../api/server-timing.ts';
import { runSql, type SqlAnswer } from '../api/sql-stream.ts';
import type { ColumnInfo, EngineName } from '../api/types.ts';
import type { AnswerBatch, AnswerEnd } from '../rows/answer-batch.ts';
import type { RowSource } from '../rows/row-source.ts';
import { watchProgress } from './progress.ts';

/** A statement, and where it is in the editor's text. */
export interface RunRequest {
  readonly sql: string;
  readonly engine: EngineName;
  /** Where the statement begins in the whole text. */
  readonly from: number;
}

/** What became of the last statement. */
export type RunState =
  | { readonly kind: 'idle' }
  | {
      readonly kind: 'running';
      readonly request: RunRequest;
      readonly requestId: string;
      readonly startMs: number;
      /** Undefined in the first 300 ms, and if the server does not list the query. */
      readonly query: RunningSql | undefined;
    }
  | { readonly kind: 'failed'; readonly request: RunRequest; readonly error: Error; readonly elapsedMs: number }
  | { readonly kind: 'cancelled'; readonly request: RunRequest; readonly elapsedMs: number }
  | ({ readonly kind: 'done'; readonly request: RunRequest; readonly elapsedMs: number } & SqlAnswer);

/** The rows of an answer in memory: a `RowSource` that grows. */
export interface RowSink extends RowSource {
  append(batch: AnswerBatch): void;
  end(end: AnswerEnd): void;
}

/** An answer with rows. It stays until another one comes. */
export interface Answer<Rows extends RowSink = RowSink> {
  readonly request: RunRequest;
  readonly rows: Rows;
  /** Undefined while rows arrive. */
  readonly end: AnswerEnd | undefined;
  readonly timing: ServerTiming | undefined;
}

/** Runs the statements of one tab, one at a time. */
export interface Runner<Rows extends RowSink = RowSink> {
  readonly state: ReadonlySignal<RunState>;
  /** The last answer with rows. It is of an earlier statement than `state` after an error, and until new rows come. */
  readonly answer: ReadonlySignal<Answer<Rows> | undefined>;
  /** Runs a statement. One that still runs is cancelled. */
  run(request: RunRequest): Promise<void>;
  /** Ends the statement that runs; rows that have come stay. Returns whether there was one. */
  cancel(): boolean;
  /** Cancels and releases everything. */
  close(): void;
}

/** What a runner needs. */
export interface RunnerOptions<Rows extends RowSink> {
  readonly api: Api;
  readonly createRows: (columns: readonly ColumnInfo[]) => Rows;
  /** The server's limit for one answer. */
  readonly maxRows: () => number | null;
  /** Called when a statement has ended, however it did. */
  readonly ended: (state: Exclude<RunState, { kind: 'idle' | 'running' }>, rows: number | undefined) => void;
}

/** Creates a runner. */
export function createRunner<Rows extends RowSink>(options: RunnerOptions<Rows>): Runner<Rows> {
  const { api, createRows, maxRows, ended } = options;
  const state = signal<RunState>({ kind: 'idle' });
  const answer = signal<Answer<Rows> | undefined>(undefined);
  let current: { readonly requestId: string; readonly abort: AbortController } | undefined;

  function setAnswer(next: Answer<Rows> | undefined): void {
    const before = answer.peek();
    answer.value = next;
    if (before !== undefined && before.rows !== next?.rows) before.rows.close();
  }

  /** Marks the answer that was arriving. */
  function endAnswer(request: RunRequest, end: AnswerEnd, timing?: ServerTiming): void {
    const last = answer.peek();
    if (last?.request !== request || last.end !== undefined) return;
    last.rows.end(end);
    setAnswer({ ...last, end, timing });
  }

  function cancel(): boolean {
    if (current === undefined) return false;
    const { requestId, abort } = current;
    current = undefined;
    abort.abort();
    endQuery(api, requestId).catch(() => undefined);
    return true;
  }

  async function run(request: RunRequest): Promise<void> {
    cancel();
    const requestId = crypto.randomUUID();
    const abort = new AbortController();
    const startMs = performance.now();
    current = { requestId, abort };
    state.value = { kind: 'running', request, requestId, startMs, query: undefined };
    const isCurrent = (): boolean => current?.requestId === requestId;
    const stop = new AbortController();
    void watchProgress(api, requestId, AbortSignal.any([abort.signal, stop.signal]), (query) => {
      if (isCurrent()) state.value = { kind: 'running', request, requestId, startMs, query };
    });
    const finished = await runSql(
      api,
      { ...request, requestId, signal: abort.signal, maxRows: maxRows() },
      {
        columns: (columns) =>
          abort.signal.aborted || setAnswer({ request, rows: createRows(columns), end: undefined, timing: undefined }),
        rows: (rows) => abort.signal.aborted || answer.peek()?.rows.append(rows),
      },
    ).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    stop.abort();
    finish(request, finished, performance.now() - startMs, abort.signal.aborted, isCurrent());
  }

  function finish(
    request: RunRequest,
    finished: SqlAnswer | Error,
    elapsedMs: number,
    isAborted: boolean,
    isCurrent: boolean,
  ): void {
    const last = endState(request, finished, elapsedMs, isAborted);
    batch(() => {
      if (last.kind === 'done') endAnswer(request, last.end === 'acted' ? 'complete' : last.end, last.timing);
      else endAnswer(request, last.kind === 'cancelled' ? 'cancelled' : 'cut');
      const isShown = isCurrent || (isAborted && runningRequest() === request);
      if (isCurrent) current = undefined;
      if (isShown) state.value = last;
    });
    const rows = answer.peek()?.request === request ? answer.peek()?.rows.rowCount.peek() : undefined;
    ended(last, rows);
  }

  function runningRequest(): RunRequest | undefined {
    const now = state.peek();
    return now.kind === 'running' ? now.request : undefined;
  }

  return {
    state,
    answer,
    run,
    cancel,
    close() {
      cancel();
      setAnswer(undefined);
    },
  };
}

function endState(
  request: RunRequest,
  finished: SqlAnswer | Error,
  elapsedMs: number,
  isAborted: boolean,
): Exclude<RunState, { kind: 'idle' | 'running' }> {
  if (isAborted || isCancelled(finished)) return { kind: 'cancelled', request, elapsedMs };
  if (finished instanceof Error) return { kind: 'failed', request, error: finished, elapsedMs };
  return { kind: 'done', request, elapsedMs, ...finished };
}
