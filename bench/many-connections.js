// The first 1000 rows as JSON over 500 connections that are opened at once: how evenly they are served.
import { compareTrades } from './compare-responses.js';
import { provideDataSet } from './data-set.js';
import { writeResults } from './interleave.js';
import { load } from './load.js';
import { median } from './measure.js';
import { datasette } from './peers/datasette.js';
import { mosaic } from './peers/mosaic.js';
import { naiveNode } from './peers/naive-node.js';
import { startPeers } from './peers/start-peers.js';

/** Peers with a few requests at a time. */
const FEW_CONNECTIONS = [datasette, mosaic, naiveNode].map(({ name }) => name);
const ROWS = 1_000_000;
const WINDOW = 1000;
const LOAD = { connections: 500, seconds: 4 };
const WARM_UP = { connections: 16, seconds: 2 };
const ROUNDS = 5;

const set = await provideDataSet('trades', ROWS);
const peers = await startPeers(set, { format: 'json', without: FEW_CONNECTIONS });
const { sides, missing } = peers;
const values = [];
try {
  await compareTrades(sides, (side) => side.window(0, WINDOW));
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      peers.giveMachineTo(side);
      const request = () => side.window(0, WINDOW);
      if (round === 0) await load(side.url, request, WARM_UP);
      const measured = await load(side.url, request, LOAD);
      values.push({ round, side: side.name, ...measured });
      console.log(side.name, Math.round(measured.perSecond), measured.mean.toFixed(), measured.p99.toFixed());
    }
  }
} finally {
  await peers.stop();
}

const summary = sides.map(({ name }) => {
  const own = values.filter(({ side }) => side === name);
  const of = (key) => median(own.map((value) => value[key]));
  return {
    peer: name,
    'answers/s': Math.round(of('perSecond')),
    'mean, ms': Number(of('mean').toFixed(1)),
    'p99, ms': Number(of('p99').toFixed(1)),
    'slowest, ms': Number(of('max').toFixed(1)),
    'p99 / mean': Number(median(own.map(({ p99, mean }) => p99 / mean)).toFixed(2)),
  };
});
console.table(summary);
writeResults('many-connections', { rows: ROWS, window: WINDOW, load: LOAD, missing, summary, values });
