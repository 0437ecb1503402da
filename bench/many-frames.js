// A server with 20,000 frames: its start, its first list, which reads the log of every frame, the lists after that, and a put
// among them. The limit of a first list is a loop that only reads and parses the logs.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../tools/server-process.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { median, timed } from './measure.js';
import { putFrame } from './put-frame.js';

const FRAMES = Number(process.env.BENCH_FRAMES ?? 20_000);
const CLIENTS = 16;
const ROUNDS = 7;

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const put = (url, handle) => putFrame(`${url}/frames/${handle}`, 'ndjson', '{"id":1,"name":"a","price":0.5}\n');

async function putAll(url) {
  let next = 0;
  const client = async () => {
    while (next < FRAMES) await put(url, `frame-${(next += 1)}`);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function list(url) {
  const response = await fetch(`${url}/frames`);
  const { frames } = await response.json();
  const unknown = frames.filter(({ rows }) => rows === null).length;
  if (frames.length < FRAMES || unknown > 0) throw new Error(`Of ${frames.length} frames, ${unknown} have no rows.`);
}

/** Reads and parses the newest entry of every log. */
function readLogs() {
  const folder = join(directory, 'default');
  for (const name of readdirSync(folder)) {
    const log = join(folder, name, '_delta_log');
    const text = readFileSync(join(log, readdirSync(log).toSorted().at(-1)), 'utf8');
    JSON.parse(text.slice(0, text.indexOf('\n')));
  }
}

async function serve() {
  let server;
  const start = await timed(async () => {
    server = await startServer(['--parquet-path', directory]);
  });
  try {
    const { url } = server;
    const first = await timed(() => list(url));
    const next = median([await timed(() => list(url)), await timed(() => list(url)), await timed(() => list(url))]);
    const puts = [];
    for (let i = 0; i < 21; i += 1) puts.push(await timed(() => put(url, 'among')));
    return { start, first, next, put: median(puts) };
  } finally {
    await server.stop();
  }
}

try {
  const writer = await startServer(['--parquet-path', directory]);
  const putMs = await timed(() => putAll(writer.url));
  await writer.stop();
  const { svc, limit } = await interleave({ svc: serve, limit: () => timed(readLogs) }, { rounds: ROUNDS, warmUp: 1 });
  const of = (key) => Number(median(svc.map((value) => value[key])).toFixed(1));
  const summary = [
    { what: 'puts/s of new frames, 16 clients', value: Math.round((FRAMES / putMs) * 1000) },
    { what: 'start, ms', value: of('start') },
    { what: 'first list, ms', value: of('first') },
    { what: 'loop that reads the logs, ms', value: Number(median(limit).toFixed(1)) },
    {
      what: 'first list, relative to the loop',
      value: Number(ratio(svc, limit, (value) => value.first ?? value).toFixed(2)),
    },
    { what: 'next list, ms', value: of('next') },
    { what: 'put among them, ms', value: of('put') },
  ];
  console.table(summary);
  writeResults('many-frames', { frames: FRAMES, summary, values: { svc, limit, putMs } });
} finally {
  rmSync(directory, { recursive: true });
}
