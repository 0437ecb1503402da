import { tmpdir } from 'node:os';
import type { Config } from '@svc/config';
import {
  createDurableStore,
  createFrameFiles,
  createParquetEncoder,
  type FrameFiles,
  type StoreProblem,
} from '@svc/duckdb';
import { createDecoders, createMemoryStore, type Engine, type ParquetEncoder, type Store } from '@svc/frames';
import { createEngine } from './create-engine.ts';
import type { Log } from './log.ts';

const GIGABYTE = 1e9;

/** A store, what answers SQL over its frames, and what writes them as Parquet files. Closing the store closes that, too. */
export interface OpenedStore {
  readonly store: Store;
  readonly engines?: { readonly local: Engine };
  readonly encodeParquet: ParquetEncoder;
}

/** The store that the configuration asks for: files where there is a path for them, else memory. */
export async function openStore(config: Config, log: Log): Promise<OpenedStore> {
  // The process that reads and writes files is started when it is first needed.
  const files = createFrameFiles({ tempDirectory: tmpdir() });
  const encodeParquet = createParquetEncoder(files, { directory: tmpdir() });
  return { ...(await createStore(config, files, log)), encodeParquet };
}

async function createStore(
  config: Config,
  files: FrameFiles,
  log: Log,
): Promise<Pick<OpenedStore, 'engines' | 'store'>> {
  const { storage, compression } = config;
  const cacheBytes = Math.floor(storage.cache_size_gb * GIGABYTE);
  const { parquet_path: directory, duckdb_path: duckdbPath } = storage;
  if (directory === undefined) {
    return { store: closingToo(createMemoryStore({ maxBytes: cacheBytes }), files) };
  }
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
  return { store: closingToo(store, decoders), engines: { local: createEngine(config, store) } };
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
