import { tmpdir } from 'node:os';
import type { Config } from '@svc/config';
import {
  type ChildLink,
  createDurableStore,
  createFrameFiles,
  createParquetEncoder,
  createSqlEngine,
  type DuckdbFrameFiles,
  type DurableStore,
  type FrameCacheState,
  type OnSpans,
  type StoreProblem,
} from '@svc/duckdb';
import { createPrivateDirectory } from '@svc/duckdb/internal';
import { createDecoders, type Engine, type ParquetEncoder, type PinnableFrames, type Store } from '@svc/frames';
import type { EngineChild, Observer } from '@svc/service';
import type { Log } from '../observers/log.ts';

const GIGABYTE = 1e9;
/** Short responses and rows as text are small beside the frames that they come from. */
const ANSWER_SHARE = 1 / 12;
/** Many of them would make garbage collections long. */
const MAX_ANSWER_BYTES = 512 * 1024 ** 2;

/** Divides the memory of the caches. */
export function cacheShares({ storage }: Config): { readonly answerBytes: number; readonly frameBytes: number } {
  const bytes = storage.cache_size_gb * GIGABYTE;
  const answerBytes = Math.min(Math.floor(bytes * ANSWER_SHARE), MAX_ANSWER_BYTES);
  return { answerBytes, frameBytes: Math.floor(bytes) - answerBytes };
}

/** The memory budget of all concurrent decodes; each takes a few megabytes, independent of the upload size. */
const DECODE_BYTES = 1e9;
/** Delays the SQL children: on a small machine, the child for frames needs the cores first. */
const SQL_AHEAD_MS = 1000;

/** The frames cannot be stored in the configured directory; the message names the directory and the setting. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
}

/** A store, its SQL engine, and its Parquet encoder. */
export interface OpenedStore {
  readonly store: Store;
  /** Its frames as files, for other engines. */
  readonly frames: PinnableFrames;
  readonly local: Engine;
  readonly encodeParquet: ParquetEncoder;
  /** Returns the state of the frames in memory. */
  readonly frameCache: () => FrameCacheState;
}

/** Opens the store of a configuration. Without a path, its files are in a temporary directory, removed with it. */
export async function openStore(config: Config, log: Log, observe: Observer, child: ChildLink): Promise<OpenedStore> {
  const { parquet_path: directory } = config.storage;
  const open = (path: string) => openDirectory(path, config, log, observe, child);
  if (directory !== undefined) return open(directory).catch(storageError(directory, NAMED));
  const parent = tmpdir();
  const temporary = await createPrivateDirectory(parent).catch(storageError(parent, TEMPORARY));
  try {
    const opened = await open(temporary.path).catch(storageError(parent, TEMPORARY));
    return { ...opened, store: withClose(opened.store, () => temporary.remove()) };
  } catch (error) {
    await temporary.remove();
    throw error;
  }
}

async function openDirectory(
  directory: string,
  config: Config,
  log: Log,
  observe: Observer,
  child: ChildLink,
): Promise<OpenedStore> {
  const { storage, compression, sql } = config;
  const { duckdb_path: duckdbPath } = storage;
  const tempDirectory = tmpdir();
  const files = createFrameFiles({
    tempDirectory,
    child,
    onChild: (started) => observeChild(observe, 'files', started),
    onSpans: spanObserver(observe, 'files'),
    conversionTimeoutMs: storage.conversion_timeout_ms,
    maxConversionBytes: storage.max_conversion_bytes,
  });
  const decoders = createDecoders({ maxBytes: DECODE_BYTES });
  const { algorithm, level } = compression;
  const hasTenants = config.auth.mode === 'required';
  const store = await createDurableStore({
    directory,
    files,
    cacheBytes: cacheShares(config).frameBytes,
    diskCacheBytes: storage.disk_cache_bytes,
    minFreeBytes: storage.min_free_bytes,
    compression: { compression: algorithm, ...(algorithm === 'zstd' && { level }) },
    tempDirectory,
    ...(duckdbPath !== undefined && { duckdbPath }),
    hasTenants,
    decoders,
    maxDecompressedBytes: storage.max_conversion_bytes,
    onExpired: ({ tenant, handle }) => observe({ kind: 'frame_expired', tenant, handle }),
    onProblem: (problem) => reportProblem(problem, log),
  }).catch(async (error: unknown) => {
    await Promise.all([files.close(), decoders.close()]);
    throw error;
  });
  // The first request for the child reports the error.
  warm(store, files).catch(() => undefined);
  const local = createSqlEngine({
    store,
    tempDirectory,
    memoryBytes: Math.floor(sql.memory_gb * GIGABYTE),
    timeoutMs: sql.timeout_ms,
    maxConcurrent: sql.max_concurrent,
    hasTenants,
    maxQueued: sql.max_queued,
    startAheadMs: SQL_AHEAD_MS,
    onChild: (started) => observeChild(observe, 'sql', started),
    onSpans: spanObserver(observe, 'sql'),
  });
  return {
    store: withClose(store, () => decoders.close()),
    frames: store,
    local,
    encodeParquet: createParquetEncoder(files, { directory: tempDirectory }),
    frameCache: () => store.cacheState(),
  };
}

