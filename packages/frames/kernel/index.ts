// The kernel writes the cells of columns as text. It is AssemblyScript, which looks like TypeScript and compiles to
// WebAssembly: `npm run kernel` at the root does it, and the outcome is kept in src/encode/kernel/generated.
import { hasBroken, setRoom, writeCell } from './cells';
import { initDigits } from './digits';
import { POWERS } from './float';

initDigits();

let end: usize = 0;

/** Where the powers of ten are to be put. */
export function powersPointer(): usize {
  return POWERS;
}

/** Where free memory begins. */
export function freePointer(): usize {
  return __heap_base;
}

/** Where the last call of `writeRows` ended. */
export function position(): usize {
  return end;
}

/** Whether the last call of `writeRows` stopped at a value that leads outside of its buffer. */
export function isBroken(): bool {
  return hasBroken();
}

/**
 * Writes the cells of a column from `first` on, until `last` or the room ends; returns the first that is not written. A
 * cell takes at most `cellBytes` beside its texts and items. Where `ends` is not 0, the end of each cell is put there.
 */
export function writeRows(
  column: usize,
  first: u32,
  last: u32,
  out: usize,
  room: u32,
  cellBytes: u32,
  ends: usize,
): u32 {
  const limit = out + room;
  setRoom(limit, cellBytes);
  let at = out;
  let row = first;
  for (; row < last && at + cellBytes <= limit; row++) {
    const to = writeCell(column, at, row);
    if (to == 0) break;
    at = to;
    if (ends != 0) store<u32>(ends + 4 * (row - first), at - out);
  }
  end = at;
  return row;
}
