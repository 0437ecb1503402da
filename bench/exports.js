// All rows of a set as JSON, CSV and Arrow over HTTP: total time, time to the first byte, CPU time of the server.
import { cpuMs, residentBytes } from '../tools/process-resources.js';
import { compareRows, compareTrades } from './compare-responses.js';
import { provideDataSet } from './data-set.js';
import { DECODE_ALWAYS, untilDecoded } from './disk-cache.js';
import { download } from './download.js';
import { median } from './measure.js';
import { startPeers } from './peers/start-peers.js';
import { svc } from './peers/svc.js';
import { writeResults } from './interleave.js';

const ROUNDS = 15;
const SETS = [
  { name: 'trades', rows: 1_000_000, formats: ['json', 'csv', 'arrow'] },
  { name: 'doubles', rows: 1_000_000, formats: ['json', 'csv'] },
  { name: 'texts', rows: 200_000, formats: ['json', 'csv', 'arrow'] },
  { name: 'wide', rows: 10_000, formats: ['json', 'arrow'] },
  { name: 'nested', rows: 200_000, formats: ['json', 'arrow'] },
];
/** They take minutes; the others take seconds. */
const SLOW = ['Datasette 0.65.5', 'Node + getRowsJson'];

/** This server with a cache too small for the frame: every read is from its Parquet file, like the first one. */
const startCold = (set) => startWithoutCache('svc, cold', set, DECODE_ALWAYS);

/** The same after some reads, with the decoded rows on disk. */
async function startDecoded(set) {
  const side = await startWithoutCache('svc, decoded on disk', set);
  await untilDecoded(side, () => download(side.url, { request: side.all('arrow') }));
  return side;
}

async function startWithoutCache(name, set, env) {
  const side = await svc.start(set, ['--cache-size', '0.001'], env);
  return { ...side, name, all: (format) => (format === 'arrow' ? side.all(format) : undefined) };
}

/** Reads one response, and measures the resources of the processes of a side. */
async function measure(side, request) {
  const cpuBefore = cpuMs(side.pid);
  const before = residentBytes(side.pid);
  let peak = before;
  const watch = () => (peak = Math.max(peak, residentBytes(side.pid)));
  const { bytes, ms, firstMs } = await download(side.url, { request, watch });
  return { ms, firstMs, bytes, cpuMs: cpuMs(side.pid) - cpuBefore, growthMiB: (peak - before) / 2 ** 20 };
}

const values = [];
const missing = {};
for (const { name, rows, formats } of SETS) {
  const set = await provideDataSet(name, rows);
  const peers = await startPeers(set, { without: name === 'trades' ? [] : SLOW });
  if (name === 'trades') peers.sides.push(await startCold(set), await startDecoded(set));
  missing[name] = peers.missing;
  try {
    const compare = name === 'trades' ? compareTrades : compareRows;
    await compare(peers.sides, (side) => side.window(rows - 1000, 1000));
    // The first round is a warm-up, and counts only for the slow ones.
    for (let round = 0; round <= ROUNDS; round++) {
      const order = round % 2 === 0 ? peers.sides : peers.sides.toReversed();
      for (const format of formats) {
        for (const side of order) {
          const request = side.all(format);
          const isSlow = SLOW.includes(side.name);
          if (request === undefined || (isSlow && round > 0)) continue;
          peers.giveMachineTo(side);
          const value = { set: name, format, side: side.name, round, ...(await measure(side, request)) };
          if (isSlow || round > 0) values.push(value);
          console.log(name, format, side.name, Math.round(value.ms), Math.round(value.cpuMs));
        }
      }
    }
  } finally {
    await peers.stop();
  }
}

const groups = {};
for (const value of values) (groups[`${value.set} ${value.format} ${value.side}`] ??= []).push(value);
const summary = Object.values(groups).map((own) => {
  const of = (key) => median(own.map((value) => value[key]));
  return {
    set: own[0].set,
    format: own[0].format,
    peer: own[0].side,
    ms: Math.round(of('ms')),
    'first byte, ms': Number(of('firstMs').toFixed(1)),
    'CPU of the server, ms': Math.round(of('cpuMs')),
    'growth, MiB': Math.round(Math.max(...own.map((value) => value.growthMiB))),
    MB: Number((of('bytes') / 1e6).toFixed(1)),
  };
});
console.table(summary);
writeResults('exports', { sets: SETS, missing, summary, values });
