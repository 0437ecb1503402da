import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmdirSync } from 'node:fs';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { lockDirectory } from '../disk/directory-lock.ts';
import { createEndingDirectory, type PrivateDirectory } from '../disk/private-directory.ts';
import { type BatchFile, openBatchFile } from '../wire/batch.ts';
import type { ChildSettings } from '../wire/requests.ts';
import { sqlText } from '../wire/sql-names.ts';

/** Options of an engine child. */
export interface ChildOptions {
  /**
   * Where DuckDB spills data beyond its memory. Each child spills into a private directory, removed when it exits. Uploads
   * never spill.
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
/** Additional memory for Node, the pipe and everything not counted by DuckDB. */
const OVERHEAD_BYTES = 1024 ** 3;
/** The system also counts freed memory kept by the allocator for reuse. */
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
  /** The most queries and file operations at once. */
  readonly poolThreads: number;
  /** Its working and home directory. Default: those of this process. */
  readonly directory?: string;
}

/** Starts a child for frame files. Without a spill directory, it keeps everything in memory. */
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

/** The pipe to a child; a destroyed socket if the child could not be started. An event reports this later. */
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

/** A child with a private directory for its temporary files. */
export interface ChildInDirectory extends LaunchedChild {
  /** Resolves when the child has exited and its directory is removed. */
  readonly removed: Promise<void>;
}

/**
 * Starts a child with a private directory, and removes it when the child exits. DuckDB uses fixed names for its spill
 * files: two instances in one directory would read each other's data.
 */
export function launchInDirectory(
  parent: string,
  prefix: string,
  launch: (directory: string) => LaunchedChild,
): ChildInDirectory {
  return launchIn(makeDirectory(parent, prefix), launch);
}

/** Like `launchInDirectory`, but without a directory if none can be created: the child then keeps everything in memory. */
export function launchInDirectoryIfPossible(
  parent: string,
  prefix: string,
  launch: (directory: string | undefined) => LaunchedChild,
): ChildInDirectory {
  let directory: PrivateDirectory;
  try {
    directory = makeDirectory(parent, prefix);
  } catch {
    const launched = launch(undefined);
    return { ...launched, removed: endOf(launched.process) };
  }
  return launchIn(directory, launch);
}

function makeDirectory(parent: string, prefix: string): PrivateDirectory {
  return createEndingDirectory(parent, `${prefix}${process.pid}-`);
}

function launchIn(directory: PrivateDirectory, launch: (directory: string) => LaunchedChild): ChildInDirectory {
  try {
    const launched = launch(directory.path);
    return { ...launched, removed: removeAfter(launched.process, directory) };
  } catch (error) {
    rmdirSync(directory.path);
    throw error;
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  // If it could not be started, it has ended, too.
  await once(child, 'close').catch(() => undefined);
}

/** Locks the directory of a child against the sweep of another process, and removes it when the child exits. */
async function removeAfter(child: ChildProcess, directory: PrivateDirectory): Promise<void> {
  // Without a lock, for example on a full disk, the directory may be swept by its age.
  const holding = lockDirectory(directory.path).catch(() => undefined);
  await endOf(child);
  await (await holding)?.release().catch(() => undefined);
  // If it cannot be removed, it is swept later.
  await directory.remove().catch(() => undefined);
}

let reserved: number | undefined;

/**
 * The address space reserved for code by this version of Node in every process. The system counts it as memory: half a
 * GiB in newer versions, mostly unused. 0 if the system does not report it.
 */
export function reservedBytes(): number {
  if (reserved !== undefined) return reserved;
  reserved = 0;
  try {
    for (const [, start = '', end = ''] of readFileSync('/proc/self/maps', 'latin1').matchAll(/^(\w+)-(\w+) rwxp /gm)) {
      reserved += Number.parseInt(end, 16) - Number.parseInt(start, 16);
    }
  } catch {
    reserved = 0;
  }
  return reserved;
}
