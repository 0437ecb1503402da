// A real Chromium for tests: the installed one, else Debian's, downloaded once.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { debianEnvironment, provideDebian } from './debian-packages.js';

const NAMES = ['chromium-headless-shell', 'chromium', 'google-chrome'];

/** Returns the environment of tests, with the program of the browser in SVC_CHROMIUM. */
export function provideBrowser() {
  const installed = NAMES.find((name) => spawnSync(name, ['--version']).status === 0);
  if (installed !== undefined) {
    const { stdout } = spawnSync('sh', ['-c', 'command -v "$0"', installed], { encoding: 'utf8' });
    return { ...process.env, SVC_CHROMIUM: stdout.trim() };
  }
  const folder = provideDebian('chromium-headless-shell', 'fonts-dejavu-core');
  return { ...debianEnvironment(folder), SVC_CHROMIUM: join(folder, 'usr/lib/chromium/chromium-headless-shell') };
}
