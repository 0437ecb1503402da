import { batch, type ReadonlySignal, signal } from '@preact/signals';
import { type Api, type ColumnInfo, type EngineName, toError } from '../api/api.ts';
import { endQuery, isCancelled, type RunningSql, watchQuery } from '../api/statements.ts';
import {
  type AnswerBatch,
  type AnswerEnd,
  MAX_BYTES,
  MAX_ROWS,
  runSql,
  type ServerTiming,
  type SqlAnswer,
} from '../api/sql-stream.ts';
import { uniqueId } from '@svc/client/internal';
import type { RowSource } from '../rows/row-source.ts';
import { countOf, formatBytes, formatCount, formatSpan } from '../state/format.ts';

/** A statement of the editor's text. */
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

/** The growing rows of an answer in memory. */
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
  /** Runs a statement, and cancels the one before. */
  run(request: RunRequest): Promise<void>;
  /** Ends the running statement; its rows stay. Returns true if there was one. */
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

/** Creates a runner. */
export function createRunner<Rows extends RowSink>(options: RunnerOptions<Rows>): Runner<Rows> {
  const { api, createRows, maxRows, ended } = options;
  const state = signal<RunState>({ kind: 'idle' });
  const answer = signal<Answer<Rows> | undefined>(undefined);
  let current: { readonly requestId: string; readonly abort: AbortController } | undefined;

  /** Replaces the answer. The rows of the one before are released. */
  function setAnswer(next: Answer<Rows> | undefined): void {
    const before = answer.peek();
    answer.value = next;
    if (before !== undefined && before.rows !== next?.rows) before.rows.close();
  }

  /** Marks the answer of a statement, if it was still arriving. */
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
    const requestId = uniqueId();
    const abort = new AbortController();
    const ending = new AbortController();
    const startMs = performance.now();
    current = { requestId, abort };
    state.value = { kind: 'running', request, requestId, startMs, query: undefined };
    const report = (query: RunningSql | undefined): void => {
      if (current?.requestId === requestId) state.value = { kind: 'running', request, requestId, startMs, query };
    };
    void watchQuery(api, requestId, AbortSignal.any([abort.signal, ending.signal]), report, POLLS);
    const { signal: stopped } = abort;
    const finished = await runSql(
      api,
      { ...request, requestId, signal: stopped, maxRows: maxRows() },
      {
        columns: (columns) =>
          stopped.aborted || setAnswer({ request, rows: createRows(columns), end: undefined, timing: undefined }),
        rows: (rows) => stopped.aborted || answer.peek()?.rows.append(rows),
      },
    ).catch(toError);
    ending.abort();
    finish(endState(request, finished, performance.now() - startMs, stopped.aborted), requestId);
  }

  function finish(last: EndState, requestId: string): void {
    const { request } = last;
    batch(() => {
      if (last.kind === 'done') endAnswer(request, last.end === 'acted' ? 'complete' : last.end, last.timing);
      else endAnswer(request, last.kind === 'cancelled' ? 'cancelled' : 'cut');
      if (current?.requestId === requestId) current = undefined;
      const shown = state.peek();
      // Another statement may have been started meanwhile: its state is shown.
      if (shown.kind === 'running' && shown.requestId === requestId) state.value = last;
    });
    const latest = answer.peek();
    ended(last, latest?.request === request ? latest.rows.rowCount.peek() : undefined);
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

function endState(request: RunRequest, finished: SqlAnswer | Error, elapsedMs: number, isAborted: boolean): EndState {
  if (isAborted || isCancelled(finished)) return { kind: 'cancelled', request, elapsedMs };
  if (finished instanceof Error) return { kind: 'failed', request, error: finished, elapsedMs };
  return { kind: 'done', request, elapsedMs, ...finished };
}

/** Most statements end before it; a flashing bar disturbs. */
export const PROGRESS_DELAY_MS = 300;
/** Earlier: the bar should have a value when it appears. */
const POLLS = { firstMs: 200, everyMs: 200 };

/** Returns the text of the run bar for a running statement. */
export function progressText(query: RunningSql | undefined, elapsedMs: number): string {
  const time = formatSpan(elapsedMs);
  if (query?.state === 'queued') return `${queueText(query)} · ${time}`;
  if (query?.progress === undefined || query.progress === null) return time;
  const percent = `${Math.floor(query.progress * 100)} %`;
  const { rowsProcessed, rowsTotal } = query;
  if (!rowsProcessed || !rowsTotal) return `${percent} · ${time}`;
  return `${percent} · ${formatCount(rowsProcessed)} of ${countOf(rowsTotal, 'row')} · ${time}`;
}

function queueText({ queuePosition, queueLength }: RunningSql): string {
  if (queuePosition === undefined) return 'In line';
  const of = queueLength === undefined ? '' : ` of ${queueLength}`;
  return `${ordinal(queuePosition)}${of} in line`;
}

/** Returns a number as a place: `1st`, `2nd`, `3rd`, `11th`. */
export function ordinal(value: number): string {
  const isTeen = value % 100 >= 11 && value % 100 <= 13;
  const ending = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][value % 10] ?? 'th');
  return `${value}${ending}`;
}

/** Returns the text of the result bar: rows and times. */
export function answerText({ rows, end, timing }: Pick<Answer, 'end' | 'timing'> & { readonly rows: number }): string {
  const count = end === 'limited' ? `${formatCount(rows)}+ rows` : countOf(rows, 'row');
  if (timing === undefined) return count;
  const wait = timing.queueMs >= 1 ? ` after ${formatSpan(timing.queueMs)} in line` : '';
  return `${count} · ${formatSpan(timing.executeMs)}${wait}`;
}

/** Returns why the rows of an answer are not all there; undefined if they are, or still arrive. */
export function incompleteText(end: Answer['end'], rows: number): string | undefined {
  if (end === 'cut')
    return `The server ended the answer after ${countOf(rows, 'row')}. Run the statement again to see all.`;
  if (end === 'cancelled') return `Cancelled after ${countOf(rows, 'row')}.`;
  if (end !== 'limited') return undefined;
  if (rows === 0) return `The first rows are larger than ${formatBytes(MAX_BYTES)}. Keep as frame to see them.`;
  const why = rows < MAX_ROWS ? 'Only the first rows are shown. ' : '';
  return `${formatCount(rows)}+ rows. ${why}Keep as frame to see all.`;
}

/** Returns what screen readers are told when a statement has ended. */
export function outcomeText(state: RunState, rows: number | undefined): string {
  if (state.kind === 'failed') return `Failed: ${state.error.message}`;
  if (state.kind === 'cancelled') return 'Cancelled.';
  if (state.kind !== 'done') return '';
  if (state.end === 'acted') return actedText(state.changedRows);
  const count = rows ?? 0;
  return incompleteText(state.end, count) ?? `${countOf(count, 'row')} in ${formatSpan(state.elapsedMs)}.`;
}

/** Returns what is said about a statement without rows. */
export function actedText(changedRows: number | undefined): string {
  return changedRows === undefined ? 'Done.' : `Done. ${countOf(changedRows, 'row')} changed.`;
}
