// Line protocol until it is acknowledged: the same requests to a real QuestDB and to the server, in long and in short bodies.
// The server flushes the rows to disk before it acknowledges them; QuestDB, with its defaults, leaves that to the system.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startQuestdb } from '../interop/questdb/start-questdb.js';
import { familyCpuMs } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { median } from './measure.js';

const LONG_LINES = 100_000;
const SHORT_LINES = 1000;
const SHORT_REQUESTS = 20;
const SYMBOLS = ['BTC-USD', 'ETH-USD', 'SOL-USD', 'ADA-USD'];

let time = 1_700_000_000_000_000_000n;

/** Lines of trades, later than all before, as a feed sends them. */
function linesOf(count) {
  const lines = [];
  for (let i = 0; i < count; i++) {
    time += 1_000_000n;
    const symbol = SYMBOLS[i % SYMBOLS.length];
    const side = i % 3 === 0 ? 'sell' : 'buy';
    const price = (100 + (i % 1000) / 100).toFixed(2);
    lines.push(`trades,symbol=${symbol},side=${side} price=${price},amount=${i % 77}i,venue="x${i % 10}" ${time}\n`);
  }
  return lines.join('');
}

async function write({ url, pid }, bodies) {
  const cpu = familyCpuMs(pid);
  const startMs = performance.now();
  for (const body of bodies) {
    const response = await fetch(`${url}/write`, { method: 'POST', body });
    const text = await response.text();
    if (response.status !== 204) throw new Error(`POST /write answered ${response.status}: ${text}`);
  }
  return { ms: performance.now() - startMs, cpuMs: familyCpuMs(pid) - cpu };
}

function compare({ svc, questdb }, lines) {
  const perSecond = (values) => Math.round(lines / (median(values.map(({ ms }) => ms)) / 1000));
  return {
    'svc, lines/s': perSecond(svc),
    'QuestDB, lines/s': perSecond(questdb),
    'ratio of time': Number(ratio(svc, questdb, ({ ms }) => ms).toFixed(2)),
    'ratio of CPU': Number(ratio(svc, questdb, ({ cpuMs }) => Math.max(1, cpuMs)).toFixed(2)),
  };
}

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const ended = [async () => rmSync(directory, { recursive: true })];
try {
  const server = await startServer(['--parquet-path', directory]);
  ended.unshift(server.stop);
  const database = await startQuestdb();
  ended.unshift(database.stop);
  const sides = (bodies) => ({
    svc: () => write(server, bodies()),
    questdb: () => write(database, bodies()),
  });
  const long = await interleave(
    sides(() => [linesOf(LONG_LINES)]),
    { rounds: 9, warmUp: 3 },
  );
  const short = await interleave(
    sides(() => Array.from({ length: SHORT_REQUESTS }, () => linesOf(SHORT_LINES))),
    { rounds: 9, warmUp: 3 },
  );
  const summary = {
    [`${LONG_LINES} lines in a request`]: compare(long, LONG_LINES),
    [`${SHORT_LINES} lines in a request, ${SHORT_REQUESTS} one after the other`]: compare(
      short,
      SHORT_LINES * SHORT_REQUESTS,
    ),
  };
  console.table(summary);
  writeResults('lines', { summary, values: { long, short } });
} finally {
  for (const end of ended) await end();
}
