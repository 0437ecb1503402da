// The goals of `console.js`.
import { atMost, row } from './goal.js';

const largest = (summary, key) => Math.max(...summary.flatMap((entry) => entry[key] ?? []));

export const CONSOLE_GOALS = [
  {
    what: 'console, wheel over a full page of 1 M rows × 8 and 200 000 × 40, the worst: CPU ms of the main thread a frame',
    note: 'The fast wheel over 40 columns, where every frame shows other rows. It took 8.9 in a run of the same day before rows were laid out as one word each.',
    of: 'console',
    ...atMost(8),
    reached: (summary) => largest(summary, 'CPU ms a frame'),
  },
  {
    what: 'console, wheel over a full page: the longest task of the main thread, CPU ms',
    of: 'console',
    ...atMost(50),
    reached: (summary) =>
      largest(
        summary.filter(({ what }) => what.includes('wheel')),
        'longest task, CPU ms',
      ),
  },
  {
    what: 'console, 1000 jumps: heap afterwards, MB',
    of: 'console',
    ...atMost(50),
    reached: (summary) => largest(summary, 'heap, MB'),
  },
  {
    what: 'console, a jump in 10^8 rows: CPU ms of the server',
    of: 'console',
    ...atMost(60),
    reached: (summary) => largest(summary, 'server CPU ms'),
  },
  {
    what: 'console, a statement of ten seconds: ms until its progress is shown',
    of: 'console',
    ...atMost(500),
    reached: (summary) => row(summary, { what: 'Run until the progress has a value' })?.['wall ms'],
  },
  {
    what: 'console, Escape: ms until the statement is gone from the server',
    of: 'console',
    ...atMost(200),
    reached: (summary) => row(summary, { what: 'Escape until the statement is gone from /queries' })?.['wall ms'],
  },
];
