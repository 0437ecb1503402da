import { readdirSync, readFileSync } from 'node:fs';
import type { ServerProcess } from './server-process.ts';

/** A child process of a server. */
export interface ServerChild {
  readonly pid: number;
  /** Its resident memory. */
  readonly mb: number;
  /** True once it handles SIGHUP, the last signal for which it sets a handler when it starts. */
  readonly handlesSignals: boolean;
}

/** Returns the children of a server, on Linux. */
export function childrenOf({ child }: ServerProcess): readonly ServerChild[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        const isChild = new RegExp(`^PPid:\\s+${child.pid}$`, 'm').test(status);
        if (!isChild) return [];
        const mb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
        const caught = BigInt(`0x${/^SigCgt:\s+(\w+)/m.exec(status)?.[1] ?? '0'}`);
        return [{ pid: Number(pid), mb, handlesSignals: (caught & 1n) === 1n }];
      } catch {
        // It has ended.
        return [];
      }
    });
}
