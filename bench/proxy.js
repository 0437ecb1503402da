// SQL sent to a real QuestDB directly and through the server: the time of 1 000 000 rows, the memory growth of the server, and whether aborted clients leak sockets. The two sides alternate, and the ratio is that of
// consecutive runs, because the speed of a shared machine changes by the second.
import { once } from 'node:events';
import { get } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startQuestdb } from '../interop/questdb/start-questdb.js';
import { residentBytes, socketCount } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { download } from './download.js';
import { median } from './measure.js';
import { writeResults } from './interleave.js';

const ROWS = 1_000_000;
const ROUNDS = 3;
const PAIRS = 7;
/** The first runs of a process are slower on both sides, until the code is compiled. */
const WARM_UP = 2;
const TARGETS = { rowsRatio: 1.1, growthMiB: 32, socketsLeft: 0 };

const execUrl = (base, sql) => `${base}/exec?query=${encodeURIComponent(sql)}&fmt=json`;

async function run(base, sql) {
  const response = await fetch(execUrl(base, sql));
  if (!response.ok) throw new Error(`${sql} was answered with ${response.status}: ${await response.text()}`);
}

async function createTrades(base) {
  await run(
    base,
    'create table trades (id long, price double, symbol symbol, at timestamp, flag boolean, quantity int) timestamp(at) partition by day bypass wal',
  );
  await run(
    base,
    `insert into trades select x, round(rnd_double() * 1000, 2), rnd_symbol(50, 4, 6, 0),
      timestamp_sequence('2024-01-01', 1000000), rnd_boolean(), rnd_int(0, 1000, 10) from long_sequence(${ROWS})`,
  );
}

/** Measures all sides one after the other for a number of rounds, each starting with another side. */
async function inTurns(sides, measure) {
  const pairs = [];
  for (let i = 0; i < PAIRS; i++) {
    const pair = {};
    const names = Object.keys(sides);
    for (const side of i % 2 === 0 ? names : names.toReversed()) pair[side] = await measure(sides[side]);
    pairs.push(pair);
  }
  return pairs;
}

/** Sends 1000 requests, 50 of them aborted half-way; returns the number of new sockets of the server. */
async function leaveSome(server) {
  const before = socketCount(server.pid);
  const leavers = new Set(Array.from({ length: 50 }, (_, i) => i * 20));
  for (let start = 0; start < 1000; start += 20) {
    const asked = Array.from({ length: 20 }, (_, i) =>
      leavers.has(start + i) ? askAndLeave(server.url) : askAlone(server.url, `select ${start + i}`),
    );
    await Promise.all(asked);
  }
  const end = performance.now() + 15_000;
  while (socketCount(server.pid) > before && performance.now() < end) await delay(100);
  return Math.max(0, socketCount(server.pid) - before);
}

/** Asks on a connection and closes it: an open one would look like a leak. */
async function askAlone(base, sql) {
  const [response] = await once(get(execUrl(base, sql), { agent: false }), 'response');
  response.resume();
  await once(response, 'close');
}

async function askAndLeave(base) {
  const { hostname, port, pathname, search } = new URL(execUrl(base, 'trades'));
  const socket = connect({ host: hostname, port }).on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  await delay(Math.random() * 50);
  socket.destroy();
}

/** Checks before timing that both sides return the same bytes, except for durations. */
async function compareSides({ direct, proxied }) {
  const texts = await Promise.all(
    [direct, proxied].map(async (base) =>
      (await (await fetch(execUrl(base, 'trades'))).text()).replace(/"timings".*/, ''),
    ),
  );
  if (texts[0] !== texts[1]) throw new Error('The response through the server differs from that of QuestDB.');
}

async function measureRound(questdb) {
  const server = await startServer(['--tsdb-url', questdb.url]);
  try {
    const sides = { direct: questdb.url, proxied: server.url };
    await compareSides(sides);
    const before = residentBytes(server.pid);
    let peak = before;
    const watch = () => (peak = Math.max(peak, residentBytes(server.pid)));
    const rows = await inTurns(sides, (base) => download(execUrl(base, 'trades'), { watch }));
    return { rows, growthMiB: (peak - before) / 2 ** 20, socketsLeft: await leaveSome(server) };
  } finally {
    await server.stop();
  }
}

const questdb = await startQuestdb();
const rounds = [];
try {
  await createTrades(questdb.url);
  for (let round = 0; round < ROUNDS; round++) {
    const measured = await measureRound(questdb);
    rounds.push(measured);
    console.log(measured.rows.map(({ direct, proxied }) => `${proxied.ms.toFixed()}/${direct.ms.toFixed()}`).join(' '));
  }
} finally {
  await questdb.stop();
}

const warm = (name) => rounds.flatMap((round) => round[name].slice(WARM_UP));
const summary = {
  rowsRatio: median(warm('rows').map(({ direct, proxied }) => proxied.ms / direct.ms)),
  rowsMs: median(warm('rows').map(({ proxied }) => proxied.ms)),
  rowsDirectMs: median(warm('rows').map(({ direct }) => direct.ms)),
  growthMiB: Math.max(...rounds.map(({ growthMiB }) => growthMiB)),
  socketsLeft: Math.max(...rounds.map(({ socketsLeft }) => socketsLeft)),
};
console.log(summary);
const verdict = (name, isMet) => console.log(`${name} ${TARGETS[name]}: ${isMet ? 'met' : 'MISSED'}`);
for (const name of ['rowsRatio', 'growthMiB', 'socketsLeft']) verdict(name, summary[name] <= TARGETS[name]);
writeResults('proxy', { rows: ROWS, targets: TARGETS, summary, rounds });
