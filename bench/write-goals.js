// The goals of what is put and appended.
import { atLeast, atMost, row } from './goal.js';

export const WRITE_GOALS = [
  {
    what: 'upload of CSV: time relative to DuckDB with fsync',
    note: 'The body is written to disk before DuckDB reads it; the other side already has the file.',
    of: 'uploads',
    ...atMost(1.5),
    reached: (summary) => row(summary, { format: 'csv' })?.ratio,
  },
  ...[
    '1 M rows × 6, 57 MB',
    '8.3 M rows × 6, 471 MB',
    '1 M rows × 6, an odd value in the last row',
    '1 M rows × 6, an odd value near the middle',
  ].flatMap((file) =>
    ['ratio', 'CPU ratio'].map((key) => ({
      what: `upload of CSV, ${file}: ${key === 'ratio' ? 'time' : 'CPU time'} relative to DuckDB that detects types in all rows`,
      of: 'csv-uploads',
      ...atMost(1.5),
      reached: (summary) => row(summary, { file })?.[key],
    })),
  ),
  {
    what: 'upload of Parquet: time relative to DuckDB with fsync',
    of: 'uploads',
    ...atMost(1.5),
    reached: (summary) => row(summary, { format: 'parquet' })?.ratio,
  },
  {
    what: 'one row appended to 10 M rows: time relative to one row put as a new frame',
    of: 'appends',
    ...atMost(3),
    reached: (summary) => summary['one row appended to 10000000 rows, against one row put']?.ratio,
  },
  {
    what: 'appends of 100 rows to one frame from 16 clients: per second',
    note: 'On idle cores; 193 before appends took less CPU time (4.9 ms each in this run; interleaved on busy cores 5.6 instead of 6.4). A quarter of it is spent in threads of V8, mostly to compile code that the first thousand requests run often.',
    of: 'appends',
    ...atLeast(200),
    reached: (summary) => summary['1000 appends of 100 rows, 16 clients']?.['per second'],
  },
  {
    what: 'all rows of 64 parts: time relative to the same rows in one part',
    of: 'appends',
    ...atMost(1.2),
    reached: (summary) => summary['all rows of 64 parts, against one part']?.ratio,
  },
];
