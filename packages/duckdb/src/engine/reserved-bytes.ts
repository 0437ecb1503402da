import { readFileSync } from 'node:fs';

let bytes: number | undefined;

/**
 * The address space that this version of Node reserves in every process for code and that the system counts as memory:
 * half a GiB in newer versions, mostly unused. 0 if the system does not report it.
 */
export function reservedBytes(): number {
  return (bytes ??= writableCodeBytes());
}

function writableCodeBytes(): number {
  try {
    let sum = 0;
    for (const [, start = '', end = ''] of readFileSync('/proc/self/maps', 'latin1').matchAll(/^(\w+)-(\w+) rwxp /gm)) {
      sum += Number.parseInt(end, 16) - Number.parseInt(start, 16);
    }
    return sum;
  } catch {
    return 0;
  }
}
