// 1000 rows as JSON, over various numbers of connections: the same window repeatedly, and a different one every time.
import { compareTrades } from './compare-responses.js';
import { provideDataSet } from './data-set.js';
import { load } from './load.js';
import { median } from './measure.js';
import { startPeers } from './peers/start-peers.js';
import { svcWithoutCache } from './peers/svc.js';
import { writeResults } from './interleave.js';

const ROWS = 1_000_000;
const WINDOW = 1000;
const SECONDS = 3;
const ROUNDS = 5;
const CONNECTIONS = [1, 16, 128];
/** Warm-up. */
const WARM_UP = { connections: 16, seconds: 2 };

const sameWindow = (side) => () => side.window(0, WINDOW);
/** The n-th window: far from the previous one; repeats only after all others. */
const otherWindows = (side, round) => (n) => side.window(((n + round * 100_003) * 7_919_003) % (ROWS - WINDOW), WINDOW);

const set = await provideDataSet('trades', ROWS);
const peers = await startPeers(set, { format: 'json', and: [svcWithoutCache] });
const { sides, missing } = peers;
const values = [];
try {
  for (const offset of [0, 123_000]) await compareTrades(sides, (side) => side.window(offset, WINDOW));
  for (const side of sides) {
    peers.giveMachineTo(side);
    await load(side.url, sameWindow(side), WARM_UP);
    await load(side.url, otherWindows(side, ROUNDS), WARM_UP);
  }
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? sides : sides.toReversed();
    for (const connections of CONNECTIONS) {
      for (const side of order) {
        peers.giveMachineTo(side);
        const same = await load(side.url, sameWindow(side), { connections, seconds: SECONDS });
        const other = await load(side.url, otherWindows(side, round), { connections, seconds: SECONDS });
        values.push({ round, side: side.name, connections, same, other });
        console.log(side.name, connections, Math.round(same.perSecond), Math.round(other.perSecond));
      }
    }
  }
} finally {
  await peers.stop();
}

const summary = CONNECTIONS.flatMap((connections) =>
  sides.map(({ name }) => {
    const own = values.filter((value) => value.side === name && value.connections === connections);
    const of = (window, key) => median(own.map((value) => value[window][key]));
    return {
      peer: name,
      connections,
      'same window, answers/s': Math.round(of('same', 'perSecond')),
      'same window, p99 ms': Number(of('same', 'p99').toFixed(2)),
      'other windows, answers/s': Math.round(of('other', 'perSecond')),
      'other windows, p99 ms': Number(of('other', 'p99').toFixed(2)),
    };
  }),
);
console.table(summary);
writeResults('first-rows', { rows: ROWS, window: WINDOW, missing, summary, values });
