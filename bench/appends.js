// Appends until they are acknowledged and durable: one row to a long frame against one row as a new frame, many short ones
// from concurrent clients against a loop that only writes, flushes and renames their bytes, and reads of a frame of many
// parts against the same rows in one part.
import { mkdtempSync, openAsBlob, readdirSync, rmSync, watch } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { familyCpuMs } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { provideDataSet } from './data-set.js';
import { DECODE_ALWAYS } from './disk-cache.js';
import { download } from './download.js';
import { median, timed } from './measure.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { putFrame } from './put-frame.js';
import { tradesAsArrow } from './trades-frame.js';

const LONG_ROWS = Number(process.env.BENCH_LONG_ROWS ?? 10_000_000);
const APPENDS = 1000;
const APPEND_ROWS = 100;
const CLIENTS = 16;
/** Appends that wait together become durable together, with flushes of their part, its folder, their entry and the log. */
const FLUSHES_PER_GROUP = 4;
const PARTS = 64;
const PART_ROWS = 15_625;

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const ended = [async () => rmSync(directory, { recursive: true })];

async function serverOn(cacheGb) {
  const server = await startServer(['--parquet-path', directory, '--cache-size', String(cacheGb)], {
    env: DECODE_ALWAYS,
  });
  ended.unshift(server.stop);
  return server;
}

