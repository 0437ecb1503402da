// Runs the pages of the server in a real Chromium: the one that is installed, else that of Debian, which it downloads once.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { debianEnvironment, provideDebian } from '../../tools/debian-packages.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const NAMES = ['chromium-headless-shell', 'chromium', 'google-chrome'];

/** Returns the environment of the tests, with the program of the browser. */
function provideBrowser() {
  const installed = NAMES.find((name) => spawnSync(name, ['--version']).status === 0);
  if (installed !== undefined) {
    const { stdout } = spawnSync('sh', ['-c', 'command -v "$0"', installed], { encoding: 'utf8' });
    return { ...process.env, SVC_CHROMIUM: stdout.trim() };
  }
  const folder = provideDebian('chromium-headless-shell', 'fonts-dejavu-core');
  return { ...debianEnvironment(folder), SVC_CHROMIUM: join(folder, 'usr/lib/chromium/chromium-headless-shell') };
}

const args = ['run', '--config', 'interop/browser/vitest.config.js', ...process.argv.slice(2)];
const { status } = spawnSync('node_modules/.bin/vitest', args, { cwd: root, stdio: 'inherit', env: provideBrowser() });
process.exit(status ?? 1);
