import { availableParallelism } from 'node:os';
import { type ChildInDirectory, launchInDirectory } from '../engine/child-directory.ts';
import { COMMON_SETTINGS, launchProgram } from '../engine/launch-child.ts';
import { sqlText } from '../wire/sql-names.ts';
import { countedBytes } from './counted-bytes.ts';
import { type ProcessPriority, processPriority } from './process-priority.ts';

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
export interface LaunchedSqlChild extends ChildInDirectory {
  /** Whether a statement still finds the memory it may take: what earlier ones took is not always given back. */
  hasRoom(): boolean;
  readonly priority: ProcessPriority;
}

/** Starts a child for SQL of clients, in a folder that goes when it has ended. */
export function launchSqlChild(options: SqlChildOptions): LaunchedSqlChild {
  const { tempDirectory, memoryBytes = DEFAULT_MEMORY_BYTES, threads = availableParallelism() } = options;
  const { maxTempBytes = 10 * memoryBytes } = options;
  const maxBytes = COUNTED_AGAIN * memoryBytes + threads * THREAD_BYTES + OVERHEAD_BYTES;
  const launched = launchInDirectory(tempDirectory, FOLDER_PREFIX, (directory) =>
    launchProgram({
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
      directory,
    }),
  );
  const { pid } = launched.process;
  return {
    ...launched,
    hasRoom: () => pid === undefined || countedBytes(pid) <= maxBytes - memoryBytes,
    priority: pid === undefined ? NO_PRIORITY : processPriority(pid),
  };
}

/** Of a process that could not be started. */
const NO_PRIORITY: ProcessPriority = { lower: () => undefined, restore: () => true };

/** How the names of folders of children begin. */
export const FOLDER_PREFIX = 'svc-sql-';
