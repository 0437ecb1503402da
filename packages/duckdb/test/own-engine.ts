import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { Engine, QueryResult } from '@svc/frames';
import { vi } from 'vitest';
import type { SqlEngineOptions } from '../src/sql/create-sql-engine.ts';
import { callOf, rowsOf, type SqlFixture } from '../src/testing/sql-fixture.ts';

/** Whether the system tells what processes do. */
export const hasProc = existsSync('/proc');

/** An answer that is not read holds its place. */
export const holdPlace = (engine: Engine): Promise<QueryResult> => engine.query(callOf(), 'FROM range(10000000)');

/** A statement that runs until it is ended. */
export const ENDLESS = 'SELECT count(*) FROM range(1000000000000)';

type WithEngine = (options: Partial<SqlEngineOptions>, run: (engine: Engine) => Promise<void>) => () => Promise<void>;

/** Makes what runs a test with an engine of its own. */
export function ownEngine(fixtureOf: () => SqlFixture): WithEngine {
  return (options, run) => async () => {
    const engine = fixtureOf().otherEngine({ maxConcurrent: 1, ...options });
    try {
      // On a busy machine a child may take longer to start than a statement may in some tests.
      await vi.waitFor(() => rowsOf(engine, 'SELECT 1'), { timeout: 15_000 });
      await run(engine);
    } finally {
      await engine.close();
    }
  };
}

/** The names of the folders of children. */
export async function foldersOfChildren({ tempDirectory }: SqlFixture): Promise<string[]> {
  return (await readdir(tempDirectory)).filter((name) => name.startsWith('svc-sql-'));
}
