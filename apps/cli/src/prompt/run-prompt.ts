import { createInterface, type Interface } from 'node:readline/promises';
import type { Context, Terminal } from '../args/command.ts';
import { CliError, OutputClosedError } from '../errors/cli-error.ts';
import { printError } from '../output/print-error.ts';
import { type History, MAX_ENTRIES } from './history.ts';
import type { PromptSession } from './prompt-session.ts';

const PROMPT = 'svc> ';
const CONTINUED = '  -> ';

/** Options of a prompt. */
export interface PromptOptions {
  readonly terminal: Terminal;
  readonly session: PromptSession;
  readonly history: History;
  readonly context: Pick<Context, 'stdout' | 'stderr'>;
}

/** Reads and executes lines until Ctrl-D or `\q`. */
export async function runPrompt({ terminal, session, history, context }: PromptOptions): Promise<void> {
  let typed = '';
  let running: AbortController | undefined;
  const remembered = [...history.entries];
  const rl = createInterface({
    ...terminal,
    terminal: true,
    history: [...remembered],
    historySize: MAX_ENTRIES,
    completer: (line: string) => session.complete(line, typed),
  });
  const lines = createLineQueue(rl);
  const remember = rememberStatements(rl, remembered, history);

  /** Saves the entry to the history and runs it; Ctrl-C cancels only this run. */
  async function attempt<T>(entry: string, run: (signal: AbortSignal) => Promise<T>): Promise<T | 'failed'> {
    const controller = new AbortController();
    running = controller;
    try {
      await remember(entry);
      controller.signal.throwIfAborted();
      return await run(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) await context.stderr.write('Cancelled.\n');
      else if (error instanceof CliError) await printError(error, context.stderr);
      else throw error;
      return 'failed';
    } finally {
      running = undefined;
    }
  }

  rl.on('SIGINT', () => {
    lines.drop();
    if (running !== undefined) return running.abort();
    typed = '';
    // Moves to the end of the line and deletes back to its start: readline has no other way to clear the input.
    rl.write(null, { ctrl: true, name: 'e' });
    rl.write(null, { ctrl: true, name: 'u' });
    terminal.output.write('^C\n');
    show();
  });
  function show(): void {
    // Lines queued before the end of the input still run; newer versions of Node refuse to prompt then.
    if (lines.isClosed) return;
    rl.setPrompt(isBlank(typed) ? PROMPT : CONTINUED);
    rl.prompt();
  }

  try {
    await context.stdout.write('End SQL with a semicolon; \\help lists the commands.\n');
    for (;;) {
      show();
      const line = await lines.next();
      if (line === undefined) return void terminal.output.write('\n');
      const word = isBlank(typed) ? line.trim() : '';
      if (word === 'exit' || word === 'quit') return;
      if (word.startsWith('\\') || word === 'help') {
        const outcome = await attempt(word, (signal) => session.runCommand(word === 'help' ? '\\help' : word, signal));
        if (outcome === 'end') return;
        continue;
      }
      const { statements, rest } = splitSql(`${typed}${line}\n`);
      typed = isBlank(rest) ? '' : rest;
      for (const sql of statements) {
        const outcome = await attempt(`${onOneLine(sql) ?? ''};`, (signal) => session.runStatement(sql, signal));
        if (outcome === 'failed') break;
      }
    }
  } catch (error) {
    if (!(error instanceof OutputClosedError)) throw error;
  } finally {
    rl.close();
  }
}

/** Saves whole statements: readline would save each line. */
function rememberStatements(rl: Interface, entries: string[], history: History): (entry: string) => Promise<void> {
  let shown: string[] = [];
  const update = (): void => void shown.splice(0, shown.length, ...entries);
  rl.on('history', (all) => {
    shown = all;
    update();
  });
  return async (entry) => {
    if (entry === ';' || entry === entries[0]) return;
    entries.unshift(entry);
    entries.splice(MAX_ENTRIES);
    update();
    await history.add(entry);
  };
}

/** A queue of typed lines, including those that arrive while no reader waits. */
interface LineQueue {
  /** Resolves to the next line; undefined at the end. */
  next(): Promise<string | undefined>;
  /** Discards the queued lines. */
  drop(): void;
  /** Whether the input has ended; lines may still be queued. */
  readonly isClosed: boolean;
}

/** Creates a queue of the lines of a readline interface. */
function createLineQueue(rl: Interface): LineQueue {
  const lines: string[] = [];
  let isClosed = false;
  let take: ((line: string | undefined) => void) | undefined;
  rl.on('line', (line) => {
    if (take === undefined) lines.push(line);
    else take(line);
    take = undefined;
  });
  rl.on('close', () => {
    isClosed = true;
    take?.(undefined);
  });
  return {
    async next() {
      if (lines.length > 0 || isClosed) return lines.shift();
      return new Promise((resolve) => (take = resolve));
    },
    drop: () => void lines.splice(0),
    get isClosed() {
      return isClosed;
    },
  };
}

/** Typed SQL, split into statements. */
interface SplitSql {
  /** Complete statements, without the semicolon. */
  readonly statements: readonly string[];
  /** The text after the last semicolon. */
  readonly rest: string;
}

/**
 * A comment, a quoted string or name (an unterminated one takes the rest), a dollar-quoted string, a semicolon, or any
 * other text up to the next of these.
 */
const PIECE =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|(\$\w*\$)[^]*?(?:\1|$)|;|[^-/'"$;]+|[^]/g;

/** Splits SQL at the semicolons that are neither quoted nor in a comment. */
export function splitSql(text: string): SplitSql {
  const statements: string[] = [];
  let start = 0;
  for (const { 0: piece, index } of text.matchAll(PIECE)) {
    if (piece !== ';') continue;
    statements.push(text.slice(start, index).trim());
    start = index + 1;
  }
  return { statements: statements.filter((sql) => !isBlank(sql)), rest: text.slice(start) };
}

/** Whether the SQL is only white space and comments. */
export function isBlank(text: string): boolean {
  return [...text.matchAll(PIECE)].every(([piece]) => /^(?:--|\/\*)/.test(piece) || piece.trim() === '');
}

/** Joins SQL into one line, without comments; undefined if that would change the statement. */
export function onOneLine(text: string): string | undefined {
  const pieces = [...text.matchAll(PIECE)].map(([piece]) => piece);
  if (pieces.some((piece) => /^['"$]/.test(piece) && piece.includes('\n'))) return undefined;
  return pieces
    .map((piece) => (/^(?:--|\/\*)/.test(piece) ? ' ' : piece))
    .map((piece) => (/^['"$]/.test(piece) ? piece : piece.replaceAll(/\s*\n\s*/g, ' ')))
    .join('')
    .trim();
}
