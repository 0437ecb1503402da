import { tmpdir } from 'node:os';
import type { Config } from '@svc/config';
import { createSqlEngine, type SqlFrames } from '@svc/duckdb';
import type { Engine } from '@svc/frames';

const GIGABYTE = 1e9;

/** The engine that answers SQL over the frames of a store, as the configuration bounds it. */
export function createEngine({ sql }: Config, store: SqlFrames): Engine {
  return createSqlEngine({
    store,
    tempDirectory: tmpdir(),
    memoryBytes: Math.floor(sql.memory_gb * GIGABYTE),
    timeoutMs: sql.timeout_ms,
    maxConcurrent: sql.max_concurrent,
    maxQueued: sql.max_queued,
  });
}
