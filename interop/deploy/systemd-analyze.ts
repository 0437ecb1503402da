import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { debianEnvironment, provideDebian } from '../../tools/debian-packages.js';

const isHere = spawnSync('systemd-analyze', ['--version']).status === 0;
const env = isHere ? process.env : debianEnvironment(provideDebian('systemd'));

/** Runs `systemd-analyze`: that of the machine, else Debian's. */
export function analyze(...args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync('systemd-analyze', args, { encoding: 'utf8', env });
}
