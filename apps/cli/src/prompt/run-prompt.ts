import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline/promises';
import type { Context, Terminal } from '../args/command.ts';
import { CliError, errorCode, OutputClosedError } from '../errors.ts';
import { printError } from '../output/output.ts';
import { createPromptSession, type PromptSessionOptions } from './prompt-session.ts';

const PROMPT = 'svc> ';
const CONTINUED = '  -> ';

/** Runs the prompt of `svc query`, with the history of the user, until Ctrl-D or `\q`. */
export async function runPrompt(terminal: Terminal, context: Context, options: PromptSessionOptions): Promise<void> {
  const session = createPromptSession(options);
  const history = await loadHistory(historyFile(context));
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

/** Creates a queue of typed lines, also while no reader waits. Lines may still be queued when the input has ended. */
function createLineQueue(rl: Interface) {
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
    /** Resolves to the next line; undefined at the end. */
    async next(): Promise<string | undefined> {
      if (lines.length > 0 || isClosed) return lines.shift();
      return new Promise((resolve) => (take = resolve));
    },
    drop: () => void lines.splice(0),
    get isClosed() {
      return isClosed;
    },
  };
}

/**
 * A comment, a quoted string or name (an unterminated one takes the rest), a dollar-quoted string, a semicolon, or any
 * other text up to the next of these.
 */
const PIECE =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|(\$\w*\$)[^]*?(?:\1|$)|;|[^-/'"$;]+|[^]/g;

/** Splits SQL at the semicolons outside of quotes and comments. */
export function splitSql(text: string): { readonly statements: readonly string[]; readonly rest: string } {
  const statements: string[] = [];
  let start = 0;
  for (const { 0: piece, index } of text.matchAll(PIECE)) {
    if (piece !== ';') continue;
    statements.push(text.slice(start, index).trim());
    start = index + 1;
  }
  return { statements: statements.filter((sql) => !isBlank(sql)), rest: text.slice(start) };
}

/** True if the SQL is only white space and comments. */
export function isBlank(text: string): boolean {
  return [...text.matchAll(PIECE)].every(([piece]) => /^(?:--|\/\*)/.test(piece) || piece.trim() === '');
}

/** Joins SQL into one line, without comments; undefined if the statement would change. */
export function onOneLine(text: string): string | undefined {
  const pieces = [...text.matchAll(PIECE)].map(([piece]) => piece);
  if (pieces.some((piece) => /^['"$]/.test(piece) && piece.includes('\n'))) return undefined;
  return pieces
    .map((piece) => (/^(?:--|\/\*)/.test(piece) ? ' ' : piece))
    .map((piece) => (/^['"$]/.test(piece) ? piece : piece.replaceAll(/\s*\n\s*/g, ' ')))
    .join('')
    .trim();
}

/** The history of this prompt and of earlier ones. */
export interface History {
  /** Newest first. */
  readonly entries: readonly string[];
  /** Saves a line for the next prompt. */
  add(entry: string): Promise<void>;
}

/** The maximum entries of a prompt. */
export const MAX_ENTRIES = 1000;
/** A longer file is truncated on load. Until then it only grows by appends, for concurrent prompts. */
const MAX_FILE_ENTRIES = 2 * MAX_ENTRIES;
const MAX_ENTRY_LENGTH = 10_000;

/** Returns the path of the history file; undefined if history is off. */
export function historyFile({ env, homeDir }: Pick<Context, 'env' | 'homeDir'>): string | undefined {
  const named = env['SVC_HISTORY'];
  if (named !== undefined) return named === '' ? undefined : named;
  const state = env['XDG_STATE_HOME'] || (homeDir && join(homeDir, '.local', 'state'));
  return state ? join(state, 'svc', 'history') : undefined;
}

/** Loads the history. The prompt works without a readable or writable file. */
export async function loadHistory(file: string | undefined): Promise<History> {
  if (file === undefined) return { entries: [], add: async () => {} };
  const lines = await readLines(file);
  if (lines.length > MAX_FILE_ENTRIES) {
    await writeFile(file, lines.slice(-MAX_ENTRIES).map(toLine).join(''), { mode: 0o600 }).catch(() => {});
  }
  return {
    entries: lines.slice(-MAX_ENTRIES).toReversed(),
    async add(entry) {
      if (entry.length > MAX_ENTRY_LENGTH) return;
      try {
        await mkdir(dirname(file), { recursive: true, mode: 0o700 });
        await appendFile(file, toLine(entry), { mode: 0o600 });
      } catch (error) {
        if (errorCode(error) === undefined) throw error;
      }
    },
  };
}

async function readLines(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

function toLine(entry: string): string {
  return `${entry}\n`;
}
