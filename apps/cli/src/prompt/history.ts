import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Context } from '../args/command.ts';
import { errorCode } from '../errors/error-code.ts';

/** The history of this prompt and of earlier ones. */
export interface History {
  /** Newest first. */
  readonly entries: readonly string[];
  /** Saves a line for the next prompt. */
  add(entry: string): Promise<void>;
}

/** The maximum entries of a prompt. */
export const MAX_ENTRIES = 1000;
/** A longer file is truncated on load. Until then it only grows by appends, which concurrent prompts can share. */
const MAX_FILE_ENTRIES = 2 * MAX_ENTRIES;
const MAX_ENTRY_LENGTH = 10_000;

/** Returns the path of the history file; undefined if history is off. */
export function historyFile({ env, homeDir }: Pick<Context, 'env' | 'homeDir'>): string | undefined {
  const named = env['SVC_HISTORY'];
  if (named !== undefined) return named === '' ? undefined : named;
  const state = env['XDG_STATE_HOME'] || (homeDir && join(homeDir, '.local', 'state'));
  return state ? join(state, 'svc', 'history') : undefined;
}

/** Loads the history. Ignores a file that cannot be read or written: the prompt works without it. */
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
