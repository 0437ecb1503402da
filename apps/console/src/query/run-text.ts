import type { RunningSql } from '../api/queries.ts';
import { MAX_BYTES, MAX_ROWS } from '../api/sql-stream.ts';
import { countOf, formatBytes, formatCount, formatSpan } from '../state/format.ts';
import type { Answer, RunState } from './run.ts';

/** Returns what the run bar says about a statement that runs. */
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

/** Returns what the result bar says about an answer: its rows and times. */
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
