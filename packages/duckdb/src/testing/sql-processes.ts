import { readdirSync, readFileSync } from 'node:fs';

/** The locked children of this process; only where the system has /proc. */
export function sqlChildPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        // The name of a program may hold spaces and brackets.
        const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? [];
        return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('"isLocked"');
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
}
