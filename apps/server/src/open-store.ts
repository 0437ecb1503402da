import { tmpdir } from 'node:os';
import type { Config } from '@svc/config';
import {
  createDurableStore,
  createFrameFiles,
  createParquetEncoder,
  type FrameFiles,
  type StoreProblem,
} from '@svc/duckdb';
import { createDecoders, createMemoryStore, type ParquetEncoder, type Store } from '@svc/frames';
import type { Log } from './log.ts';

const GIGABYTE = 1e9;

/** A store, and what writes its frames as Parquet files. Closing the store closes both. */
export interface OpenedStore {
  readonly store: Store;
  readonly encodeParquet: ParquetEncoder;
}

/** The store that the configuration asks for: files where there is a path for them, else memory. */
export async function openStore(config: Config, log: Log): Promise<OpenedStore> {
  // The process that reads and writes files is started when it is first needed.
  const files = createFrameFiles({ tempDirectory: tmpdir() });
  const encodeParquet = createParquetEncoder(files, { directory: tmpdir() });
  return { store: await createStore(config, files, log), encodeParquet };
}

async function createStore({ storage, compression }: Config, files: FrameFiles, log: Log): Promise<Store> {
  const cacheBytes = Math.floor(storage.cache_size_gb * GIGABYTE);
  const { parquet_path: directory, duckdb_path: duckdbPath } = storage;
  if (directory === undefined) return closingToo(createMemoryStore({ maxBytes: cacheBytes }), files);
  const decoders = createDecoders();
  const { algorithm, level } = compression;
  const store = await createDurableStore({
    directory,
    files,
    cacheBytes,
    compression: { compression: algorithm, ...(algorithm === 'zstd' && { level }) },
    ...(duckdbPath !== undefined && { duckdbPath }),
    decoders,
    onProblem: (problem) => reportProblem(problem, log),
  });
  return closingToo(store, decoders);
}

/** A store that closes another part after itself. */
function closingToo(store: Store, part: { close(): Promise<void> }): Store {
  return {
    ...store,
    async close() {
      await store.close();
      await part.close();
    },
  };
}

const SENTENCES: Record<StoreProblem['kind'], string> = {
  unreadable_frame: 'A frame cannot be read, and is left out.',
  unreadable_life: 'The file that says when a frame ends cannot be read.',
  unreadable_database: 'The database of storage.duckdb_path cannot be read.',
  not_removed: 'The file of a frame that is gone cannot be removed.',
};

function reportProblem({ kind, tenant, handle, cause }: StoreProblem, log: Log): void {
  log.warn(SENTENCES[kind], { tenant, handle, cause: String(cause) });
}
