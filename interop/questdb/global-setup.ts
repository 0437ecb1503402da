import type { TestProject } from 'vitest/node';
import { startQuestdb } from './start-questdb.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The URL of the database that all tests in this folder share. */
    questdbUrl: string;
  }
}

/** Starts the shared database. Returns a function that stops it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const questdb = await startQuestdb();
  project.provide('questdbUrl', questdb.url);
  return questdb.stop;
}
