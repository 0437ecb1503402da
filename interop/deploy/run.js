// Runs the suite of deploy/ with real programs, which it downloads from Debian once: buildah, systemd, Prometheus and nginx.
// Arguments go to Vitest: the name of a test file runs it alone.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const args = ['run', '--config', 'interop/deploy/vitest.config.js', ...process.argv.slice(2)];
const { status } = spawnSync('node_modules/.bin/vitest', args, { cwd: root, stdio: 'inherit' });
process.exit(status ?? 1);
