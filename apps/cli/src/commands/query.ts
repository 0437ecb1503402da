import { TextDecoder } from 'node:util';
import type { ResultFormat } from '@svc/frames';
import type { UpdateStatement } from '@svc/frames/statements';
import { MAX_TIMEOUT_SECONDS, responseOptions, serverOptions, TENANT_OPTION } from '../args/client-options.ts';
import { type Arguments, type Command, type Context, precedesSql } from '../args/command.ts';
import { OUTPUT_FORMATS, refuseArrowFile, resultOptions, resultTarget, type ResultTarget } from '../args/formats.ts';
import { TTL_OPTION, ttlOf } from '../args/input-options.ts';
import { DASH, openSource } from '../args/source.ts';
import type { Client } from '../client/client.ts';
import { defaultEngine, framePath } from '../client/requests.ts';
import { CliError } from '../errors.ts';
import { reportFrame } from '../frames/frame-requests.ts';
import { isWrite, keepSql, parseWrite, runSql, writeSql } from '../frames/sql.ts';
import { withClient } from '../frames/with-client.ts';
import { writeOutput } from '../output/output.ts';
import { nearestHint, parseJson } from '../text.ts';

/** The time-series database writes these formats itself; the server forwards them unread. */
const DATABASE_FORMATS: ReadonlySet<ResultFormat> = new Set(['json', 'csv']);

const ENGINES: readonly string[] = ['local', 'tsdb', 'scheduler'];

/** `svc query`: runs SQL over frames, or in the time-series database behind the server. */
export const query: Command = {
  kind: 'command',
  name: 'query',
  summary: 'Run SQL, or start an interactive prompt.',
  usage: ['[sql|-]'],
  takesDirectory: precedesSql,
  options: {
    engine: { value: '<name>', summary: 'local, tsdb, or scheduler: a cluster.' },
    file: { short: 'f', value: '<file>', summary: 'Read the SQL from a file.' },
    param: { value: '<json>', isRepeatable: true, summary: 'For ? or $1: 42, \'"a text"\'. Once for each.' },
    keep: { value: '<handle>', summary: 'Store the result as a frame instead of printing it.' },
    ttl: { ...TTL_OPTION, summary: 'With --keep: let the frame expire. Default: never.' },
    limit: { value: '<rows>', summary: 'n, or lo,hi or lo, counted from 1. Default: all.' },
    ...resultOptions(OUTPUT_FORMATS),
    tenant: TENANT_OPTION,
    ...serverOptions(MAX_TIMEOUT_SECONDS),
  },
  notes: [
    'Without SQL: a prompt on a terminal, else SQL from standard input. Without',
    '--engine: the default of the server, or its frames if it has no database.',
    'CREATE TABLE, INSERT INTO and DROP TABLE change frames.',
    'The database writes JSON and CSV only. An error shows its position in the SQL.',
    "Example: svc query ./data 'from trades where id = ?' --param 7 -o x.parquet",
  ],
  async run(args, context) {
    const target = resultTarget(args, OUTPUT_FORMATS, context.stdout);
    refuseArrowFile(target, 'the rows of a query are an IPC stream');
    const engine = engineOf(args);
    checkFormat(target, engine);
    const params = args.texts('param').map(checkParam);
    const keep = keepOf(args, target);
    const { errorWidth } = responseOptions(args, context);
    const use = { hasSql: true, timeoutSeconds: MAX_TIMEOUT_SECONDS };
    const { terminal } = context;
    if (terminal !== undefined && args.positionals.length === 0 && !args.has('file')) {
      checkPrompt(target, keep);
      return withClient(args, context, use, async (client, withWriter) => {
        // Imported lazily: a single statement does not need it.
        const { runPrompt } = await import('../prompt/run-prompt.ts');
        // An unreachable server is reported with the first statement.
        const asked = engine ?? (await defaultEngine(client).catch(() => undefined));
        const formats = ['table', ...OUTPUT_FORMATS.filter((format) => isPrintable(format, asked))] as const;
        const session = { client, withWriter, engine: asked, params, formats, errorWidth, context, target };
        await runPrompt(terminal, context, session);
      });
    }
    const sql = await sqlOf(args, context);
    if (sql.trim() === '') {
      throw new CliError('usage', 'There is no SQL.', {
        hint: 'Give it as an argument, with --file, or on standard input.',
      });
    }
    if (keep !== undefined) {
      return withClient(args, context, { ...use, isWriting: true }, async (client) => {
        const kept = { ...keep, sql, params, engine: engine ?? (await defaultEngine(client)) };
        await reportFrame(await keepSql(client, kept), args, context);
      });
    }
    // The database has its own statements for writes.
    if (isWrite(sql) && engine !== 'tsdb') {
      const parse = (): Promise<UpdateStatement> => writeOf(sql, { args, target, errorWidth });
      // Checked before a directory is created or locked.
      const known = engine === undefined ? undefined : await parse();
      const writing = { ...use, isWriting: true, createIfMissing: known?.kind === 'create' };
      return withClient(args, context, writing, async (client) => {
        const chosen = engine ?? (await defaultEngine(client));
        if (chosen === 'tsdb') return print(client, chosen);
        const { signal } = context;
        const wrote = await writeSql(client, { sql, update: known ?? (await parse()), engine: chosen, params, signal });
        await (typeof wrote === 'string' ? context.stdout.write(`${wrote}\n`) : reportFrame(wrote, args, context));
      });
    }
    await withClient(args, context, use, async (client) => print(client, await engineFor(client, target, engine)));

    function print(client: Client, chosen: string | undefined): Promise<void> {
      const limit = args.text('limit');
      return writeOutput(target.file, context, (output) =>
        runSql(client, { sql, engine: chosen, params, limit, target, output, context, errorWidth }),
      );
    }
  },
};

