// The goals of the benchmarks: what users feel, each against a peer or a limit. `reached` takes the figure from the summary
// of the results that `of` names.
const SVC = 'svc';

const atLeast = (goal) => ({ goal: `≥ ${goal}`, isMet: (value) => value >= goal });
const atMost = (goal) => ({ goal: `≤ ${goal}`, isMet: (value) => value <= goal });

const matches = (fits) => (entry) => Object.entries(fits).every(([key, value]) => entry[key] === value);
const row = (summary, fits) => summary.find(matches(fits));
const largest = (summary, key) => Math.max(...summary.flatMap((entry) => entry[key] ?? []));

/** The figure of this server divided by that of its best peer. */
function against(summary, fits, key, better) {
  const rows = summary.filter(matches(fits));
  const own = rows.find(({ peer }) => peer === SVC)?.[key];
  const others = rows.filter(({ peer }) => !peer.startsWith(SVC)).map((entry) => entry[key]);
  return own === undefined || others.length === 0 ? undefined : own / better(...others);
}

function ofPeer(summary, fits, key, peer) {
  const own = row(summary, { ...fits, peer: SVC })?.[key];
  const other = summary.filter(matches(fits)).find((entry) => entry.peer.startsWith(peer))?.[key];
  return own === undefined || other === undefined ? undefined : own / other;
}

export const GOALS = [
  {
    what: 'first 1000 rows, same window, 16 connections: responses per second relative to the best peer',
    note: 'QuestDB uses both cores, this server one. A bare Hono handler that sends the same bytes reaches 14 000 to 18 000 per second here.',
    of: 'first-rows',
    ...atLeast(10),
    reached: (summary) => against(summary, { connections: 16 }, 'same window, answers/s', Math.max),
  },
  {
    what: 'first 1000 rows, other windows, 16 connections: responses per second relative to the best peer',
    of: 'first-rows',
    ...atLeast(1.5),
    reached: (summary) => against(summary, { connections: 16 }, 'other windows, answers/s', Math.max),
  },
  {
    what: 'first 1000 rows of a cold frame: time minus 2 ms, relative to in-process DuckDB',
    of: 'store',
    ...atMost(1.5),
    reached: (summary) => summary['first 1000 rows, cold']?.ratio,
  },
  {
    what: 'JSON of 1 M rows: time relative to the best peer',
    of: 'exports',
    ...atMost(0.4),
    reached: (summary) => against(summary, { set: 'trades', format: 'json' }, 'ms', Math.min),
  },
  {
    what: 'CSV of 1 M rows: time relative to QuestDB',
    of: 'exports',
    ...atMost(0.4),
    reached: (summary) => ofPeer(summary, { set: 'trades', format: 'csv' }, 'ms', 'QuestDB'),
  },
  {
    what: 'Arrow of 1 M rows over HTTP: time relative to ROAPI',
    note: 'A bare Node server needs 18 ms to send as many bytes, a third of the time of ROAPI. In a profile of the server, 46 % is the system call that sends.',
    of: 'exports',
    ...atMost(0.35),
    reached: (summary) => ofPeer(summary, { set: 'trades', format: 'arrow' }, 'ms', 'ROAPI'),
  },
  {
    what: 'all rows of a cold frame as Arrow over HTTP: time relative to DuckDB in Python with an IPC writer',
    of: 'store',
    ...atMost(2),
    reached: (summary) => summary['all rows as Arrow, cold']?.ratio,
  },
  {
    what: 'a frame larger than the cache, read again as Arrow: time relative to the same rows in memory',
    of: 'larger-than-memory',
    ...atMost(3),
    reached: (summary) => row(summary, { format: 'arrow' })?.['decoded / memory'],
  },
  {
    what: 'memory growth while the longest frame is read, the worst of all formats, MiB',
    of: 'growth',
    ...atMost(64),
    reached: (summary) => {
      const most = largest(summary, 'rows');
      return largest(
        summary.filter(({ rows }) => rows === most),
        'growth, MiB',
      );
    },
  },
  {
    what: 'upload of CSV, 471 MB: time relative to DuckDB that detects types in all rows',
    of: 'csv-uploads',
    ...atMost(1.5),
    reached: (summary) => row(summary, { file: '8.3 M rows × 6, 471 MB' })?.ratio,
  },
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
    what: "Flight DoGet: time relative to pyarrow's C++ server",
    of: 'flight',
    ...atMost(1.1),
    reached: (summary) => row(summary, { call: 'DoGet', measured: 'seconds' })?.ratio,
  },
  {
    what: "Flight DoPut: time relative to pyarrow's C++ server that writes Parquet and calls fsync",
    note: 'The peer writes without dictionaries and in row groups of a million rows. Three quarters of the CPU time are DuckDB: half of that is zstd. DuckDB by itself takes 2.5 to 3.6 s with these rows in memory, pyarrow 1.8 s.',
    of: 'flight',
    ...atMost(1),
    reached: (summary) => row(summary, { call: 'DoPut', measured: 'seconds' })?.ratio,
  },
  {
    what: 'group-by, join, window and as-of join over 10 M rows, the worst: time minus 5 ms, relative to in-process DuckDB',
    of: 'sql',
    ...atMost(1.15),
    reached: (summary) => {
      const ratios = Object.entries(summary).filter(([name]) => name.endsWith(', 10 M rows'));
      return ratios.length === 0 ? undefined : Math.max(...ratios.map(([, entry]) => entry['ratio less 5 ms']));
    },
  },
  {
    what: '/ping and reads of a hot frame while every engine is busy, the worst: p99, ms',
    of: 'isolation',
    ...atMost(100),
    reached: (summary) => Math.max(summary['ping, busy'].p99, summary['read, busy'].p99),
  },
  {
    what: 'first list of 10 000 files put by hand, ms',
    of: 'foreign-files',
    ...atMost(1000),
    reached: (summary) => summary['first list']?.ms,
  },
  {
    what: 'a file put by hand read beside the first list of 10 000: time relative to the read alone',
    of: 'foreign-files',
    ...atMost(2),
    reached: (summary) => summary['read, beside the list']?.ratio,
  },
  {
    what: '1 M rows forwarded from QuestDB: time relative to a direct query',
    of: 'proxy',
    ...atMost(1.1),
    reached: ({ rowsRatio }) => rowsRatio,
  },
  {
    what: "80 MB of rows from Spark: time relative to pyspark's own client",
    of: 'scheduler',
    ...atMost(1.3),
    reached: (summary) => row(summary, { what: '2 M rows × 5 as Arrow' })?.ratio,
  },
  {
    what: 'cold start to the first rows: time relative to ROAPI',
    note: "The CPU time of two Node programs limits a start: two bare ones take 0.6 of the time of ROAPI. V8's code cache saves 28 % of it. Caches with only what a start calls and an engine child before the settings saved a tenth or less: they are left out.",
    of: 'cold-start',
    ...atMost(1.1),
    reached: (summary) => against(summary, {}, 'ms to the first rows', Math.min),
  },
  {
    what: 'console, wheel over a full page of 1 M rows × 8 and 200 000 × 40, the worst: CPU ms of the main thread a frame',
    note: 'A frame has 16 ms at 60 frames a second.',
    of: 'console',
    ...atMost(8),
    reached: (summary) => largest(summary, 'CPU ms a frame'),
  },
];
