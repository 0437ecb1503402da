import { readFileSync } from 'node:fs';

/** What the system counts as the memory of a process; 0 where it does not say. */
export function countedBytes(pid: number): number {
  try {
    const [, kibibytes] = /^VmData:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kibibytes ?? 0) * 1024;
  } catch {
    return 0;
  }
}
