import { createFrameFiles } from '../files/create-frame-files.ts';
import type { FrameFiles } from '../files/frame-files.ts';
import { createArrowFrameFiles } from './arrow-frame-files.ts';

/** The implementations of `FrameFiles` in tests: DuckDB's, and one that needs no child process. */
export const FILE_KINDS = ['arrow', 'duckdb'] as const;

/** Creates `FrameFiles` of a kind. */
export function createTestFiles(kind: string, tempDirectory: string): FrameFiles {
  return kind === 'duckdb' ? createFrameFiles({ tempDirectory }) : createArrowFrameFiles();
}
