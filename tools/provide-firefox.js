// A real Firefox for tests: the installed one, else Debian's, downloaded once.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { debianEnvironment, provideDebian } from './debian-packages.js';

const NAMES = ['firefox-esr', 'firefox'];
const canRun = (name) => spawnSync(name, ['--version']).status === 0;

/** Returns the environment of tests, with the program of the browser in SVC_FIREFOX; undefined if there is none to be found. */
export function provideFirefox() {
  const installed = NAMES.find(canRun);
  if (installed !== undefined) return { ...process.env, SVC_FIREFOX: installed };
  if (!canRun('apt-get')) return undefined;
  const folder = provideDebian('firefox-esr', 'fonts-dejavu-core');
  return { ...debianEnvironment(folder), SVC_FIREFOX: join(folder, 'usr/lib/firefox-esr/firefox-esr') };
}
