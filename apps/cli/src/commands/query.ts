import { TextDecoder } from 'node:util';
import type { AnswerFormat } from '@svc/frames';
import { CliError } from '../cli-error.ts';
import { createClient } from '../client.ts';
import type { Command } from '../command.ts';
import { outputContentType } from '../file-formats.ts';
import { copyAnswer, printAnswer, type ReadAnswer } from '../print-answer.ts';
import { refusalOf } from '../refusal.ts';
import { counted } from '../display-text.ts';
import { clientOptions, MAX_TIMEOUT_SECONDS, serverOptions } from '../client-options.ts';
import { resultOptions, resultTarget } from '../result-format.ts';
import { ACKNOWLEDGEMENT, parseAnswer } from '../server-answers.ts';
import { DASH, readSource } from '../source.ts';
import { writeOutput } from '../write-output.ts';

/** Those the database writes itself. */
const FORMATS: readonly AnswerFormat[] = ['json', 'csv'];
const MAX_SQL_BYTES = 1024 * 1024;

/** `svc query`: SQL for the time-series database behind the server. */
export const query: Command = {
  kind: 'command',
  name: 'query',
  summary: 'Run SQL on the database behind the server.',
  usage: ['<sql|->'],
  options: {
    ...resultOptions(FORMATS),
    ...serverOptions(MAX_TIMEOUT_SECONDS),
  },
  notes: [
    'The SQL is one argument, in quotes; - reads it from the standard input. Tables',
    'are printed as by svc get, with all rows; an error shows its place in the SQL.',
    'The database itself writes the answer, as JSON or CSV, and the server passes it',
    'on unread: so there is no --arrow and no --ndjson here, as svc get has them.',
    '',
    'Examples:',
    "  svc query 'select * from trades limit 10'",
    "  svc query 'select * from trades' -o trades.csv",
    '  svc query - < report.sql',
  ],
  async run(args, context) {
    const [argument = ''] = args.positionals;
    const { format, file } = resultTarget(args, FORMATS, context.stdout);
    const client = clientOptions(args, context, MAX_TIMEOUT_SECONDS);
    const sql = argument === DASH ? await readSql(readSource(DASH, context.stdin)) : argument;
    await writeOutput(file, context, async (output) => {
      const isCsv = format === 'csv';
      const fmt = isCsv ? 'csv' : 'json';
      const answer = await createClient(client).send({
        method: 'POST',
        path: isCsv ? 'exp' : 'exec',
        params: { fmt },
        headers: { 'content-type': 'application/sql' },
        body: sql,
        isAction: true,
        isLong: true,
        expects: { contentType: outputContentType(fmt) },
        sql,
      });
      if (isCsv) return copyAnswer(answer.body, output);
      await printAnswer(answer.body, {
        output,
        isJson: format === 'json',
        lastLine: (whole) => {
          // The database reports some errors with a status of 200, also behind rows it has already sent.
          const refusal = refusalOf(whole.members, { sql, width: client.errorWidth });
          if (refusal !== undefined) throw refusal;
          return describeAnswer(whole);
        },
      });
    });
  },
};

function describeAnswer({ members, rows }: ReadAnswer): string {
  if (rows !== undefined) return counted(rows, 'row');
  const { word, updated } = parseAnswer(ACKNOWLEDGEMENT, members);
  return typeof updated === 'number' ? `${word}, ${counted(updated, 'row')} updated` : word;
}

async function readSql(source: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let sql = '';
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > MAX_SQL_BYTES) {
      throw new CliError('usage', 'The SQL on the standard input is longer than 1 MiB.', {
        hint: 'Split it into shorter queries.',
      });
    }
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
