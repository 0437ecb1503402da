import type { Client } from '../client/client.ts';
import { formatCount } from '../text/display-text.ts';
import { outputContentType } from '../args/file-formats.ts';
import type { Output } from '../output/output.ts';
import { copyBody, printResult, type PrintResultOptions, type ReadResult } from '../output/print-result.ts';
import { refusalOf } from '../client/refusal.ts';
import type { ResultTarget } from '../args/result-format.ts';
import { ACKNOWLEDGEMENT, parseResponse } from '../client/server-responses.ts';

/** The engine of SQL: over frames, or the time-series database behind the server. */
export type SqlEngine = 'local' | 'tsdb';

/** One statement, and how to print its result. */
export interface SqlRun {
  readonly sql: string;
  /** Undefined: the default of the server. */
  readonly engine: SqlEngine | undefined;
  /** Values for `?` and `$1`, as JSON. */
  readonly params: readonly string[];
  readonly format: ResultTarget['format'];
  readonly output: Output;
  /** Width of the terminal that shows errors, in columns. */
  readonly errorWidth: number;
  /** Called with the rows as they arrive. */
  readonly onRows?: PrintResultOptions['onRows'];
  /** Aborts only this statement. */
  readonly signal?: AbortSignal;
}

/** Runs a statement and prints its result. */
export async function runSql(client: Client, run: SqlRun): Promise<void> {
  const { sql, engine, params, format, output, errorWidth, onRows, signal } = run;
  const fmt = format === 'table' ? 'json' : format;
  const response = await client.send({
    method: 'POST',
    path: fmt === 'json' ? 'exec' : 'exp',
    params: { fmt, ...(engine && { engine }), ...(params.length > 0 && { param: params }) },
    headers: { 'content-type': 'application/sql' },
    body: sql,
    // SQL over frames only reads; SQL in the database may write.
    isAction: engine !== 'local',
    isLong: true,
    expects: { contentType: outputContentType(fmt) },
    sql,
    ...(signal && { signal }),
  });
  if (fmt !== 'json') return copyBody(response.body, output);
  await printResult(response.body, {
    output,
    isJson: format === 'json',
    ...(onRows && { onRows }),
    lastLine: (whole) => {
      // The database reports some errors with status 200, even after rows.
      const refusal = refusalOf(whole.members, { sql, width: errorWidth });
      if (refusal !== undefined) throw refusal;
      return describeResult(whole);
    },
  });
}

function describeResult({ members, rows }: ReadResult): string {
  if (rows !== undefined) return formatCount(rows, 'row');
  const { word, updated } = parseResponse(ACKNOWLEDGEMENT, members);
  return typeof updated === 'number' ? `${word}, ${formatCount(updated, 'row')} updated` : word;
}
