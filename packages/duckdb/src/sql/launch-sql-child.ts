import { mkdtempSync, rmSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { availableParallelism, constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { hasCode } from '../durable-files.ts';
import { COMMON_SETTINGS, type LaunchedChild, launchProgram } from '../pipe-launch.ts';
import { sqlText } from '../storage-types-names.ts';

/** How much a statement may take. */
export interface SqlChildOptions {
  /** Where statements put what does not fit into their memory, each in a folder of its own. */
  readonly tempDirectory: string;
  /** What one statement may use of memory. Default 1 GiB. */
  readonly memoryBytes?: number;
  /** What one statement may put into its folder. Default ten times its memory. */
  readonly maxTempBytes?: number;
  /** How many threads work on one statement. Default: one for each core. */
  readonly threads?: number;
}

const DEFAULT_MEMORY_BYTES = 1024 ** 3;
/** What Node and whatever DuckDB does not count may take in addition. */
const OVERHEAD_BYTES = 512 * 1024 ** 2;
/** The stack of a thread, which the system counts whole. */
const THREAD_BYTES = 8 * 1024 ** 2;
/** The system counts memory that was freed and may be used again, too. */
const COUNTED_AGAIN = 1.5;
/** One statement, and one that ends it. */
const POOL_THREADS = 4;

/** Starts a child for SQL of clients, in a folder that is gone when it has ended. */
export function launchSqlChild(options: SqlChildOptions): LaunchedChild {
  const { tempDirectory, memoryBytes = DEFAULT_MEMORY_BYTES, threads = availableParallelism() } = options;
  const { maxTempBytes = 10 * memoryBytes } = options;
  const directory = mkdtempSync(join(tempDirectory, `${FOLDER_PREFIX}${process.pid}-`));
  const launched = launchProgram({
    settings: {
      settings: [
        ...COMMON_SETTINGS,
        `SET memory_limit = '${memoryBytes}B'`,
        `SET temp_directory = ${sqlText(directory)}`,
        `SET max_temp_directory_size = '${maxTempBytes}B'`,
        `SET threads = ${threads}`,
        'SET GLOBAL errors_as_json = true',
      ],
      isLocked: true,
    },
    maxBytes: COUNTED_AGAIN * memoryBytes + threads * THREAD_BYTES + OVERHEAD_BYTES,
    poolThreads: POOL_THREADS,
    directory,
  });
  lowerPriority(launched.process.pid);
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  launched.process.once('close', remove);
  launched.process.once('error', remove);
  return launched;
}

/** A statement may want every core there is: who only reads a frame goes first. */
function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended already, or the system does not let it be: it is as important as the rest then.
  }
}

/** How the names of folders of children begin. */
export const FOLDER_PREFIX = 'svc-sql-';
const FOLDER = new RegExp(`^${FOLDER_PREFIX}(\\d+)-`);

/** Removes the folders of processes of this user that were killed before they could. */
export async function sweepFolders(tempDirectory: string): Promise<void> {
  const names = await readdir(tempDirectory).catch(() => []);
  for (const name of names) {
    const pid = Number(FOLDER.exec(name)?.[1] ?? process.pid);
    if (!isRunning(pid)) await removeOwn(join(tempDirectory, name)).catch(() => undefined);
  }
}

async function removeOwn(path: string): Promise<void> {
  const entry = await lstat(path);
  const isOwn = entry.isDirectory() && entry.uid === (process.getuid?.() ?? entry.uid);
  if (isOwn) await rm(path, { recursive: true, force: true });
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It may be somebody else's.
    return !hasCode(error, 'ESRCH');
  }
}
