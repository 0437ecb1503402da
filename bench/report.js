// Writes docs/benchmarks.md and its charts from the raw values under results/. Missed goals come first.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { barChart } from './bar-chart.js';
import { GOALS } from './goals.js';

const RESULTS = new URL('results/', import.meta.url);
const DOCS = new URL('../docs/', import.meta.url);

/** The sections of the page, each from the results of one benchmark. `rows`: those of its table. Default: the summary. */
const SECTIONS = [
  {
    name: 'first-rows',
    title: 'The first 1000 rows as JSON',
    text: 'Every server holds one million rows of six columns (bigint, double with two decimals, one of 50 strings, timestamp, boolean, nullable int) and returns 1000 of them as JSON over keep-alive connections. The other servers are stopped (`SIGSTOP`) while one is measured. *Same window*: always the first 1000 rows. *Other windows*: 1000 rows from a different offset each time; this server makes most of them of rows that it has kept as text, 63 MB in a cache of 64 MiB. Without that cache, it encodes every window.',
    chart: {
      file: 'benchmarks-first-rows.svg',
      title: 'first 1000 rows as JSON, responses per second, 16 connections',
      rows: (summary) =>
        summary
          .filter(({ connections }) => connections === 16)
          .map((row) => ({
            label: row.peer,
            values: [row['same window, answers/s'], row['other windows, answers/s']],
          })),
      series: ['same window', 'other windows'],
    },
  },
  {
    name: 'one-core',
    title: 'One core',
    text: 'The same requests over 16 connections, with all threads of the server on one core and the client on the other. The other servers are stopped (`SIGSTOP`) while one is measured.',
  },
  {
    name: 'exports',
    title: 'All rows',
    text: 'Whole data sets over HTTP, one client; the other servers are stopped (`SIGSTOP`) while one is measured. CPU is that of the server process (for this server, without its child process); growth is that of its resident memory while it sends.',
    chart: {
      file: 'benchmarks-exports.svg',
      title: 'one million rows × 6, milliseconds',
      rows: (summary) =>
        summary
          .filter(({ set, ms }) => set === 'trades' && ms < 20_000)
          .map((row) => ({ label: `${row.format}, ${row.peer}`, values: [row.ms] })),
      series: ['ms'],
    },
  },
  {
    name: 'larger-than-memory',
    title: 'Frames that are larger than the cache',
    text: 'All rows of a frame of 30 million rows × 6, which take 1.1 GB in memory: with a cache of 512 MB, so that every read is from disk, against the same rows in memory. The first reads are from the Parquet file; if the frame is read again, its rows are decoded on disk. One client; Flight is read by pyarrow.',
  },
  {
    name: 'store',
    title: 'Frames on disk',
    text: 'Against DuckDB on the same Parquet files, in a separate process, without HTTP: the ratio is the time of this server to the time of DuckDB.',
  },
  {
    name: 'checksums',
    title: 'Checksums',
    text: 'Reads from disk that verify their bytes, as the first read after a start does, against reads of bytes that were verified before. SQL verifies the whole file, once.',
  },
  {
    name: 'sql',
    title: 'SQL',
    text: 'SQL over frames (in a child process, including the check of the SQL and the transfer of Arrow batches), against DuckDB in a process that does nothing else, on the same files. *Over HTTP*: a file that was put, and the whole request over a kept connection, against DuckDB on the file as it was before it was put.',
  },
  { name: 'uploads', title: 'Uploads', text: 'One million rows, until they are on disk and acknowledged.' },
  {
    name: 'appends',
    title: 'Appends',
    text: 'Until the rows are on disk and acknowledged. One row is appended to ten million, against one row that is put as a new frame; 16 clients append 100 rows at a time to one frame, against a loop that only writes, flushes and renames files with the same bytes (the CPU time is that of the server and its engine child per append; the flushes are those of files and folders per append, as appends that wait become durable together); and a frame of 64 parts is read from disk, against the same rows in one part.',
  },
  {
    name: 'lines',
    title: 'Line protocol',
    text: 'The same lines to `POST /write` of the server and of QuestDB 9.3.4, until they are acknowledged. The server has then flushed them to disk; QuestDB, with its defaults, leaves that to the system and makes them visible to queries later. A line has two tags, a double, a whole number, a text and a time.',
  },
  {
    name: 'csv-uploads',
    title: 'CSV uploads',
    text: 'Types come from all rows, and every value is checked against its text. An odd value is a text in a column of whole numbers. Against DuckDB that detects types in all rows (`sample_size = -1`) and writes the same Parquet file. CPU time is that of all processes of a side.',
  },
  {
    name: 'files',
    title: 'Files',
    text: 'A stored Parquet file of 121 MB by its path: whole, and 100 ranges of 1 MiB, against programs that only send the same file: a small one in Node, and the HTTP server of the Python library, which has no ranges. CPU is that of the serving process; the time of svc is relative to that of the side.',
    rows: ({ whole, ranges }) => [
      ...whole.summary.map((row) => ({ what: 'whole file', ...row })),
      ...ranges.summary.map((row) => ({ what: 'ranges', ...row })),
    ],
  },
  {
    name: 'foreign-files',
    title: 'Files put by hand',
    text: 'The first list of 10,000 small files that another program put into the directory, CSV and Parquet, and the first read of one of them beside that list, against the same read alone. Each round starts new servers.',
  },
  { name: 'flight', title: 'Arrow Flight', text: "Against pyarrow's Flight server (C++), same frame, same client." },
  { name: 'proxy', title: 'Forwarded SQL', text: 'Through this server to a real QuestDB, against direct queries.' },
  {
    name: 'scheduler',
    title: 'SQL on a cluster',
    text: "On Spark 4.3 (standalone, two workers with one core each, on the same machine): this server over HTTP against pyspark's own client, both from Python and both with an Arrow table as the result. The join is of 10^8 rows in 64 parts with 1000 rows; there the other side is this server alone, with DuckDB on the same cores, so it shows what the cluster costs, not what it gains.",
  },
  {
    name: 'tls',
    title: 'TLS',
    text: 'The same requests to the server with TLS (1.3, ECDSA P-256) and without it. CPU is that of the server process for one request, as medians; the ratios are those of consecutive runs.',
  },
  {
    name: 'isolation',
    title: 'While every engine is busy',
    text: 'Latency of other clients, in milliseconds, while statements that use all the time, threads and memory they can get run on every engine and 64 more wait.',
  },
  {
    name: 'auth',
    title: 'Authentication',
    text: 'A small read of a frame by its handle, over 16 connections, in CPU time of the server, relative to a server without authentication. The last side sends a JWT to a server that ignores it.',
  },
  {
    name: 'mixed-clients',
    title: 'Many clients',
    text: 'The clients send different requests: the first rows, other windows, `/ping`, the list of frames.',
  },
  {
    name: 'many-connections',
    title: 'Many connections',
    text: 'The first 1000 rows as JSON over 500 connections that are opened at once, each with one request at a time, for 4 seconds. A connection that waits to be accepted counts as a slow response.',
  },
  {
    name: 'growth',
    title: 'Growth',
    text: 'The same columns, from 10^5 rows up, read from disk: time per row and memory should stay constant.',
  },
  {
    name: 'cold-start',
    title: 'Cold start',
    text: 'From the start of the process to the first rows of a frame of one million.',
  },
  {
    name: 'many-frames',
    title: 'Many frames',
    text: 'A server with 20,000 frames of one row. After its start, the first list reads the log of every frame; a loop that only reads and parses these logs is its limit.',
  },
  {
    name: 'console',
    title: 'The console',
    text: 'In Chromium without a screen, 1920 × 1080 pixels, against the server on the same machine. CPU times of the page are those of its main thread by thread ticks, so other programs do not count; the longest task is the longest time in which the page takes no key. The CPU time of a jump is that of the server and its engine child, with everything the page asks for meanwhile. The heap is that of JavaScript after a garbage collection. Wall times depend on the load.',
  },
  {
    name: 'file-sizes',
    title: 'Sizes of files',
    text: 'One million price bars (open, high, low, close, volume) of 20 symbols.',
  },
];

