import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { ChildSettings } from '../wire/file-requests.ts';
import { type BatchFile, openBatchFile } from '../wire/batch-file.ts';
import { reservedBytes } from './reserved-bytes.ts';
import { sqlText } from '../wire/sql-names.ts';

/** Options of an engine child. */
export interface ChildOptions {
  /**
   * Where DuckDB spills data that does not fit into its memory. Each child spills into a private directory, which is
   * removed when it exits. Uploads never spill.
   */
  readonly tempDirectory: string;
  /** The memory limit of DuckDB for reading and converting files; uploads have the same limit again. Default: 1 GiB. */
  readonly memoryBytes?: number;
  /** The number of DuckDB's threads. Default: 2. */
  readonly threads?: number;
}

/** A started process and the pipe to it. */
export interface LaunchedChild {
  readonly process: ChildProcess;
  readonly socket: Socket;
  /** The file for long batches; undefined if there is none. */
  readonly batchFile: BatchFile | undefined;
}

// Always the built program, even from source: not every supported Node runs TypeScript.
const PROGRAM = fileURLToPath(new URL('../../dist/child/main.js', import.meta.url));
const SHELL = '/bin/sh';

const DEFAULT_MEMORY_BYTES = 1024 ** 3;
const DEFAULT_THREADS = 2;
/** Additional memory for Node, the pipe and everything that DuckDB does not count. */
const OVERHEAD_BYTES = 1024 ** 3;
/** The system also counts freed memory that the allocator keeps for reuse. */
const COUNTED_TWICE = 2;
/** The spill limit as a multiple of the memory limit. */
const SPILL_PER_MEMORY = 10;
/** Each query and each file operation holds one thread while it runs. */
const POOL_THREADS = 32;
/** One instance reads and converts files, one writes uploads. */
const INSTANCES = 2;

/** How to start a child. */
export interface ChildProgram {
  readonly settings: ChildSettings;
  /** The limit of its total memory. */
  readonly maxBytes: number;
  /** The number of queries and file operations that can run at once. */
  readonly poolThreads: number;
  /** Its working and home directory. Default: those of this process. */
  readonly directory?: string;
}

/** Starts a child that reads and writes frame files. Without a spill directory, it keeps everything in memory. */
export function launchChild(options: ChildOptions, spillDirectory = ''): LaunchedChild {
  const { memoryBytes = DEFAULT_MEMORY_BYTES } = options;
  return launchProgram({
    settings: {
      settings: [
        ...duckdbSettings({ ...options, tempDirectory: spillDirectory }),
        "SET allowed_configs = ['streaming_buffer_size']",
        'SET lock_configuration = true',
      ],
      // The rows of an upload arrive in sequence: a second thread would only spin. The instance holds one row group of each
      // upload and has no spill directory: two instances would overwrite each other's files. Not locked: lanes have settings
      // of their own, and it runs no SQL of others.
      uploadSettings: duckdbSettings({ ...options, threads: 1, tempDirectory: '' }),
    },
    maxBytes: COUNTED_TWICE * INSTANCES * memoryBytes + OVERHEAD_BYTES,
    poolThreads: POOL_THREADS,
  });
}

/** Starts a child. The system limits its memory if there is a shell to set the limit; otherwise the child checks itself. */
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
    // A separate socket: writes to standard output would block the child until they are read.
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', ...(batchFile ? [batchFile.descriptor] : [])],
    ...(directory !== undefined && { cwd: directory }),
    // MALLOC_ARENA_MAX is for glibc: with an arena per thread, memory freed in one cannot be reused by the others.
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

/** The pipe to a child; a destroyed socket if the child could not be started, which an event reports later. */
function pipeOf({ stdio = [] }: { readonly stdio?: readonly unknown[] }): Socket {
  const socket = stdio[3];
  return socket instanceof Socket ? socket : new Socket().destroy();
}

/** DuckDB's settings in every child. */
export const COMMON_SETTINGS = [
  'SET autoinstall_known_extensions = false',
  'SET autoload_known_extensions = false',
  'SET allow_community_extensions = false',
  'SET preserve_insertion_order = true',
  'SET enable_progress_bar = false',
  "SET TimeZone = 'UTC'",
  // Keep geometries as plain bytes.
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
    // A file is read before its final metadata is written.
    'SET enable_external_file_cache = false',
  ];
}
