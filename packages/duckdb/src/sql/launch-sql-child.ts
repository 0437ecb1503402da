import { availableParallelism } from 'node:os';
import { type ChildInDirectory, launchInDirectory } from '../engine/child-directory.ts';
import { COMMON_SETTINGS, launchProgram } from '../engine/launch-child.ts';
import { sqlText } from '../wire/sql-names.ts';
import { countedBytes } from './counted-bytes.ts';
import { type ProcessPriority, processPriority } from './process-priority.ts';

/** The resource limits of a statement. */
export interface SqlChildOptions {
  /** Where statements spill data that does not fit into memory, each into a private directory. */
  readonly tempDirectory: string;
  /** The memory limit of one statement. Default 1 GiB. */
  readonly memoryBytes?: number;
  /** The spill limit of one statement. Default: ten times its memory. */
  readonly maxTempBytes?: number;
  /** The number of threads of one statement. Default: one per core. */
  readonly threads?: number;
}

const DEFAULT_MEMORY_BYTES = 1024 ** 3;
/** Additional memory for Node and everything that DuckDB does not count. */
const OVERHEAD_BYTES = 512 * 1024 ** 2;
/** The stack of a thread, which the system counts in full. */
const THREAD_BYTES = 8 * 1024 ** 2;
/** The system also counts freed memory that the allocator keeps for reuse. */
const COUNTED_AGAIN = 1.5;
/** Enough for one statement and the one that interrupts it. */
const POOL_THREADS = 4;

/** A child for client SQL, with its directory. */
export interface LaunchedSqlChild extends ChildInDirectory {
  /** Whether another statement could still get its full memory: DuckDB does not always return what earlier ones used. */
  hasRoom(): boolean;
  readonly priority: ProcessPriority;
}

/** Starts a child for client SQL, in a private directory that is removed when it exits. */
export function launchSqlChild(options: SqlChildOptions): LaunchedSqlChild {
  const { tempDirectory, memoryBytes = DEFAULT_MEMORY_BYTES, threads = availableParallelism() } = options;
  const { maxTempBytes = 10 * memoryBytes } = options;
  const maxBytes = COUNTED_AGAIN * memoryBytes + threads * THREAD_BYTES + OVERHEAD_BYTES;
  const launched = launchInDirectory(tempDirectory, DIRECTORY_PREFIX, (directory) =>
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

/** For a process that could not be started. */
const NO_PRIORITY: ProcessPriority = { lower: () => undefined, restore: () => true };

/** The name prefix of these children's directories. */
export const DIRECTORY_PREFIX = 'svc-sql-';