async function append(url, handle, body) {
  const response = await fetch(`${url}/frames/${handle}?fmt=arrow`, { method: 'POST', body });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST answered ${response.status}: ${text}`);
}

/** One row appended to a long frame, and one row put as a new frame. */
async function measureOneRow({ url, pid }) {
  const { files } = await provideDataSet('trades', LONG_ROWS);
  await putFrame(`${url}/frames/long`, 'parquet', await openAsBlob(files.parquet));
  const schema = await fetch(`${url}/exp?handle=long&fmt=arrow&limit=1`);
  const row = Buffer.from(await schema.arrayBuffer());
  const measured = async (work) => {
    const cpu = familyCpuMs(pid);
    const ms = await timed(work);
    return { ms, cpuMs: familyCpuMs(pid) - cpu };
  };
  return interleave(
    {
      append: () => measured(() => append(url, 'long', row)),
      put: (round) => measured(() => putFrame(`${url}/frames/new-${round}`, 'arrow', row)),
    },
    { rounds: 41, warmUp: 5 },
  );
}

/** Writes bytes to a file and makes it durable, but not its name. */
async function writeDurably(folder, name, bytes) {
  const file = await open(join(folder, `.${name}`), 'w');
  await file.writeFile(bytes);
  await file.sync();
  await file.close();
  await rename(join(folder, `.${name}`), join(folder, name));
}

/** Runs work that publishes versions of a frame, and returns how many. Each has an entry in its log. */
async function countVersions(folder, handle, work) {
  const names = new Set();
  const watcher = watch(join(folder, handle, '_delta_log'), (_event, name) => {
    if (name?.endsWith('.json')) names.add(name);
  });
  const result = await work();
  watcher.close();
  return { ...result, versions: names.size };
}

/** Short appends to one frame from concurrent clients, as many rows as new frames, and as many files. */
async function measureRate({ url, pid }) {
  const body = tradesAsArrow(APPEND_ROWS);
  const bare = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  ended.unshift(async () => rmSync(bare, { recursive: true }));
  async function run(send) {
    let next = 0;
    const client = async () => {
      for (let i = next++; i < APPENDS / 4; i = next++) await send(i);
    };
    const cpu = familyCpuMs(pid);
    const ms = await timed(() => Promise.all(Array.from({ length: CLIENTS }, client)));
    return { perSecond: (APPENDS / 4) * (1000 / ms), cpuMs: (familyCpuMs(pid) - cpu) / (APPENDS / 4) };
  }
  const appendOne = () => append(url, 'busy', body);
  const putOne = (i) => putFrame(`${url}/frames/short-${i}`, 'arrow', body);
  await run(appendOne);
  return interleave(
    {
      append: () => countVersions(join(directory, 'default'), 'busy', () => run(appendOne)),
      put: () => run(putOne),
      files: () => run((i) => writeDurably(bare, String(i), body)),
    },
    { rounds: 4, warmUp: 0 },
  );
}

/** All rows of a frame of many parts and of one with the same rows in one part, from disk. */
async function measureParts(writer) {
  const part = tradesAsArrow(PART_ROWS);
  for (let i = 0; i < PARTS; i++) await append(writer.url, 'many', part);
  const whole = await fetch(`${writer.url}/exp?handle=many&fmt=arrow`);
  await putFrame(`${writer.url}/frames/one`, 'arrow', Buffer.from(await whole.arrayBuffer()));
  await writer.stop();
  const parts = readdirSync(join(directory, 'default/many')).filter((name) => name.endsWith('.parquet')).length;
  if (parts !== PARTS) throw new Error(`The frame has ${parts} parts instead of ${PARTS}.`);
  const { url, pid } = await serverOn(0.001);
  const read = (handle, query) => async () => {
    const cpu = familyCpuMs(pid);
    const ms = await timed(() => download(`${url}/${query.replace('HANDLE', handle)}`));
    return { ms, cpuMs: familyCpuMs(pid) - cpu };
  };
  const sides = (query) => ({ many: read('many', query), one: read('one', query) });
  return {
    all: await interleave(sides('exp?handle=HANDLE&fmt=arrow'), { rounds: 15, warmUp: 3 }),
    window: await interleave(sides('exec?handle=HANDLE&fmt=json&limit=400000,401000'), { rounds: 41, warmUp: 5 }),
  };
}

function compare(own, peer) {
  const of = (key) => Number(ratio(own, peer, (value) => Math.max(1, value[key])).toFixed(2));
  const ms = [own, peer].map((values) => median(values.map((value) => value.ms)).toFixed(1));
  return { ratio: of('ms'), 'ratio of CPU': of('cpuMs'), ms: ms.join(' and ') };
}

try {
  const server = await serverOn(1);
  const rate = await measureRate(server);
  const oneRow = await measureOneRow(server);
  const parts = await measureParts(server);
  const summary = {
    [`one row appended to ${LONG_ROWS} rows, against one row put`]: { ...compare(oneRow.append, oneRow.put), aim: 3 },
    [`all rows of ${PARTS} parts, against one part`]: { ...compare(parts.all.many, parts.all.one), aim: 1.2 },
    [`1000 rows of ${PARTS} parts, against one part`]: compare(parts.window.many, parts.window.one),
    [`${APPENDS} appends of ${APPEND_ROWS} rows, ${CLIENTS} clients`]: {
      'per second': Math.round(median(rate.append.map(({ perSecond }) => perSecond))),
      'CPU ms': Number(median(rate.append.map(({ cpuMs }) => cpuMs)).toFixed(2)),
      flushes: Number(
        median(rate.append.map(({ versions }) => (FLUSHES_PER_GROUP * versions * 4) / APPENDS)).toFixed(2),
      ),
      aim: 200,
    },
    [`${APPENDS} files written, flushed and renamed, ${CLIENTS} at once`]: {
      'per second': Math.round(median(rate.files.map(({ perSecond }) => perSecond))),
      flushes: 1,
    },
    [`${APPENDS} puts of ${APPEND_ROWS} rows, ${CLIENTS} clients`]: {
      'per second': Math.round(median(rate.put.map(({ perSecond }) => perSecond))),
      'CPU ms': Number(median(rate.put.map(({ cpuMs }) => cpuMs)).toFixed(2)),
    },
  };
  console.table(summary);
  writeResults('appends', { summary, values: { oneRow, rate, parts } });
} finally {
  for (const end of ended) await end();
}
