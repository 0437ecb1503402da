import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { Engine, QueryResult } from '@svc/frames';
import { vi } from 'vitest';
import type { SqlEngineOptions } from '../src/sql/engine.ts';
import { callOf, rowsOf, type SqlFixture } from '../src/testing/sql-fixture.ts';

/** Whether the system has /proc. */
export const hasProc = existsSync('/proc');

/** Starts a query that holds its slot, because its result is not read. */
export const holdSlot = (engine: Engine): Promise<QueryResult> => engine.query(callOf(), 'FROM range(10000000)');

/** A statement that runs until it is ended. */
export const ENDLESS = 'SELECT count(*) FROM range(1000000000000)';

type WithEngine = (options: Partial<SqlEngineOptions>, run: (engine: Engine) => Promise<void>) => () => Promise<void>;

/** Wraps a test so that it runs with a separate engine. */
export function ownEngine(fixtureOf: () => SqlFixture): WithEngine {
  return (options, run) => async () => {
    const engine = fixtureOf().otherEngine({ maxConcurrent: 1, ...options });
    try {
      // On a busy machine, a child may take longer to start than the statement timeout of some tests.
      await vi.waitFor(() => rowsOf(engine, 'SELECT 1'), { timeout: 15_000 });
      await run(engine);
    } finally {
      await engine.close();
    }
  };
}

/** The names of the directories of children. */
export async function foldersOfChildren({ tempDirectory }: SqlFixture): Promise<string[]> {
  return (await readdir(tempDirectory)).filter((name) => name.startsWith('svc-sql-'));
}
