import { TextDecoder } from 'node:util';
import { CliError, invalidAnswer } from '../cli-error.ts';
import { createClient } from '../client.ts';
import type { Command } from '../command.ts';
import { countedRows, printAnswer, type ReadAnswer } from '../print-answer.ts';
import { refusalOf } from '../refusal.ts';
import { clientOptions, URL_OPTION } from '../client-options.ts';
import { readSource, STDIN } from '../source.ts';

const MAX_SQL_BYTES = 1024 * 1024;

/** `svc query`: SQL for the time-series database behind the server. */
export const query: Command = {
  kind: 'command',
  name: 'query',
  summary: 'Run SQL on the time-series database behind the server.',
  usage: ['<sql|->'],
  options: {
    json: { summary: "Print the database's answer as it is." },
    url: URL_OPTION,
  },
  notes: [
    'The SQL is one argument, in quotes; - reads it from the standard input. Tables',
    'are printed as by svc get; an error shows its place in the SQL.',
    '',
    'Examples:',
    "  svc query 'select * from trades limit 10'",
    '  svc query - < report.sql',
  ],
  async run(args, context) {
    const [argument = ''] = args.positionals;
    const sql = argument === STDIN ? await readSql(readSource(STDIN, context.stdin)) : argument;
    const isJson = args.has('json');
    const client = clientOptions(args, context);
    const answer = await createClient(client).send({
      method: 'GET',
      path: 'exec',
      params: { query: sql, fmt: 'json' },
      isAction: true,
      sql,
    });
    await printAnswer(answer.body, {
      output: context.stdout,
      isJson,
      lastLine: (whole) => {
        // The database reports some errors with a status of 200, also behind rows it has already sent.
        const refusal = refusalOf(whole.members, { sql, width: client.errorWidth });
        if (refusal !== undefined) throw refusal;
        return describeAnswer(whole);
      },
    });
  },
};

function describeAnswer({ members, rows }: ReadAnswer): string {
  if (rows !== undefined) return countedRows(rows);
  const { ddl, dml, updated } = members;
  if (typeof (ddl ?? dml) !== 'string') throw invalidAnswer('it is neither a table nor an acknowledgement');
  return typeof updated === 'number' ? `${String(ddl ?? dml)}, ${countedRows(updated)} updated` : String(ddl ?? dml);
}

async function readSql(source: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let sql = '';
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > MAX_SQL_BYTES) throw new CliError('usage', 'The SQL on the standard input is longer than 1 MiB.');
    sql += decode(decoder, chunk);
  }
  return sql + decode(decoder);
}

function decode(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new CliError('usage', 'The SQL on the standard input is not UTF-8.', { hint: 'Save it as UTF-8.' });
  }
}
