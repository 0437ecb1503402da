import { readdirSync, readFileSync } from 'node:fs';

/** Returns the locked children of this process. Needs /proc. */
export function sqlChildPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        // The program name can contain spaces and parentheses.
        const [, parent] = /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? [];
        return Number(parent) === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('"isLocked"');
      } catch {
        // The process has ended meanwhile.
        return false;
      }
    });
}

/** Returns the CPU time of a process. Needs /proc. */
export function cpuSeconds(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The program name can contain anything; the times are the 12th and 13th field after it, in hundredths of a second.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    // The process has ended meanwhile.
    return 0;
  }
}
