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

/** The formats that the time-series database writes itself; the server forwards them unread. */
const DATABASE_FORMATS: ReadonlySet<ResultFormat> = new Set(['json', 'csv']);

const ENGINES: readonly SqlEngine[] = ['local', 'tsdb'];

/** `svc query`: runs SQL over frames, or in the time-series database behind the server. */
export const query: Command = {
  kind: 'command',
  name: 'query',
  summary: 'Run SQL, or start an interactive prompt.',
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
    'Without SQL: a prompt on a terminal, else SQL from standard input. A directory',
    'always uses the local engine; a server has its own default (usually tsdb).',
    'The database writes JSON and CSV only. An error shows its position in the SQL.',
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
        // Imported lazily: a single statement does not need it.
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
      hint: 'Use --engine local for the frames, or --engine tsdb for the database behind the server.',
    });
  }
  if (args.directory === undefined) return engine;
  if (engine !== 'tsdb') return 'local';
  throw new CliError('usage', 'A local directory has no time-series database; use --url.', {
    hint: 'Leave out --engine tsdb, or name a server with --url instead of the directory.',
  });
}

function checkFormat({ format }: ResultTarget, engine: SqlEngine | undefined): void {
  if (engine === 'local' || format === 'table' || DATABASE_FORMATS.has(format)) return;
  throw new CliError('usage', `The time-series database does not write ${format}.`, {
    hint: 'Use --engine local to query the frames of the server, or --json or --csv.',
  });
}

/** Whether a prompt can print a result in a format. */
function isPrintable(format: ResultFormat, engine: SqlEngine | undefined): boolean {
  const isText = format !== 'arrow' && format !== 'parquet';
  return isText && (engine === 'local' || DATABASE_FORMATS.has(format));
}

function checkPrompt({ format, file }: ResultTarget): void {
  if (format === 'table' && file === undefined) return;
  throw new CliError('usage', 'No SQL is given, and a prompt prints tables only.', {
    hint: 'Give the SQL as an argument; in the prompt, \\format sets the format.',
  });
}

function checkParam(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new CliError('usage', `--param ${JSON.stringify(text)} is not JSON.`, {
      hint: `Write a string in double quotes inside single quotes: --param '${JSON.stringify(text)}'.`,
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
  throw new CliError('usage', 'The SQL is given both as a file and as an argument.', { hint: 'Give one of them.' });
}
