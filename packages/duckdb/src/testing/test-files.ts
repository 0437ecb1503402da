import { createFrameFiles } from '../files/create-frame-files.ts';
import type { FrameFiles } from '../files/frame-files.ts';
import { createArrowFrameFiles } from './arrow-frame-files.ts';

/** Files that tests run with: DuckDB's, and a stand-in that needs no other process. */
export const FILE_KINDS = ['arrow', 'duckdb'] as const;

/** New files of a kind. */
export function createTestFiles(kind: string, tempDirectory: string): FrameFiles {
  return kind === 'duckdb' ? createFrameFiles({ tempDirectory }) : createArrowFrameFiles();
}
