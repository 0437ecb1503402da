import type { ResultFormat } from '@svc/frames';
import type { Arguments } from '../args/command.ts';
import { CliError } from '../errors/cli-error.ts';
import { responseOptions, MAX_TIMEOUT_SECONDS, serverOptions } from '../args/client-options.ts';
import type { Command, Context } from '../args/command.ts';
import { precedesSql } from '../args/directory-name.ts';
import { OUTPUT_FORMATS } from '../args/file-formats.ts';
import { defaultEngine } from '../prompt/default-engine.ts';
import { resultOptions, type ResultTarget, resultTarget } from '../args/result-format.ts';
import { runSql, type SqlEngine } from '../frames/run-sql.ts';
import { DASH } from '../args/source.ts';
import { readSql } from '../args/sql-source.ts';
import { withClient } from '../frames/with-client.ts';
import { writeOutput } from '../output/write-output.ts';

/** Those the time-series database writes itself, and the server passes on unread. */
const DATABASE_FORMATS: ReadonlySet<ResultFormat> = new Set(['json', 'csv']);

const ENGINES: readonly SqlEngine[] = ['local', 'tsdb'];

/** `svc query`: SQL over frames, or for the time-series database behind the server. */
export const query: Command = {
  kind: 'command',
  name: 'query',
  summary: 'Run SQL, or ask for it at a prompt.',
  usage: ['[sql|-]'],
  takesDirectory: precedesSql,
  options: {
    engine: { value: '<local|tsdb>', summary: 'The frames, or the database behind the server.' },
    file: { short: 'f', value: '<file>', summary: 'Read the SQL from a file.' },
    param: { value: '<json>', isRepeatable: true, summary: 'For ? or $1: 42, \'"a text"\'. Once for each.' },
    ...resultOptions(OUTPUT_FORMATS),
    ...serverOptions(MAX_TIMEOUT_SECONDS),
  },
  notes: [
    'Without SQL a terminal gets a prompt, else - reads the standard input. In a',
    'directory the engine is local; a server has its own choice (tsdb, as a rule).',
    'The database writes JSON and CSV alone. An error shows its place in the SQL.',
    'Examples:',
    "  svc query ./data 'select symbol, avg(price) from trades group by 1'",
    "  svc query --engine local 'from trades where id = ?' --param 7 -o x.parquet",
  ],
  async run(args, context) {
    const target = resultTarget(args, OUTPUT_FORMATS, context.stdout);
    const engine = engineOf(args);
    checkFormat(target, engine);
    const params = args.texts('param').map(checkParam);
    const { errorWidth } = responseOptions(args, context);
    const use = { hasSql: true, timeoutSeconds: MAX_TIMEOUT_SECONDS };
    const { terminal } = context;
    if (terminal !== undefined && args.positionals.length === 0 && !args.has('file')) {
      checkPrompt(target);
      return withClient(args, context, use, async (client) => {
        // Loaded only here: one statement needs none of it.
        const { startPrompt } = await import('../prompt/start-prompt.ts');
        const asked = engine ?? (await defaultEngine(client));
        const formats = ['table', ...OUTPUT_FORMATS.filter((format) => isPrintable(format, asked))] as const;
        await startPrompt({ client, engine: asked, params, formats, errorWidth, terminal, context });
      });
    }
    const sql = await sqlOf(args, context);
    await withClient(args, context, use, (client) =>
      writeOutput(target.file, context, (output) =>
        runSql(client, { sql, engine, params, format: target.format, output, errorWidth }),
      ),
    );
  },
};

function engineOf(args: Arguments): SqlEngine | undefined {
  const given = args.text('engine');
  const engine = ENGINES.find((name) => name === given);
  if (given !== undefined && engine === undefined) {
    throw new CliError('usage', `There is no engine ${JSON.stringify(given)}.`, {
      hint: 'Say --engine local for the frames, or --engine tsdb for the database behind the server.',
    });
  }
  if (args.directory === undefined) return engine;
  if (engine !== 'tsdb') return 'local';
  throw new CliError('usage', 'Behind a directory there is no time-series database.', {
    hint: 'Leave --engine tsdb out, or name a server with --url in place of the directory.',
  });
}

function checkFormat({ format }: ResultTarget, engine: SqlEngine | undefined): void {
  if (engine === 'local' || format === 'table' || DATABASE_FORMATS.has(format)) return;
  throw new CliError('usage', `The time-series database does not write ${format}.`, {
    hint: 'Say --engine local to ask the frames of the server, or --json or --csv.',
  });
}

/** Whether a prompt can print an answer in a format. */
function isPrintable(format: ResultFormat, engine: SqlEngine | undefined): boolean {
  const isText = format !== 'arrow' && format !== 'parquet';
  return isText && (engine === 'local' || DATABASE_FORMATS.has(format));
}

function checkPrompt({ format, file }: ResultTarget): void {
  if (format === 'table' && file === undefined) return;
  throw new CliError('usage', 'There is no SQL, and a prompt prints tables.', {
    hint: 'Give the SQL as an argument; in the prompt \\format says how answers are printed.',
  });
}

function checkParam(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new CliError('usage', `--param ${JSON.stringify(text)} is not JSON.`, {
      hint: `Write a text in double quotes inside of single ones: --param '${JSON.stringify(text)}'.`,
    });
  }
}

async function sqlOf(args: Arguments, context: Context): Promise<string> {
  const [argument] = args.positionals;
  const file = args.text('file');
  if (file === undefined) {
    return argument === undefined || argument === DASH ? readSql(DASH, context) : argument;
  }
  if (argument === undefined) return readSql(file, context);
  throw new CliError('usage', 'There is SQL in a file and SQL in an argument.', { hint: 'Give one of them.' });
}
