import type { ResultFormat } from '@svc/frames';
import { CliError } from '../errors/cli-error.ts';
import { defaultEngine } from './default-engine.ts';
import type { Client, ClientResponse } from '../client/client.ts';
import type { Context } from '../args/command.ts';
import { withDownloadProgress } from '../output/download-progress.ts';
import { formatCount } from '../text/display-text.ts';
import { outputContentType } from '../args/file-formats.ts';
import type { Output } from '../output/output.ts';
import {
  copyBody,
  MORE_COLUMNS,
  printResult,
  type PrintResultOptions,
  type ReadResult,
} from '../output/print-result.ts';
import { refusalOf } from '../client/refusal.ts';
import type { ResultTarget } from '../args/result-format.ts';
import { ACKNOWLEDGEMENT, parseResponse } from '../client/server-responses.ts';

/** One statement, and how to print its result. */
export interface SqlRun {
  readonly sql: string;
  /** Undefined: the default of the server, or `local` if that is a time-series database that the server does not have. */
  readonly engine: string | undefined;
  /** Values for `?` and `$1`, as JSON. */
  readonly params: readonly string[];
  readonly target: Pick<ResultTarget, 'format' | 'isExpanded' | 'isWhole'>;
  /** How to see the columns of a table that do not fit. Default: with the flags of a command. */
  readonly more?: string;
  /** The rows to print, as the parameter `limit` of the server. Default: all. */
  readonly limit?: string | undefined;
  readonly output: Output;
  /** Shows the progress. */
  readonly context: Pick<Context, 'stderr' | 'signal'>;
  /** Width of the terminal that shows errors, in columns. */
  readonly errorWidth: number;
  /** Called with the rows as they arrive. */
  readonly onRows?: PrintResultOptions['onRows'];
  /** Aborts only this statement. */
  readonly signal?: AbortSignal;
}

/** Runs a statement and prints its result. */
export async function runSql(client: Client, run: SqlRun): Promise<void> {
  const { sql, target, output, context, errorWidth, onRows, more = MORE_COLUMNS } = run;
  const { format } = target;
  const fmt = format === 'table' ? 'json' : format;
  const response = await sendSql(client, run, fmt);
  const { stderr, signal } = context;
  await withDownloadProgress({ response, format, output, stderr, signal }, (body, countRows) => {
    if (fmt !== 'json') return copyBody(body, output);
    return printResult(body, {
      output,
      isJson: format === 'json',
      layout: { ...target, more },
      onRows: (columns, rows) => {
        countRows(rows.length);
        onRows?.(columns, rows);
      },
      lastLine: (whole) => {
        // The database reports some errors with status 200, even after rows.
        const refusal = refusalOf(whole.members, { sql, width: errorWidth, kind: 'read' });
        if (refusal !== undefined) throw refusal;
        return describeResult(whole);
      },
    });
  });
}

/** Sends a statement. A server without a database refuses it before anything runs, so it can be sent again. */
async function sendSql(client: Client, run: SqlRun, fmt: ResultFormat): Promise<ClientResponse> {
  try {
    return await sendTo(client, run, fmt, run.engine);
  } catch (error) {
    const isMissing = error instanceof CliError && error.code === 'tsdb_not_configured';
    if (run.engine !== undefined || !isMissing) throw error;
    const engine = await defaultEngine(client).catch(() => undefined);
    if (engine === undefined || engine === 'tsdb') throw error;
    return sendTo(client, run, fmt, engine);
  }
}

function sendTo(client: Client, run: SqlRun, fmt: ResultFormat, engine: string | undefined): Promise<ClientResponse> {
  const { sql, params, limit, signal } = run;
  return client.send({
    method: 'POST',
    path: fmt === 'json' ? 'exec' : 'exp',
    params: {
      fmt,
      ...(engine !== undefined && { engine }),
      ...(limit !== undefined && { limit }),
      ...(params.length > 0 && { param: params }),
    },
    headers: { 'content-type': 'application/sql' },
    body: sql,
    // SQL over frames only reads; SQL in the database may write.
    isAction: engine !== 'local' && engine !== 'scheduler',
    isLong: true,
    expects: { contentType: outputContentType(fmt) },
    sql,
    ...(signal && { signal }),
  });
}

function describeResult({ members, rows }: ReadResult): string {
  if (rows !== undefined) return formatCount(rows, 'row');
  const { word, updated } = parseResponse(ACKNOWLEDGEMENT, members);
  return typeof updated === 'number' ? `${word}, ${formatCount(updated, 'row')} updated` : word;
}
