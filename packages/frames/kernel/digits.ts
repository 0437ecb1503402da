/** Two digits for each of 0 to 99. */
const PAIRS: usize = memory.data(200);

/** Fills the table of this module. Call it once. */
export function initDigits(): void {
  for (let n = 0; n < 100; n++) {
    store<u8>(PAIRS + 2 * n, 48 + n / 10);
    store<u8>(PAIRS + 2 * n, 48 + (n % 10), 1);
  }
}

/** Writes two digits, n < 100. */
export function writePair(at: usize, n: u32): void {
  store<u16>(at, load<u16>(PAIRS + (n << 1)));
}

/** Returns the eight digits of n < 10^8, one per byte, the first in the lowest. */
export function spread(n: u32): u64 {
  const upper = n / 10_000;
  let digits = (upper as u64) | (((n - upper * 10_000) as u64) << 32);
  // One multiplication leaves the upper part in place and subtracts it from the lower one.
  const hundreds = ((digits * 10_486) >> 20) & 0x0000_007f_0000_007f;
  digits = (digits << 16) - hundreds * ((100 << 16) - 1);
  const tens = ((digits * 103) >> 10) & 0x000f_000f_000f_000f;
  return (digits << 8) - tens * ((10 << 8) - 1);
}

/** Eight ASCII zeros; OR the digits of `spread` to get text. */
export const ZEROS: u64 = 0x3030_3030_3030_3030;
const LAST_DIGIT: u64 = 1 << 56;

/** Writes exactly eight digits, n < 10^8. */
export function writeEight(at: usize, n: u32): void {
  store<u64>(at, spread(n) | ZEROS);
}

/** Writes a point and 0 < n < 10^8 as decimals, without trailing zeros. */
export function writeDecimals(at: usize, n: u32): usize {
  const digits = spread(n);
  store<u8>(at, 46);
  store<u64>(at, digits | ZEROS, 1);
  return at + 9 - ((clz(digits) >> 3) as usize);
}

/** Writes exactly `width` digits, at most nine. */
export function writePadded(at: usize, n: u32, width: i32): usize {
  let rest = n;
  for (let i = width - 1; i >= 0; i--) {
    const tenth = rest / 10;
    store<u8>(at + i, 48 + (rest - tenth * 10));
    rest = tenth;
  }
  return at + width;
}

/** Writes n < 10^8 without leading zeros, in at most eight bytes. */
function writeShort(at: usize, n: u32): usize {
  const digits = spread(n);
  // Keep the last digit even if it is zero.
  const zeros = ctz(digits | LAST_DIGIT) >> 3;
  store<u64>(at, (digits | ZEROS) >> (zeros << 3));
  return at + 8 - (zeros as usize);
}

/** Writes an unsigned integer. */
export function writeUint(at: usize, n: u64): usize {
  if (n < 100_000_000) return writeShort(at, n as u32);
  const upper = n / 100_000_000;
  let to: usize;
  if (upper < 100_000_000) {
    to = writeShort(at, upper as u32);
  } else {
    const top = upper / 100_000_000;
    to = writeShort(at, top as u32);
    writeEight(to, (upper - top * 100_000_000) as u32);
    to += 8;
  }
  writeEight(to, (n - upper * 100_000_000) as u32);
  return to + 8;
}

/** Writes a signed integer. */
export function writeInt(at: usize, n: i64): usize {
  if (n >= 0) return writeUint(at, n as u64);
  store<u8>(at, 45);
  return writeUint(at + 1, (0 - n) as u64);
}