/** Makes the child ready for the most frequent first request. */
async function warm(store: DurableStore, files: DuckdbFrameFiles): Promise<void> {
  if (!(await store.describeNewest())) await files.warm();
}

/** Reports the start and the end of a child. */
function observeChild(observe: Observer, child: EngineChild, { exited }: Pick<ChildLink, 'exited'>): void {
  observe({ kind: 'engine_child_started', child });
  void exited.then((end) => observe({ kind: 'engine_child_exited', child, ...end }));
}

/** Reports the spans of children. */
function spanObserver(observe: Observer, child: EngineChild): OnSpans {
  return ({ requestId, trace }, spans) => observe({ kind: 'engine_child_answered', child, requestId, trace, spans });
}

/** Wraps a store to call `close` with its own. */
function withClose(store: Store, close: () => Promise<void>): Store {
  return {
    ...store,
    async close() {
      await store.close();
      await close();
    },
  };
}

const NAMED = 'Give storage.parquet_path or storage.data_dir a directory that this user can write to.';
const TEMPORARY =
  'Set storage.data_dir (--data-dir) to keep frames elsewhere, or TMPDIR to a directory that can be used.';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist and cannot be created',
  ENOTDIR: 'it is not a directory',
  EEXIST: 'it is not a directory',
  EACCES: 'this user may not write to it',
  EPERM: 'this user may not write to it',
  EROFS: 'it is read-only',
  ENOSPC: 'its disk is full',
};

/** Converts a system error about a directory to a `StorageError`. */
function storageError(directory: string, hint: string): (error: unknown) => never {
  return (error) => {
    const reason = error instanceof Error && 'code' in error ? REASONS[String(error.code)] : undefined;
    if (reason === undefined) throw error;
    throw new StorageError(`Cannot store frames in ${JSON.stringify(directory)}: ${reason}. ${hint}`, {
      cause: error,
    });
  };
}

const SENTENCES: Record<StoreProblem['kind'], string> = {
  damaged_frame: 'The file of a frame is missing or damaged: it does not match its checksum.',
  unreadable_frame: 'A frame cannot be read and is skipped.',
  not_a_table: 'A JSON file in the folder of the frames is not a table, and is ignored.',
  unreadable_expiry: 'The file with the expiry of a frame cannot be read.',
  unreadable_database: 'The database of storage.duckdb_path cannot be read.',
  not_removed: 'The file of a dropped frame cannot be removed.',
  no_checkpoint: 'The log of a frame grows: no checkpoint for other programs can be written.',
  not_released: 'The directory of the frames is not writable at shutdown; the next start cleans it up.',
};

function reportProblem({ kind, tenant, handle, cause }: StoreProblem, log: Log): void {
  const reason = cause instanceof Error ? cause.message : String(cause);
  log[kind === 'not_a_table' ? 'info' : 'warn'](SENTENCES[kind], { tenant, handle, cause: reason });
}
