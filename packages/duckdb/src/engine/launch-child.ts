import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { ChildSettings } from '../wire/file-requests.ts';
import { type BatchFile, openBatchFile } from '../wire/batch-file.ts';
import { reservedBytes } from './reserved-bytes.ts';
import { sqlText } from '../wire/sql-names.ts';

/** How engine children are made. */
export interface ChildOptions {
  /**
   * Where DuckDB may put what does not fit into its memory, each child into a private directory that ends with it;
   * uploads always fit.
   */
  readonly tempDirectory: string;
  /** What DuckDB may use to read and to convert files, and as much again for uploads. Default: 1 GiB. */
  readonly memoryBytes?: number;
  /** How many threads DuckDB has. Default: 2. */
  readonly threads?: number;
}

/** A process that was started, and the pipe to it. */
export interface LaunchedChild {
  readonly process: ChildProcess;
  readonly socket: Socket;
  /** What long batches come through; undefined where there is none. */
  readonly batchFile: BatchFile | undefined;
}

// The built program, also for the source beside it: Node does not run TypeScript everywhere this runs.
const PROGRAM = fileURLToPath(new URL('../../dist/child/main.js', import.meta.url));
const SHELL = '/bin/sh';

const DEFAULT_MEMORY_BYTES = 1024 ** 3;
const DEFAULT_THREADS = 2;
/** What Node, the pipe and everything that DuckDB does not count may take in addition. */
const OVERHEAD_BYTES = 1024 ** 3;
/** The system counts memory that was freed and may be used again, too. */
const COUNTED_TWICE = 2;
/** What DuckDB may spill, as a multiple of its memory. */
const SPILL_PER_MEMORY = 10;
/** Each query and each file operation holds one while it runs. */
const POOL_THREADS = 32;
/** One that reads and converts files, one that writes uploads. */
const INSTANCES = 2;

/** What a child is started with. */
export interface ChildProgram {
  readonly settings: ChildSettings;
  /** What it may take of the system's memory, all in all. */
  readonly maxBytes: number;
  /** How many queries and file operations can run at once. */
  readonly poolThreads: number;
  /** Its current and home directory. Default: those of this process. */
  readonly directory?: string;
}

/** Starts a child that reads and writes the files of frames. It spills into a directory of its own, if it has one. */
export function launchChild(options: ChildOptions, spillDirectory = ''): LaunchedChild {
  const { memoryBytes = DEFAULT_MEMORY_BYTES } = options;
  return launchProgram({
    settings: {
      settings: duckdbSettings({ ...options, tempDirectory: spillDirectory }),
      // The rows of an upload come one after the other: a second thread would wait for them, and burn a core with that.
      // It holds one row group of each upload, and has no folder: two instances would write over each other's files.
      uploadSettings: duckdbSettings({ ...options, threads: 1, tempDirectory: '' }),
    },
    maxBytes: COUNTED_TWICE * INSTANCES * memoryBytes + OVERHEAD_BYTES,
    poolThreads: POOL_THREADS,
  });
}

/** Starts a child. Its memory is bounded by the system where there is a shell, else by itself. */
export function launchProgram({ settings, maxBytes, poolThreads, directory }: ChildProgram): LaunchedChild {
  const hasShell = existsSync(SHELL);
  const batchFile = openBatchFile();
  const childSettings: ChildSettings = {
    ...settings,
    ...(!hasShell && { maxRssBytes: maxBytes }),
    ...(batchFile && { hasBatchFile: true }),
  };
  const command = [process.execPath, PROGRAM, JSON.stringify(childSettings)];
  const spawnOptions: SpawnOptions = {
    // A socket of its own: standard output would block the child while nobody reads.
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', ...(batchFile ? [batchFile.descriptor] : [])],
    ...(directory !== undefined && { cwd: directory }),
    // Of glibc: with a heap for each thread, what is free in one is of no use to the others.
    env: {
      PATH: process.env['PATH'],
      HOME: directory ?? process.env['HOME'],
      UV_THREADPOOL_SIZE: String(poolThreads),
      MALLOC_ARENA_MAX: '2',
    },
  };
  const countedKib = Math.ceil((maxBytes + reservedBytes()) / 1024);
  const [program = '', ...args] = hasShell
    ? [SHELL, '-c', `ulimit -d ${countedKib}; exec "$@"`, SHELL, ...command]
    : command;
  try {
    const child = spawn(program, args, spawnOptions);
    return { process: child, socket: pipeOf(child), batchFile };
  } catch (error) {
    batchFile?.close();
    throw error;
  }
}

/** The pipe to a child: a closed one where the child could not be started, of which an event tells only later. */
function pipeOf({ stdio = [] }: { readonly stdio?: readonly unknown[] }): Socket {
  const socket = stdio[3];
  return socket instanceof Socket ? socket : new Socket().destroy();
}

/** How DuckDB is set up in every child. */
export const COMMON_SETTINGS = [
  'SET autoinstall_known_extensions = false',
  'SET autoload_known_extensions = false',
  'SET allow_community_extensions = false',
  'SET preserve_insertion_order = true',
  'SET enable_progress_bar = false',
  "SET TimeZone = 'UTC'",
  // Geometries stay the bytes they are.
  'SET GLOBAL enable_geoparquet_conversion = false',
];

function duckdbSettings({
  tempDirectory,
  memoryBytes = DEFAULT_MEMORY_BYTES,
  threads = DEFAULT_THREADS,
}: ChildOptions): string[] {
  return [
    `SET memory_limit = '${memoryBytes}B'`,
    `SET temp_directory = ${sqlText(tempDirectory)}`,
    `SET max_temp_directory_size = '${SPILL_PER_MEMORY * memoryBytes}B'`,
    `SET threads = ${threads}`,
    ...COMMON_SETTINGS,
    // A file is read before the last numbers are written into it.
    'SET enable_external_file_cache = false',
    'SET lock_configuration = true',
  ];
}
