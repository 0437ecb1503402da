// Runs the console in a real Firefox, if there is one.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { provideFirefox } from '../../tools/provide-firefox.js';

const env = provideFirefox();
if (env === undefined) {
  console.error('Skipped: this machine has neither Firefox nor apt-get to download it with.');
  process.exit(0);
}
const root = fileURLToPath(new URL('../..', import.meta.url));
const args = ['run', '--config', 'interop/console-firefox/vitest.config.js', ...process.argv.slice(2)];
const { status } = spawnSync('node_modules/.bin/vitest', args, { cwd: root, stdio: 'inherit', env });
process.exit(status ?? 1);
