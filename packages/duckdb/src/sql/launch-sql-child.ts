import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism, constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { lockDirectory } from '../directory-lock.ts';
import { type ChildProgram, COMMON_SETTINGS, type LaunchedChild, launchProgram } from '../pipe-launch.ts';
import { sweepAbandoned } from '../private-directory.ts';
import { sqlText } from '../storage-types-names.ts';
import { countedBytes } from './counted-bytes.ts';

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

/** A child for SQL of clients, and its folder. */
export interface LaunchedSqlChild extends LaunchedChild {
  /** Whether a statement still finds the memory it may take: what earlier ones took is not always given back. */
  hasRoom(): boolean;
  /** Resolves when the child has ended and its folder is gone. */
  readonly removed: Promise<void>;
}

/** Starts a child for SQL of clients, in a folder that goes when it has ended. */
export function launchSqlChild(options: SqlChildOptions): LaunchedSqlChild {
  const { tempDirectory, memoryBytes = DEFAULT_MEMORY_BYTES, threads = availableParallelism() } = options;
  const { maxTempBytes = 10 * memoryBytes } = options;
  const maxBytes = COUNTED_AGAIN * memoryBytes + threads * THREAD_BYTES + OVERHEAD_BYTES;
  const directory = mkdtempSync(join(tempDirectory, `${FOLDER_PREFIX}${process.pid}-`));
  const launched = launchIn(directory, {
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
    maxBytes,
    poolThreads: POOL_THREADS,
  });
  const { pid } = launched.process;
  lowerPriority(pid);
  return {
    ...launched,
    hasRoom: () => pid === undefined || countedBytes(pid) <= maxBytes - memoryBytes,
    removed: removeAfter(launched.process, directory),
  };
}

function launchIn(directory: string, program: Omit<ChildProgram, 'directory'>): LaunchedChild {
  try {
    return launchProgram({ ...program, directory });
  } catch (error) {
    rmdirSync(directory);
    throw error;
  }
}

/** Holds the folder of a child, so that nobody else sweeps it, and removes it when the child has ended. */
async function removeAfter(child: ChildProcess, directory: string): Promise<void> {
  // Where there is no room even for that, the folder is as old as it looks.
  const holding = lockDirectory(directory).catch(() => undefined);
  // One that could not be started has ended too.
  await once(child, 'close').catch(() => undefined);
  await (await holding)?.release().catch(() => undefined);
  // What cannot be removed is swept later.
  await rm(directory, { recursive: true, force: true }).catch(() => undefined);
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
const FOLDER = new RegExp(`^${FOLDER_PREFIX}\\d+-`);

/** Removes the folders of processes of this user that were killed before they could. */
export async function sweepFolders(tempDirectory: string): Promise<void> {
  // A directory that cannot be listed has none that can be used.
  await sweepAbandoned(tempDirectory, FOLDER).catch(() => undefined);
}
