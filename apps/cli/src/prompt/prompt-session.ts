import type { Context } from '../args/command.ts';
import type { ResultTarget } from '../args/formats.ts';
import { type Client, readResponse } from '../client/client.ts';
import { defaultEngine, framePath, listFrames } from '../client/requests.ts';
import { FRAME } from '../client/server-responses.ts';
import { CliError } from '../errors.ts';
import { frameLine, withNearestHandle } from '../frames/frame-requests.ts';
import { isWrite, parseWrite, runSql, writeSql } from '../frames/sql.ts';
import type { WithWriter } from '../frames/with-client.ts';
import { printFrame, printFrameList } from '../output/print-frames.ts';
import type { PrintRowsOptions } from '../output/print-result.ts';
import { drawChart, type Series } from './chart.ts';
import { type Completed, completeSql, createKnownFrames } from './complete-sql.ts';
import { nearestHint } from '../text.ts';

/** Executes the input of a prompt. */
export interface PromptSession {
  /** Runs a statement and prints its result. */
  runStatement(sql: string, signal: AbortSignal): Promise<void>;
  /** Runs a backslash command; `end`: the prompt ends. */
  runCommand(line: string, signal: AbortSignal): Promise<'end' | 'more'>;
  /** Completes the last word of a line; `before` are the lines of the statement before it. */
  complete(line: string, before: string): Promise<Completed>;
}

/** Options of a session. */
export interface PromptSessionOptions {
  readonly client: Client;
  /** Runs a change of frames. */
  readonly withWriter: WithWriter;
  readonly engine: string | undefined;
  readonly params: readonly string[];
  readonly formats: readonly ResultTarget['format'][];
  readonly context: Pick<Context, 'stdout' | 'stderr' | 'signal'>;
  readonly errorWidth: number;
  /** The layout of tables at the start. */
  readonly target: Pick<ResultTarget, 'isExpanded' | 'isWhole'>;
}

const HELP = `End SQL with a semicolon; it may span several lines.
  \\d               list the frames
  \\d <handle>      describe a frame
  \\chart [column]  chart a numeric column of the last result
  \\x               turn one column per line on or off
  \\format [name]   show or set the format of results
  \\timing          turn the timing of statements on or off
  \\help            print this text
  \\q               quit, like Ctrl-D
Tab completes frames, columns and keywords; Ctrl-C cancels the statement or clears the input.
`;

const MORE = 'use \\x or \\format csv';
const COMMANDS = ['\\d', '\\chart', '\\x', '\\format', '\\timing', '\\help', '\\q'];
const MAX_BYTES = 64 * 1024 * 1024;

/** Creates a session of one prompt. */
export function createPromptSession(options: PromptSessionOptions): PromptSession {
  const { client, engine, params, formats, errorWidth, context, target } = options;
  const { stdout } = context;
  let format: ResultTarget['format'] = 'table';
  let { isExpanded } = target;
  let isTimed = false;
  let last: LastResult = { series: [], isCut: false };
  const known = createKnownFrames(client);

  async function describeFrames(handle: string | undefined, signal: AbortSignal): Promise<void> {
    if (handle === undefined) {
      await printFrameList(listFrames(client, undefined, signal), stdout);
      return;
    }
    const request = { method: 'GET', path: framePath(handle), signal } as const;
    const response = await withNearestHandle(client, handle, signal, () => client.send(request));
    await printFrame(await readResponse(response, FRAME, MAX_BYTES), stdout);
  }

  async function setFormat(name: string | undefined): Promise<void> {
    const found = name === undefined ? format : formats.find((one) => one === name);
    if (found === undefined) {
      const hint = `Use \\format ${formats.join(' or \\format ')}.`;
      throw new CliError('usage', `There is no format ${JSON.stringify(name)} here.`, {
        hint: nearestHint(name ?? '', formats, (one) => `\\format ${one}`, hint),
      });
    }
    format = found;
    await stdout.write(`Results are printed as ${format}.\n`);
  }

  const commands: Readonly<Record<string, (argument: string | undefined, signal: AbortSignal) => Promise<void>>> = {
    '\\d': describeFrames,
    '\\chart': (column) => printChart(last, column, stdout),
    '\\format': setFormat,
    '\\x': () => {
      isExpanded = !isExpanded;
      return stdout.write(`Tables have ${isExpanded ? 'one column per line' : 'one row per line'}.\n`);
    },
    '\\timing': () => {
      isTimed = !isTimed;
      return stdout.write(`Times are ${isTimed ? 'shown' : 'no longer shown'}.\n`);
    },
    '\\help': () => stdout.write(HELP),
  };

  async function read(sql: string, signal: AbortSignal): Promise<void> {
    const keeper = createResultKeeper();
    const shown = { format, isExpanded, isWhole: target.isWhole };
    const run = { sql, engine, params, target: shown, more: MORE, output: stdout, context, errorWidth, signal };
    await runSql(client, { ...run, onRows: keeper.onRows });
    last = keeper.result();
  }

  return {
    async runStatement(sql, signal) {
      const startMs = performance.now();
      if (await writeFrames(options, sql, signal)) known.refresh();
      else await read(sql, signal);
      if (isTimed) await stdout.write(`${(performance.now() - startMs).toFixed(1)} ms\n`);
    },

    async runCommand(line, signal) {
      const [name = '', argument, ...more] = line.trim().replace(/;$/, '').split(/\s+/);
      if (name === '\\q') return 'end';
      const run = Object.hasOwn(commands, name) ? commands[name] : undefined;
      if (run === undefined) throw unknownCommand(name);
      if (more.length > 0)
        throw new CliError('usage', `${name} takes one word.`, { hint: '\\help lists the commands.' });
      await run(argument, signal);
      return 'more';
    },

    async complete(line, before) {
      const frames = await known.look();
      const resultColumns = last.series.map(({ name }) => name);
      return completeSql(line, before, { frames, resultColumns, commands: COMMANDS, formats });
    },
  };
}

