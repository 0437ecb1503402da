import { tmpdir } from 'node:os';
import type { Config } from '@svc/config';
import { createDurableStore, createFrameFiles, type StoreProblem } from '@svc/duckdb';
import { createDecoders, createMemoryStore, type Store } from '@svc/frames';
import type { Log } from './log.ts';

const GIGABYTE = 1e9;

/** The store that the configuration asks for: files where there is a path for them, else memory. */
export async function openStore({ storage, compression }: Config, log: Log): Promise<Store> {
  const cacheBytes = Math.floor(storage.cache_size_gb * GIGABYTE);
  const { parquet_path: directory, duckdb_path: duckdbPath } = storage;
  if (directory === undefined) return createMemoryStore({ maxBytes: cacheBytes });
  const decoders = createDecoders();
  const { algorithm, level } = compression;
  const store = await createDurableStore({
    directory,
    files: createFrameFiles({ tempDirectory: tmpdir() }),
    cacheBytes,
    compression: { compression: algorithm, ...(algorithm === 'zstd' && { level }) },
    ...(duckdbPath !== undefined && { duckdbPath }),
    decoders,
    onProblem: (problem) => reportProblem(problem, log),
  });
  return {
    ...store,
    async close() {
      await store.close();
      await decoders.close();
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
