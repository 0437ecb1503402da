// Runs the S3 suite against a real server, versitygw, which it builds once.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const args = ['run', '--config', 'interop/s3/vitest.config.js', ...process.argv.slice(2)];
const { status } = spawnSync('node_modules/.bin/vitest', args, { cwd: root, stdio: 'inherit' });
process.exit(status ?? 1);
