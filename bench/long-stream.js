// Puts 100 000 000 rows (or the number in the first argument) into the real server and reads them back, as Arrow: the memory
// growth of the server and its engine child. Too long for the tests; run it alone.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { Field, Float64, Int64, makeData, RecordBatch, RecordBatchStreamWriter, Schema, Struct } from 'apache-arrow';
import { residentBytes } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { putFrame } from './put-frame.js';

const ROWS = Number(process.argv[2] ?? 100_000_000);
const BATCH_ROWS = 100_000;
const WARM_UP_ROWS = 2_000_000;
const TARGET_MIB = 100;

const schema = new Schema([new Field('id', new Int64(), false), new Field('value', new Float64(), false)]);

function batchFrom(start, length) {
  const ids = BigInt64Array.from({ length }, (_, i) => BigInt(start + i));
  const values = Float64Array.from({ length }, (_, i) => Math.sin(start + i));
  const children = [makeData({ type: new Int64(), data: ids }), makeData({ type: new Float64(), data: values })];
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, nullCount: 0, children }));
}

async function* frame(rows) {
  const writer = new RecordBatchStreamWriter();
  const reader = writer[Symbol.asyncIterator]();
  for (let at = 0; at < rows; at += BATCH_ROWS) {
    writer.write(batchFrom(at, Math.min(BATCH_ROWS, rows - at)));
    yield (await reader.next()).value;
  }
  writer.finish();
  for (let next = await reader.next(); !next.done; next = await reader.next()) yield next.value;
}

/** The engine child of a server. */
function childOf(pid) {
  return readdirSync('/proc').find((name) => {
    try {
      const status = readFileSync(`/proc/${name}/stat`, 'utf8');
      return Number(status.slice(status.lastIndexOf(')') + 4).split(' ')[0]) === pid;
    } catch {
      return false;
    }
  });
}

async function watch(server, work) {
  const pids = { server: server.pid, child: Number(childOf(server.pid)) };
  const before = { server: residentBytes(pids.server), child: residentBytes(pids.child) };
  const peak = { ...before };
  const timer = setInterval(() => {
    for (const name of Object.keys(pids)) peak[name] = Math.max(peak[name], residentBytes(pids[name]));
  }, 50);
  const startMs = performance.now();
  await work();
  clearInterval(timer);
  const growthMiB = Object.fromEntries(
    Object.keys(pids).map((name) => [name, Math.round((peak[name] - before[name]) / 2 ** 20)]),
  );
  const peakMiB = Object.fromEntries(Object.keys(pids).map((name) => [name, Math.round(peak[name] / 2 ** 20)]));
  return { seconds: Math.round((performance.now() - startMs) / 100) / 10, growthMiB, peakMiB };
}

const server = await startServer(['--cache-size', '0.05']);

async function put(rows) {
  const info = await putFrame(`${server.url}/frames/long`, 'arrow', ReadableStream.from(frame(rows)));
  if (info.rows !== rows) throw new Error(`PUT kept ${info.rows} of ${rows} rows.`);
}

async function read() {
  const headers = { 'accept-encoding': 'identity' };
  const answer = await fetch(`${server.url}/exp?handle=long&fmt=arrow`, { headers });
  let bytes = 0;
  for await (const chunk of answer.body) bytes += chunk.length;
  if (bytes < 16 * ROWS) throw new Error(`Received only ${bytes} bytes.`);
}

try {
  // Excludes the memory of the processes for their first rows.
  await put(WARM_UP_ROWS);
  const upload = await watch(server, () => put(ROWS));
  const download = await watch(server, read);
  const machine = { cpu: cpus()[0].model, cores: availableParallelism(), node: process.version };
  const result = { rows: ROWS, targetMiB: TARGET_MIB, upload, download, machine };
  writeFileSync(new URL('results/long-stream.json', import.meta.url), `${JSON.stringify(result, null, 2)}\n`);
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
} finally {
  await server.stop();
}