/** Runs a change of frames; false if the statement is a query, or one for the database. */
async function writeFrames(options: PromptSessionOptions, sql: string, signal: AbortSignal): Promise<boolean> {
  const { client, params, errorWidth, context } = options;
  if (!isWrite(sql)) return false;
  const engine = options.engine ?? (await defaultEngine(client));
  const update = engine === 'tsdb' ? undefined : await parseWrite(sql, errorWidth);
  if (update === undefined) return false;
  const wrote = await options.withWriter((writer) => writeSql(writer, { sql, update, engine, params, signal }));
  await context.stdout.write(typeof wrote === 'string' ? `${wrote}\n` : frameLine(wrote));
  return true;
}

async function printChart(
  { series, isCut }: LastResult,
  column: string | undefined,
  stdout: Context['stdout'],
): Promise<void> {
  const names = series.map(({ name }) => name);
  const chosen = column === undefined && series.length === 1 ? series[0] : series.find(({ name }) => name === column);
  if (chosen === undefined) {
    const what = column === undefined ? 'no column is named' : `it has no numeric column ${JSON.stringify(column)}`;
    throw new CliError('usage', `The last result cannot be drawn: ${what}.`, {
      hint:
        names.length === 0
          ? 'Run a query with numeric columns first, with \\format table or json.'
          : `Use \\chart ${names.join(' or \\chart ')}.`,
    });
  }
  const lines = drawChart(chosen, stdout.width ?? 80);
  const note = isCut ? [`(only the first ${MAX_ROWS} rows)`] : [];
  await stdout.write(`${[...lines, ...note].join('\n')}\n`);
}

function unknownCommand(name: string): CliError {
  return new CliError('usage', `There is no command ${JSON.stringify(name).replace('\\\\', '\\')}.`, {
    hint: nearestHint(name, COMMANDS, (command) => command, '\\help lists the commands.'),
  });
}

/** The numbers of the last result. */
interface LastResult {
  readonly series: readonly Series[];
  /** The result had more rows. */
  readonly isCut: boolean;
}

/** Collects the numbers of a result while it is printed. */
interface ResultKeeper {
  readonly onRows: NonNullable<PrintRowsOptions['onRows']>;
  result(): LastResult;
}

/** A chart shows no more rows, and a result may have any length. */
export const MAX_ROWS = 100_000;

/** Creates a keeper for one result. */
export function createResultKeeper(): ResultKeeper {
  let columns: readonly { readonly index: number; readonly name: string; readonly values: number[] }[] | undefined;
  let rows = 0;
  return {
    onRows(all, more) {
      columns ??= all.flatMap(({ name, isNumeric }, index) => (isNumeric ? [{ index, name, values: [] }] : []));
      const kept = more.slice(0, Math.max(0, MAX_ROWS - rows));
      for (const { index, values } of columns) for (const row of kept) values.push(Number(row[index] ?? NaN));
      rows += more.length;
    },
    result: () => ({ series: columns ?? [], isCut: rows > MAX_ROWS }),
  };
}
