// 1 to 1000 concurrent clients with different requests: a short read, another window, the health, a list.
import { residentBytes } from '../tools/process-resources.js';
import { provideDataSet } from './data-set.js';
import { load } from './load.js';
import { median } from './measure.js';
import { svc } from './peers/svc.js';
import { writeResults } from './interleave.js';

const ROWS = 1_000_000;
const CLIENTS = [1, 16, 128, 1000];
const SECONDS = 4;
const ROUNDS = 5;

const set = await provideDataSet('trades', ROWS);
const side = await svc.start(set);
const requests = [
  () => side.window(0, 1000),
  (n) => side.window((n * 7_919_000) % (ROWS - 1000), 1000),
  (n) => side.window((n * 104_729) % (ROWS - 100), 100),
  () => ({ path: '/ping' }),
  () => ({ path: '/frames' }),
];
const values = [];
try {
  for (let round = 0; round < ROUNDS; round++) {
    for (const connections of CLIENTS) {
      const requestOf = (n) => requests[n % requests.length](n);
      const value = await load(side.url, requestOf, { connections, seconds: SECONDS });
      values.push({ connections, residentMiB: residentBytes(side.pid) / 2 ** 20, ...value });
    }
  }
} finally {
  await side.stop();
}
const summary = CLIENTS.map((connections) => {
  const own = values.filter((value) => value.connections === connections);
  const of = (key) => median(own.map((value) => value[key]));
  return {
    clients: connections,
    'answers/s': Math.round(of('perSecond')),
    'p50, ms': Number(of('p50').toFixed(2)),
    'p99, ms': Number(of('p99').toFixed(2)),
    'resident, MiB': Math.round(of('residentMiB')),
  };
});
console.table(summary);
writeResults('mixed-clients', { rows: ROWS, summary, values });
