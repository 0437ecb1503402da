// The kernel writes the cells of columns as text. It is written in AssemblyScript, which looks like TypeScript and
// compiles to WebAssembly: `npm run kernel` at the root compiles it to src/encode/kernel/generated.
import { hasBroken, setRoom, writeCell } from './cells';
import { initDigits } from './digits';
import { POWERS } from './float';

initDigits();

let end: usize = 0;

/** Returns the address for the powers of ten. */
export function powersPointer(): usize {
  return POWERS;
}

/** Returns the start of the free memory. */
export function freePointer(): usize {
  return __heap_base;
}

/** Returns the end of the bytes that the last `writeRows` wrote. */
export function position(): usize {
  return end;
}

/** Whether the last `writeRows` stopped at a value that points outside its buffer. */
export function isBroken(): bool {
  return hasBroken();
}

/**
 * Writes the cells of a column from `first`, up to `last` or until space runs out; returns the first row not written. A
 * cell takes at most `cellBytes`, except for its texts and items. If `ends` is not 0, stores the end of each cell
 * there.
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
