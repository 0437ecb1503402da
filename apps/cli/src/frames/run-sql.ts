import type { Client } from '../client/client.ts';
import { counted } from '../text/display-text.ts';
import { outputContentType } from '../args/file-formats.ts';
import type { Output } from '../output/output.ts';
import { copyAnswer, printAnswer, type PrintAnswerOptions, type ReadAnswer } from '../output/print-result.ts';
import { refusalOf } from '../client/refusal.ts';
import type { ResultTarget } from '../args/result-format.ts';
import { ACKNOWLEDGEMENT, parseAnswer } from '../client/server-responses.ts';

/** Who answers SQL: the frames, or the time-series database behind the server. */
export type SqlEngine = 'local' | 'tsdb';

/** One statement, and what becomes of its answer. */
export interface SqlRun {
  readonly sql: string;
  /** Undefined: whom the server asks by itself. */
  readonly engine: SqlEngine | undefined;
  /** Values for `?` and `$1`, as JSON. */
  readonly params: readonly string[];
  readonly format: ResultTarget['format'];
  readonly output: Output;
  /** Columns of the terminal errors are shown on. */
  readonly errorWidth: number;
  /** Sees the rows on their way. */
  readonly onRows?: PrintAnswerOptions['onRows'];
  /** Ends this statement alone. */
  readonly signal?: AbortSignal;
}

/** Runs a statement and prints its answer. */
export async function runSql(client: Client, run: SqlRun): Promise<void> {
  const { sql, engine, params, format, output, errorWidth, onRows, signal } = run;
  const fmt = format === 'table' ? 'json' : format;
  const answer = await client.send({
    method: 'POST',
    path: fmt === 'json' ? 'exec' : 'exp',
    params: { fmt, ...(engine && { engine }), ...(params.length > 0 && { param: params }) },
    headers: { 'content-type': 'application/sql' },
    body: sql,
    // Frames are only read; what the database does is not known here.
    isAction: engine !== 'local',
    isLong: true,
    expects: { contentType: outputContentType(fmt) },
    sql,
    ...(signal && { signal }),
  });
  if (fmt !== 'json') return copyAnswer(answer.body, output);
  await printAnswer(answer.body, {
    output,
    isJson: format === 'json',
    ...(onRows && { onRows }),
    lastLine: (whole) => {
      // The database reports some errors with a status of 200, also behind rows it has already sent.
      const refusal = refusalOf(whole.members, { sql, width: errorWidth });
      if (refusal !== undefined) throw refusal;
      return describeAnswer(whole);
    },
  });
}

function describeAnswer({ members, rows }: ReadAnswer): string {
  if (rows !== undefined) return counted(rows, 'row');
  const { word, updated } = parseAnswer(ACKNOWLEDGEMENT, members);
  return typeof updated === 'number' ? `${word}, ${counted(updated, 'row')} updated` : word;
}
