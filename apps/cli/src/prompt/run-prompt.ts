import { createInterface, type Interface } from 'node:readline/promises';
import { CliError, OutputClosedError } from '../errors/cli-error.ts';
import type { Context, Terminal } from '../args/command.ts';
import { printError } from '../output/print-error.ts';
import { type History, MAX_ENTRIES } from './history.ts';
import { createLineQueue } from './line-queue.ts';
import type { PromptSession } from './prompt-session.ts';
import { isBlank, onOneLine, splitSql } from './split-sql.ts';

const PROMPT = 'svc> ';
const CONTINUED = '  -> ';

/** What a prompt needs. */
export interface PromptOptions {
  readonly terminal: Terminal;
  readonly session: PromptSession;
  readonly history: History;
  readonly context: Pick<Context, 'stdout' | 'stderr'>;
}

/** Reads lines and does what they say, until Ctrl-D or `\q`. */
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

  /** Remembers what was typed and does it; Ctrl-C ends this, and this alone. */
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
    // The end of the line, and all before it: readline has no other way to drop what is typed.
    rl.write(null, { ctrl: true, name: 'e' });
    rl.write(null, { ctrl: true, name: 'u' });
    terminal.output.write('^C\n');
    show();
  });
  function show(): void {
    // What was typed before the end of the input is still done; newer versions of Node ask for no more then.
    if (lines.isClosed) return;
    rl.setPrompt(isBlank(typed) ? PROMPT : CONTINUED);
    rl.prompt();
  }

  try {
    await context.stdout.write('SQL ends with a semicolon; \\help says what else there is.\n');
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

/** Whole statements are remembered, where readline would remember each of their lines. */
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
