// 1000 rows as JSON over 16 connections, with the server on one core and the client on another: what a core can do. The
// same window again and again, and a different one every time.
import { cpuMs, pin } from '../tools/process-resources.js';
import { compareTrades } from './compare-responses.js';
import { provideDataSet } from './data-set.js';
import { writeResults } from './interleave.js';
import { load } from './load.js';
import { median } from './measure.js';
import { datasette } from './peers/datasette.js';
import { mosaic } from './peers/mosaic.js';
import { naiveNode } from './peers/naive-node.js';
import { startPeers } from './peers/start-peers.js';
import { svcWithoutCache } from './peers/svc.js';

/** Peers of less than 200 responses per second on two cores. */
const SLOW = [datasette, mosaic, naiveNode].map(({ name }) => name);
const ROWS = 1_000_000;
const WINDOW = 1000;
const LOAD = { connections: 16, seconds: 4 };
const ROUNDS = 7;
const [SERVER_CORE, CLIENT_CORE] = ['0', '1'];

const WINDOWS = {
  'same window': (side) => () => side.window(0, WINDOW),
  /** Far from the previous one; repeats only after all others. */
  'other windows': (side, round) => (n) => side.window(((n + round * 100_003) * 7_919_003) % (ROWS - WINDOW), WINDOW),
};

const set = await provideDataSet('trades', ROWS);
const peers = await startPeers(set, { format: 'json', without: SLOW, and: [svcWithoutCache] });
const { sides, missing } = peers;
const values = [];
try {
  await compareTrades(sides, (side) => side.window(123_000, WINDOW));
  pin(process.pid, CLIENT_CORE);
  for (const side of sides) pin(side.pid, SERVER_CORE);
  // The first round is a warm-up.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      peers.giveMachineTo(side);
      for (const [what, requests] of Object.entries(WINDOWS)) {
        const before = cpuMs(side.pid);
        const measured = await load(side.url, requests(side, round), LOAD);
        const value = { what, round, side: side.name, ...measured, cpuMs: cpuMs(side.pid) - before };
        if (round > 0) values.push(value);
        console.log(what, side.name, Math.round(value.perSecond), (value.cpuMs / value.answers).toFixed(3));
      }
    }
  }
} finally {
  await peers.stop();
}

const summary = Object.keys(WINDOWS).flatMap((what) =>
  sides.map(({ name }) => {
    const own = values.filter((value) => value.what === what && value.side === name);
    return {
      what,
      peer: name,
      'answers/s': Math.round(median(own.map(({ perSecond }) => perSecond))),
      'CPU of the server, ms each': Number(median(own.map(({ cpuMs: ms, answers }) => ms / answers)).toFixed(3)),
    };
  }),
);
console.table(summary);
writeResults('one-core', { rows: ROWS, window: WINDOW, missing, summary, values });
