import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { Api } from '../api/api.ts';
import { endQuery, isCancelled, type RunningSql } from '../api/queries.ts';
import type { ServerTiming } from '../api/server-timing.ts';
import { runSql, type SqlAnswer } from '../api/sql-stream.ts';
import type { ColumnInfo, EngineName } from '../api/types.ts';
import { uniqueId } from '@svc/client/internal';
import type { AnswerBatch, AnswerEnd } from '../rows/answer-batch.ts';
import type { RowSource } from '../rows/row-source.ts';
import { watchProgress } from './progress.ts';
import { toError } from '../state/to-error.ts';

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
      /** Undefined in the first 200 ms, and if the server does not list the query. */
      readonly query: RunningSql | undefined;
    }
  | { readonly kind: 'failed'; readonly request: RunRequest; readonly error: Error; readonly elapsedMs: number }
  | { readonly kind: 'cancelled'; readonly request: RunRequest; readonly elapsedMs: number }
  | ({ readonly kind: 'done'; readonly request: RunRequest; readonly elapsedMs: number } & SqlAnswer);

/** What a statement ended with. */
export type EndState = Exclude<RunState, { kind: 'idle' | 'running' }>;

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
  readonly ended: (state: EndState, rows: number | undefined) => void;
}

/** The last answer of a tab, while it arrives and after. */
interface AnswerHolder<Rows extends RowSink> {
  readonly answer: ReadonlySignal<Answer<Rows> | undefined>;
  /** Replaces the answer. The rows of the one before are released. */
  set(next: Answer<Rows> | undefined): void;
  /** Marks the answer of a statement, if it was still arriving. */
  end(request: RunRequest, end: AnswerEnd, timing?: ServerTiming): void;
  /** The number of rows that have come for a statement; undefined if it has no answer. */
  rowsOf(request: RunRequest): number | undefined;
}

function createAnswerHolder<Rows extends RowSink>(): AnswerHolder<Rows> {
  const answer = signal<Answer<Rows> | undefined>(undefined);
  const set = (next: Answer<Rows> | undefined): void => {
    const before = answer.peek();
    answer.value = next;
    if (before !== undefined && before.rows !== next?.rows) before.rows.close();
  };
  return {
    answer,
    set,
    end(request, end, timing) {
      const last = answer.peek();
      if (last?.request !== request || last.end !== undefined) return;
      last.rows.end(end);
      set({ ...last, end, timing });
    },
    rowsOf(request) {
      const last = answer.peek();
      return last?.request === request ? last.rows.rowCount.peek() : undefined;
    },
  };
}

/** Creates a runner. */
export function createRunner<Rows extends RowSink>(options: RunnerOptions<Rows>): Runner<Rows> {
  const { api, createRows, maxRows, ended } = options;
  const state = signal<RunState>({ kind: 'idle' });
  const held = createAnswerHolder<Rows>();
  let current: { readonly requestId: string; readonly abort: AbortController } | undefined;

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
    const requestId = uniqueId();
    const abort = new AbortController();
    const ending = new AbortController();
    const startMs = performance.now();
    current = { requestId, abort };
    state.value = { kind: 'running', request, requestId, startMs, query: undefined };
    void watchProgress(api, requestId, AbortSignal.any([abort.signal, ending.signal]), (query) => {
      if (current?.requestId === requestId) {
        state.value = { kind: 'running', request, requestId, startMs, query };
      }
    });
    const { signal: stopped } = abort;
    const finished = await runSql(
      api,
      { ...request, requestId, signal: stopped, maxRows: maxRows() },
      {
        columns: (columns) =>
          stopped.aborted || held.set({ request, rows: createRows(columns), end: undefined, timing: undefined }),
        rows: (rows) => stopped.aborted || held.answer.peek()?.rows.append(rows),
      },
    ).catch(toError);
    ending.abort();
    finish(endState(request, finished, performance.now() - startMs, stopped.aborted), requestId);
  }

  function finish(last: EndState, requestId: string): void {
    const { request } = last;
    batch(() => {
      if (last.kind === 'done') held.end(request, last.end === 'acted' ? 'complete' : last.end, last.timing);
      else held.end(request, last.kind === 'cancelled' ? 'cancelled' : 'cut');
      if (current?.requestId === requestId) current = undefined;
      const shown = state.peek();
      // Another statement may have been started meanwhile: its state is shown.
      if (shown.kind === 'running' && shown.requestId === requestId) state.value = last;
    });
    ended(last, held.rowsOf(request));
  }

  return {
    state,
    answer: held.answer,
    run,
    cancel,
    close() {
      cancel();
      held.set(undefined);
    },
  };
}

function endState(request: RunRequest, finished: SqlAnswer | Error, elapsedMs: number, isAborted: boolean): EndState {
  if (isAborted || isCancelled(finished)) return { kind: 'cancelled', request, elapsedMs };
  if (finished instanceof Error) return { kind: 'failed', request, error: finished, elapsedMs };
  return { kind: 'done', request, elapsedMs, ...finished };
}
