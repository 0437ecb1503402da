import type { TestProject } from 'vitest/node';
import { startQuestdb } from './start-questdb.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of a database that all tests of this folder share. */
    questdbUrl: string;
  }
}

/** Starts the database that the tests share; what it returns ends it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const questdb = await startQuestdb();
  project.provide('questdbUrl', questdb.url);
  return questdb.stop;
}
