// Runs the suite of every peer, or of those that the arguments name, one after the other because they share the machine. All
// of them run even if one fails. What the failed ones printed last is printed again at the end, where people look.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const LAST_CHARACTERS = 8000;

/** Runs a suite; returns the end of what it printed if it failed. */
async function runSuite(peer) {
  console.error(`\n== interop/${peer}`);
  const script = fileURLToPath(new URL(`${peer}/run.js`, import.meta.url));
  const suite = spawn(process.execPath, [script], { stdio: ['inherit', 'pipe', 'pipe'] });
  let last = '';
  for (const [from, to] of [
    [suite.stdout, process.stdout],
    [suite.stderr, process.stderr],
  ])
    from.setEncoding('utf8').on('data', (text) => {
      to.write(text);
      last = (last + text).slice(-LAST_CHARACTERS);
    });
  const [status] = await once(suite, 'close');
  return status === 0 ? undefined : last;
}

const given = process.argv.slice(2);
const peers =
  given.length > 0
    ? given
    : [
        'python',
        'ibis',
        'superset',
        'openapi',
        'browser',
        'console',
        'console-firefox',
        'questdb',
        'jdbc',
        'spark-jdbc',
        'node',
        'runtimes',
        'go',
        'rust',
        's3',
        'scheduler',
        'deploy',
      ];
const failed = new Map();
const times = [];
for (const peer of peers) {
  const start = performance.now();
  const last = await runSuite(peer);
  times.push(`${String(Math.round((performance.now() - start) / 1000)).padStart(5)} s  interop/${peer}`);
  if (last !== undefined) failed.set(peer, last);
}
console.error(`\n${times.join('\n')}`);
for (const [peer, last] of failed) console.error(`\n== interop/${peer} failed. The end of its output:\n${last}`);
if (failed.size > 0) console.error(`\nFailed: ${[...failed.keys()].join(', ')}.`);
process.exitCode = failed.size > 0 ? 1 : 0;
