// Runs the suite of every peer, or of those that the arguments name. All of them run even if one fails. Two run at a time:
// most wait for a client of one thread, or for an installation. What the failed ones printed last is printed again at the end,
// where people look.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const LAST_CHARACTERS = 8000;

/** The suites of a lane run one after the other: they install the same things. */
const LANES = [
  ['python', 'ibis', 'superset', 'openapi', 'node', 'runtimes', 'go', 'rust', 's3', 'delta'],
  ['browser', 'console', 'console-firefox', 'questdb', 'jdbc', 'spark-jdbc', 'scheduler', 'deploy'],
];

/** Runs a suite, and prints what it printed, in one piece unless it is alone. Returns the end of that if it failed. */
async function runSuite(peer, isAlone) {
  const script = fileURLToPath(new URL(`${peer}/run.js`, import.meta.url));
  const suite = spawn(process.execPath, [script], { stdio: ['inherit', 'pipe', 'pipe'] });
  const chunks = [];
  if (isAlone) console.error(`\n== interop/${peer}`);
  for (const output of [suite.stdout, suite.stderr]) {
    output.setEncoding('utf8').on('data', (text) => {
      if (isAlone) process.stderr.write(text);
      chunks.push(text);
    });
  }
  const [status] = await once(suite, 'close');
  const printed = chunks.join('');
  if (!isAlone) process.stderr.write(`\n== interop/${peer}\n${printed}`);
  return status === 0 ? undefined : printed.slice(-LAST_CHARACTERS);
}

const failed = new Map();
const times = [];

async function runLane(peers, isAlone) {
  for (const peer of peers) {
    const start = performance.now();
    const last = await runSuite(peer, isAlone);
    times.push(`${String(Math.round((performance.now() - start) / 1000)).padStart(5)} s  interop/${peer}`);
    if (last !== undefined) failed.set(peer, last);
  }
}

const given = process.argv.slice(2);
if (given.length > 0) await runLane(given, true);
else await Promise.all(LANES.map((peers) => runLane(peers, false)));
console.error(`\n${times.join('\n')}`);
for (const [peer, last] of failed) console.error(`\n== interop/${peer} failed. The end of its output:\n${last}`);
if (failed.size > 0) console.error(`\nFailed: ${[...failed.keys()].join(', ')}.`);
process.exitCode = failed.size > 0 ? 1 : 0;
