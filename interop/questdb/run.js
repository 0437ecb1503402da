// Runs the QuestDB suite against a real QuestDB, which it downloads once and starts.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const args = ['run', '--config', 'interop/questdb/vitest.config.js', ...process.argv.slice(2)];
const { status } = spawnSync('node_modules/.bin/vitest', args, { cwd: root, stdio: 'inherit' });
process.exit(status ?? 1);