/** Parses a statement that changes frames, and refuses flags without a meaning for it. */
async function writeOf(
  sql: string,
  {
    args,
    target,
    errorWidth,
  }: { readonly args: Arguments; readonly target: ResultTarget; readonly errorWidth: number },
): Promise<UpdateStatement> {
  const update = await parseWrite(sql, errorWidth);
  if (update === undefined) throw new Error('The statement does not begin like one that writes.');
  const hasQuery = update.kind === 'insert' || (update.kind === 'create' && !update.isDeclared);
  const flag = printingFlag(args, target) ?? (!hasQuery && args.has('param') ? '--param' : undefined);
  if (flag === undefined) return update;
  const what = flag === '--param' ? 'has no parameters' : 'returns no rows';
  throw new CliError('usage', `The statement ${what}, so ${flag} has no meaning.`, { hint: `Leave out ${flag}.` });
}

/** Returns the flag for printing rows; undefined if there is none. */
function printingFlag(args: Arguments, { format, file }: ResultTarget): string | undefined {
  if (file !== undefined) return '-o';
  if (format !== 'table') return `--${format}`;
  return ['limit', 'expanded', 'all'].filter((flag) => args.has(flag)).map((flag) => `--${flag}`)[0];
}

function engineOf(args: Arguments): string | undefined {
  const given = args.text('engine');
  if (given !== undefined && !ENGINES.includes(given)) {
    const hint =
      'Use --engine local for the frames, --engine scheduler for the frames on a cluster, or --engine tsdb for the database.';
    throw new CliError('usage', `There is no engine ${JSON.stringify(given)}.`, {
      hint: nearestHint(given, ENGINES, (name) => `--engine ${name}`, hint),
    });
  }
  if (args.directory === undefined) return given;
  if (given === undefined || given === 'local') return 'local';
  const missing = given === 'tsdb' ? 'time-series database' : 'cluster';
  throw new CliError('usage', `A local directory has no ${missing}; use --url.`, {
    hint: `Leave out --engine ${given}, or name a server with --url instead of the directory.`,
  });
}

