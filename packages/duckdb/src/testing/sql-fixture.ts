import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Call, type Engine, encodeNdjson, type QueryOptions } from '@svc/frames';
import { readRows } from '@svc/frames/testing';
import { createDurableStore, type DurableStore, type DurableStoreOptions } from '../store/durable-store.ts';
import { createFrameFiles } from '../files/create-frame-files.ts';
import { createSqlEngine, type SqlEngineOptions } from '../sql/engine.ts';

/** A store with an SQL engine. */
export interface SqlFixture {
  /** The directory of the frames. */
  readonly directory: string;
  /** The temporary directory of the engine. */
  readonly tempDirectory: string;
  readonly store: DurableStore;
  readonly engine: Engine;
  rows(sql: string, options?: QueryOptions, call?: Call): Promise<unknown[][]>;
  /** Returns the result as NDJSON, which shows every value exactly. */
  text(sql: string, options?: QueryOptions, call?: Call): Promise<string>;
  /** Creates an engine with other options over the same store. */
  otherEngine(options: Partial<SqlEngineOptions>): Engine;
  close(): Promise<void>;
}

/** Creates a fixture in temporary directories. */
export async function createSqlFixture(
  options: Partial<SqlEngineOptions> = {},
  storeOptions: Partial<DurableStoreOptions> = {},
): Promise<SqlFixture> {
  const folder = await mkdtemp(join(tmpdir(), "sql it's [a]*-"));
  const directory = join(folder, 'frames');
  const files = createFrameFiles({ tempDirectory: folder });
  const store = await createDurableStore({ directory, files, ...storeOptions });
  const engines: Engine[] = [];
  const otherEngine: SqlFixture['otherEngine'] = (other) => {
    const engine = createSqlEngine({ store, tempDirectory: folder, maxConcurrent: 2, threads: 2, ...other });
    engines.push(engine);
    return engine;
  };
  const engine = otherEngine(options);
  return {
    directory,
    tempDirectory: folder,
    store,
    engine,
    rows: (sql, query, call) => rowsOf(engine, sql, query, call),
    async text(sql, query, call = callOf()) {
      const answer = await engine.query(call, sql, query);
      const parts: Uint8Array[] = [];
      for await (const bytes of encodeNdjson(answer)) parts.push(bytes.slice());
      answer.close();
      return Buffer.concat(parts).toString();
    },
    otherEngine,
    async close() {
      await Promise.all(engines.map((one) => one.close()));
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Returns the rows of a statement. */
export async function rowsOf(
  engine: Engine,
  sql: string,
  options?: QueryOptions,
  call = callOf(),
): Promise<unknown[][]> {
  const answer = await engine.query(call, sql, options);
  try {
    return await readRows(answer);
  } finally {
    answer.close();
  }
}

/** A call of a tenant. */
export function callOf(tenant = 'default', signal: AbortSignal = new AbortController().signal): Call {
  return { tenant, requestId: 'test', signal };
}
