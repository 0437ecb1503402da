import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { ServerProcess } from './server-process.ts';

/** The memory that a server has resident. Only on Linux. */
export function residentBytes({ child }: ServerProcess): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** The sockets that a server holds, listeners included. Only on Linux. */
export function socketsOf({ child }: ServerProcess): number {
  const folder = `/proc/${child.pid}/fd`;
  return readdirSync(folder).filter((descriptor) => isSocket(`${folder}/${descriptor}`)).length;
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    // It was closed meanwhile.
    return false;
  }
}
