import { writeInt, writePadded, writeUint } from './digits';
import { writeHex } from './text';

function base64Digit(six: u32): u32 {
  if (six < 26) return 65 + six;
  if (six < 52) return 71 + six;
  if (six < 62) return six - 4;
  return six == 62 ? 43 : 47;
}

function writeFour(at: usize, three: u32): void {
  const digits =
    base64Digit(three >> 18) |
    (base64Digit((three >> 12) & 63) << 8) |
    (base64Digit((three >> 6) & 63) << 16) |
    (base64Digit(three & 63) << 24);
  store<u32>(at, digits);
}

/** Writes bytes as base64, with padding. */
export function writeBase64(at: usize, start: usize, end: usize): usize {
  let to = at;
  let from = start;
  for (; from + 2 < end; from += 3) {
    writeFour(to, (load<u8>(from) << 16) | (load<u8>(from, 1) << 8) | load<u8>(from, 2));
    to += 4;
  }
  if (from == end) return to;
  const isOne = from + 1 == end;
  writeFour(to, (load<u8>(from) << 16) | (isOne ? 0 : load<u8>(from, 1) << 8));
  store<u8>(to, 61, 3);
  if (isOne) store<u8>(to, 61, 2);
  return to + 4;
}

/** Writes 16 bytes as the text of a UUID. */
export function writeUuid(at: usize, start: usize): usize {
  let to = at;
  for (let i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) store<u8>(to++, 45);
    writeHex(to, load<u8>(start + i));
    to += 2;
  }
  return to;
}

/** The words of a dividend, and its base-10^9 digits. */
const WORDS: usize = memory.data(32, 8);
const BILLIONS: usize = memory.data(40, 8);

/** Writes the integer of `width` bytes at `from`, with a point before the last `scale` digits. */
export function writeFixedPoint(at: usize, from: usize, width: i32, scale: i32): usize {
  const to = writeWide(at, from, width);
  return scale == 0 ? to : placePoint(at, to, scale);
}

function writeWide(at: usize, from: usize, width: i32): usize {
  if (width == 4) return writeInt(at, load<i32>(from));
  const low = load<i64>(from);
  let isShort = true;
  for (let i = 8; i < width; i += 8) if (load<i64>(from + i) != low >> 63) isShort = false;
  if (isShort) return writeInt(at, low);

  let to = at;
  const isNegative = load<i8>(from + width - 1) < 0;
  if (isNegative) store<u8>(to++, 45);
  let carry: u64 = isNegative ? 1 : 0;
  for (let i = 0; i < width; i += 4) {
    const word: u64 = load<u32>(from + i);
    carry += isNegative ? word ^ 0xffff_ffff : word;
    store<u32>(WORDS + i, carry as u32);
    carry >>= 32;
  }
  let top = width;
  let count = 0;
  while (top > 0) {
    let rest: u64 = 0;
    for (let i = top - 4; i >= 0; i -= 4) {
      const part = (rest << 32) | (load<u32>(WORDS + i) as u64);
      store<u32>(WORDS + i, (part / 1_000_000_000) as u32);
      rest = part % 1_000_000_000;
    }
    store<u32>(BILLIONS + 4 * count++, rest as u32);
    while (top > 0 && load<u32>(WORDS + top - 4) == 0) top -= 4;
  }
  to = writeUint(to, load<u32>(BILLIONS + 4 * (count - 1)));
  for (let i = count - 2; i >= 0; i--) to = writePadded(to, load<u32>(BILLIONS + 4 * i), 9);
  return to;
}

/** Inserts the point into the digits from `start` to `end`; a negative scale appends zeros. */
function placePoint(start: usize, end: usize, scale: i32): usize {
  const first = load<u8>(start) == 45 ? start + 1 : start;
  if (scale < 0) {
    if (load<u8>(first) == 48) return end;
    memory.fill(end, 48, -scale);
    return end - scale;
  }
  // Leading zeros, so that there is a digit before the point.
  const zeros = max(0, scale + 1 - ((end - first) as i32));
  if (zeros > 0) {
    memory.copy(first + zeros, first, end - first);
    memory.fill(first, 48, zeros);
  }
  const point = end + zeros - scale;
  memory.copy(point + 1, point, scale);
  store<u8>(point, 46);
  return end + zeros + 1;
}
