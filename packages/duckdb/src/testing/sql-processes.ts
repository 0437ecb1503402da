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

/** How long processors have worked for a process; only where the system has /proc. */
export function cpuSeconds(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of a program may hold anything; the times are the 12th and 13th field after it, in hundredths.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}
