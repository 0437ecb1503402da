import { tmpdir } from 'node:os';
import type { Config } from '@svc/config';
import {
  type ChildLink,
  createDurableStore,
  createFrameFiles,
  createParquetEncoder,
  createPrivateDirectory,
  createSqlEngine,
  type StoreProblem,
} from '@svc/duckdb';
import { createDecoders, type Engine, type ParquetEncoder, type Store } from '@svc/frames';
import type { Log } from './log.ts';

const GIGABYTE = 1e9;
/** For all uploads that are decoded at a moment; each takes some megabytes, however large it is. */
const DECODE_BYTES = 1e9;
/** Until then the cores of a small machine are for the child that reads frames, which the first answer waits for. */
const SQL_AHEAD_MS = 1000;

/** The frames cannot be kept where they are to be; the message names the directory and the setting. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
}

/** A store, what answers SQL over its frames, and what writes them as Parquet files. */
export interface OpenedStore {
  readonly store: Store;
  readonly engines: { readonly local: Engine };
  readonly encodeParquet: ParquetEncoder;
}

/** The store that the configuration asks for. Without a path for its files they are in a directory that ends with it. */
export async function openStore(config: Config, log: Log, child?: ChildLink): Promise<OpenedStore> {
  const { parquet_path: directory } = config.storage;
  if (directory !== undefined)
    return openDirectory(directory, config, log, child).catch(storageError(directory, NAMED));
  const parent = tmpdir();
  const temporary = await createPrivateDirectory(parent).catch(storageError(parent, TEMPORARY));
  try {
    const opened = await openDirectory(temporary.path, config, log, child).catch(storageError(parent, TEMPORARY));
    return { ...opened, store: closingToo(opened.store, () => temporary.remove()) };
  } catch (error) {
    await temporary.remove();
    throw error;
  }
}

async function openDirectory(directory: string, config: Config, log: Log, child?: ChildLink): Promise<OpenedStore> {
  const { storage, compression, sql } = config;
  const { duckdb_path: duckdbPath, cache_size_gb: cacheGigabytes } = storage;
  const tempDirectory = tmpdir();
  const files = createFrameFiles({
    tempDirectory,
    child,
    conversionTimeoutMs: storage.conversion_timeout_ms,
    maxConversionBytes: storage.max_conversion_bytes,
  });
  // The first request that needs the child tells why there is none.
  files.warm().catch(() => undefined);
  const decoders = createDecoders({ maxBytes: DECODE_BYTES });
  const { algorithm, level } = compression;
  const store = await createDurableStore({
    directory,
    files,
    cacheBytes: Math.floor(cacheGigabytes * GIGABYTE),
    compression: { compression: algorithm, ...(algorithm === 'zstd' && { level }) },
    ...(duckdbPath !== undefined && { duckdbPath }),
    decoders,
    onProblem: (problem) => reportProblem(problem, log),
  }).catch(async (error: unknown) => {
    await Promise.all([files.close(), decoders.close()]);
    throw error;
  });
  const local = createSqlEngine({
    store,
    tempDirectory,
    memoryBytes: Math.floor(sql.memory_gb * GIGABYTE),
    timeoutMs: sql.timeout_ms,
    maxConcurrent: sql.max_concurrent,
    maxQueued: sql.max_queued,
    startAheadMs: SQL_AHEAD_MS,
  });
  return {
    store: closingToo(store, () => decoders.close()),
    engines: { local },
    encodeParquet: createParquetEncoder(files, { directory: tempDirectory }),
  };
}

/** A store that does something more when it is closed. */
function closingToo(store: Store, close: () => Promise<void>): Store {
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
  ENOENT: 'it does not exist, and cannot be made',
  ENOTDIR: 'it is not a directory',
  EEXIST: 'it is not a directory',
  EACCES: 'this user may not write to it',
  EPERM: 'this user may not write to it',
  EROFS: 'it can only be read',
  ENOSPC: 'its disk is full',
};

/** Says what the operating system has against a directory. */
function storageError(directory: string, hint: string): (error: unknown) => never {
  return (error) => {
    const reason = error instanceof Error && 'code' in error ? REASONS[String(error.code)] : undefined;
    if (reason === undefined) throw error;
    throw new StorageError(`Frames cannot be kept in ${JSON.stringify(directory)}: ${reason}. ${hint}`, {
      cause: error,
    });
  };
}

const SENTENCES: Record<StoreProblem['kind'], string> = {
  damaged_frame: 'The file of a frame is damaged or missing: its bytes are not those that were written.',
  unreadable_frame: 'A frame cannot be read, and is left out.',
  unreadable_expiry: 'The file that says when a frame ends cannot be read.',
  unreadable_database: 'The database of storage.duckdb_path cannot be read.',
  not_removed: 'The file of a frame that is gone cannot be removed.',
  not_released: 'The directory of the frames cannot be written at the stop; the next start removes what is left.',
};

function reportProblem({ kind, tenant, handle, cause }: StoreProblem, log: Log): void {
  log.warn(SENTENCES[kind], { tenant, handle, cause: String(cause) });
}
