import { readFileSync } from 'node:fs';
import { reservedBytes } from '../engine/reserved-bytes.ts';

/**
 * The memory of a child as the system counts it, without the space that Node reserves; 0 if the system does not report
 * it.
 */
export function countedBytes(pid: number): number {
  try {
    const [, kibibytes] = /^VmData:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.max(0, Number(kibibytes ?? 0) * 1024 - reservedBytes());
  } catch {
    return 0;
  }
}