/** Asks for the default engine only if the format depends on it: other statements take a single request. */
async function engineFor(
  client: Client,
  target: ResultTarget,
  engine: string | undefined,
): Promise<string | undefined> {
  if (engine !== undefined || target.format === 'table' || DATABASE_FORMATS.has(target.format)) return engine;
  const found = await defaultEngine(client);
  checkFormat(target, found);
  return found;
}

function checkFormat({ format }: ResultTarget, engine: string | undefined): void {
  if (engine !== 'tsdb' || format === 'table' || DATABASE_FORMATS.has(format)) return;
  throw new CliError('usage', `The time-series database does not write ${format}.`, {
    hint: 'Use --engine local to query the frames of the server, or --json or --csv.',
  });
}

interface Kept {
  readonly handle: string;
  readonly ttl: string | undefined;
}

function keepOf(args: Arguments, target: ResultTarget): Kept | undefined {
  const handle = args.text('keep');
  if (handle === undefined) {
    if (!args.has('ttl')) return undefined;
    throw new CliError('usage', '--ttl needs --keep.', { hint: 'Name the frame: --keep <handle>.' });
  }
  // Checks the handle before the SQL is read.
  framePath(handle);
  const printing = printingFlag(args, target);
  if (printing === undefined) return { handle, ttl: ttlOf(args) };
  throw new CliError('usage', `--keep and ${printing} cannot be combined.`, {
    hint: `--keep prints no rows; svc get ${handle} does.`,
  });
}

/** True if a prompt can print a result in a format. */
function isPrintable(format: ResultFormat, engine: string | undefined): boolean {
  const isText = format !== 'arrow' && format !== 'parquet';
  return isText && (engine === 'local' || engine === 'scheduler' || DATABASE_FORMATS.has(format));
}

function checkPrompt({ format, file }: ResultTarget, keep: Kept | undefined): void {
  if (format === 'table' && file === undefined && keep === undefined) return;
  throw new CliError('usage', 'No SQL is given, and a prompt prints tables only.', {
    hint: 'Give the SQL as an argument; in the prompt, \\format sets the format.',
  });
}

function checkParam(text: string): string {
  const given = `--param ${JSON.stringify(text)}`;
  const value = parseJson(text);
  if (value === undefined) {
    throw new CliError('usage', `${given} is not JSON.`, {
      hint: `Write a string in double quotes inside single quotes: --param '${JSON.stringify(text)}'.`,
    });
  }
  if (value === Infinity || value === -Infinity) {
    throw new CliError('usage', `${given} is outside the range of DOUBLE.`, {
      hint: 'Write it as a string, and cast it in the SQL.',
    });
  }
  if (typeof value !== 'object' || value === null) return text;
  throw new CliError('usage', `${given} is an array or an object, not a value for SQL.`, {
    hint: 'Give one value for each parameter: --param 1 --param 2.',
  });
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

const MAX_SQL_BYTES = 1024 * 1024;

/** Reads SQL from a file, or from standard input for `-`. */
async function readSql(file: string, { stdin }: Context): Promise<string> {
  const name = file === DASH ? 'on standard input' : `in ${JSON.stringify(file)}`;
  const source = await openSource(file, stdin);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let sql = '';
  let bytes = 0;
  try {
    for await (const chunk of source.chunks) {
      bytes += chunk.length;
      if (bytes > MAX_SQL_BYTES) {
        throw new CliError('usage', `The SQL ${name} is longer than 1 MiB.`, {
          hint: 'Split it into shorter queries.',
        });
      }
      sql += decode(decoder, name, chunk);
    }
  } finally {
    await source.close();
  }
  return sql + decode(decoder, name);
}

function decode(decoder: TextDecoder, name: string, chunk?: Uint8Array): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw new CliError('usage', `The SQL ${name} is not UTF-8.`, { hint: 'Save it as UTF-8.' });
  }
}
