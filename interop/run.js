// Runs the suite of every peer, or of those that the arguments name, one after the other because they share the machine. All
// of them run even if one fails.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const given = process.argv.slice(2);
const peers =
  given.length > 0
    ? given
    : ['python', 'openapi', 'browser', 'console', 'questdb', 'jdbc', 'go', 'scheduler', 'deploy'];
const failed = peers.filter((peer) => {
  console.error(`\n== interop/${peer}`);
  const script = fileURLToPath(new URL(`${peer}/run.js`, import.meta.url));
  return spawnSync(process.execPath, [script], { stdio: 'inherit' }).status !== 0;
});
if (failed.length > 0) console.error(`\nFailed: ${failed.join(', ')}.`);
process.exit(failed.length > 0 ? 1 : 0);
