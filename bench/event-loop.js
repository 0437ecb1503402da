// How long the event loop of the real server is blocked while a frame of 1 000 000 rows × 6 is put and read, cold and hot.
import { createInterface } from 'node:readline';
import { startServer } from '../tools/server-process.js';
import { putFrame } from './put-frame.js';
import { writeResults } from './interleave.js';
import { tradesAsArrow } from './trades-frame.js';

const ROWS = 1_000_000;
const TARGET_P99_MS = 50;
const PRELOAD = new URL('report-loop-delay.js', import.meta.url).href;

const server = await startServer([], { env: { NODE_OPTIONS: `--import ${PRELOAD}` }, stdout: 'pipe' });
const reports = createInterface({ input: server.stdout })[Symbol.asyncIterator]();

async function held(work) {
  process.kill(server.pid, 'SIGUSR2');
  await reports.next();
  await work();
  process.kill(server.pid, 'SIGUSR2');
  return JSON.parse((await reports.next()).value);
}

const put = (handle, format, body) => putFrame(`${server.url}/frames/${handle}`, format, body);

async function get(path) {
  const answer = await fetch(`${server.url}${path}`, { headers: { 'accept-encoding': 'identity' } });
  if (!answer.ok) throw new Error(`GET answered ${answer.status}: ${await answer.text()}`);
  return Buffer.from(await answer.arrayBuffer());
}

const arrow = Buffer.from(tradesAsArrow(ROWS));
const results = {};
try {
  await put('warm', 'arrow', Buffer.from(tradesAsArrow(1000)));
  results['put arrow'] = await held(() => put('trades', 'arrow', arrow));
  const csv = await get('/exp?handle=trades&fmt=csv');
  const ndjson = await get('/exp?handle=trades&fmt=ndjson');
  results['put csv'] = await held(() => put('lines', 'csv', csv));
  results['put ndjson'] = await held(() => put('objects', 'ndjson', ndjson));
  results['read arrow, cold'] = await held(() => get('/exp?handle=lines&fmt=arrow'));
  results['read arrow, hot'] = await held(() => get('/exp?handle=lines&fmt=arrow'));
  results['read json, hot'] = await held(() => get(`/exec?handle=lines&fmt=json&limit=${ROWS}`));
  const aimed = Object.entries(results).map(([what, delay]) => [what, { ...delay, aim: TARGET_P99_MS }]);
  const summary = Object.fromEntries(aimed);
  console.table(summary);
  writeResults('event-loop', { rows: ROWS, summary });
} finally {
  await server.stop();
}
