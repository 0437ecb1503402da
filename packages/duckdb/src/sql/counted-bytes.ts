import { readFileSync } from 'node:fs';
import { reservedBytes } from '../engine/reserved-bytes.ts';

/** What the system counts as the memory of a child, but for what Node reserves; 0 where it does not say. */
export function countedBytes(pid: number): number {
  try {
    const [, kibibytes] = /^VmData:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.max(0, Number(kibibytes ?? 0) * 1024 - reservedBytes());
  } catch {
    return 0;
  }
}
