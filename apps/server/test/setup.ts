import { afterAll } from 'vitest';
import { endTestFile } from './server-process.ts';

// Vitest evaluates this module for each test file, also for files that share a process and its other modules.
afterAll(endTestFile);