const read = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, RESULTS), 'utf8'));
const found = new Map(
  SECTIONS.filter(({ name }) => existsSync(new URL(`${name}.json`, RESULTS))).map(({ name }) => [name, read(name)]),
);

function table(rows) {
  const list = Array.isArray(rows)
    ? rows
    : Object.entries(rows).map(([what, row]) => ({ what, ...(typeof row === 'object' ? row : { value: row }) }));
  const keys = [...new Set(list.flatMap((row) => Object.keys(row)))];
  const cell = (value) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(3)) : value;
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [
    line(keys),
    line(keys.map((key) => (list.every((row) => typeof row[key] !== 'string') ? '---:' : '---'))),
    ...list.map((row) => line(keys.map((key) => cell(row[key]) ?? ''))),
  ].join('\n');
}

function goalTable() {
  const rows = GOALS.flatMap(({ what, goal, of, reached, isMet, note }) => {
    const results = found.get(of);
    const value = results && reached(results.summary);
    if (value === undefined) return [];
    return [
      { what, goal, reached: Number(value.toPrecision(3)), '': isMet(value) ? 'met' : '**missed**', note: note ?? '' },
    ];
  });
  return table(rows.toSorted((a, b) => Number(a[''] === 'met') - Number(b[''] === 'met')));
}

function section({ name, title, text, chart, rows = ({ summary }) => summary }) {
  const results = found.get(name);
  if (results === undefined) return '';
  const { machine, missing, summary } = results;
  const picture = chart ? `\n![${chart.title}](${chart.file})\n` : '';
  if (chart) writeFileSync(new URL(chart.file, DOCS), barChart(chart.title, chart.series, chart.rows(summary)));
  const absent = Object.entries(missing ?? {}).filter(([, reason]) => typeof reason === 'string');
  const gone = absent.length === 0 ? '' : `\nMissing: ${absent.map(([peer, why]) => `${peer} (${why})`).join('; ')}.\n`;
  const load = machine.loadAtTheEnd === undefined ? '' : `, load ${machine.loadAtTheEnd} at the end`;
  return `## ${title}\n\n${text}\n${picture}\n${table(rows(results))}\n${gone}\n<small>\`bench/${name}.js\`; Node ${machine.node}, ${machine.cpu}, ${machine.cores} cores${load}; raw values in \`bench/results/${name}.json\`.</small>\n`;
}

const page = `# Benchmarks

\`npm run bench\` runs all benchmarks, \`npm run bench -- first-rows sql\` some of them; \`npm run bench -- report\` writes this
page from their results in \`bench/results\`. Processes are fresh, the sides take turns within one run, and responses are
compared value by value before anything is timed. Trust the medians and ratios within one run, never times across machines:
the machine of these figures is small and shared, so absolute values mean little.

## Goals

Missed goals come first.

${goalTable()}

${SECTIONS.map(section).filter(Boolean).join('\n')}`;

mkdirSync(DOCS, { recursive: true });
const target = new URL('benchmarks.md', DOCS);
const options = await resolveConfig(target);
writeFileSync(target, await format(page, { ...options, parser: 'markdown' }));
