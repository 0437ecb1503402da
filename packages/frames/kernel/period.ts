import { writeInt, writePadded, writeUint } from './digits';

/**
 * Writes months, days and a count of units as an ISO 8601 duration. Each part has its own sign; zero parts are omitted.
 */
export function writePeriod(at: usize, months: i32, days: i32, count: i64, perSecond: i64): usize {
  store<u8>(at, 80);
  let to = writePart(at + 1, months / 12, 89);
  to = writePart(to, months % 12, 77);
  to = writePart(to, days, 68);
  if (count != 0) return writeClock(to, count, perSecond);
  if (to > at + 1) return to;
  store<u32>(to, 0x53_3054);
  return to + 3;
}

function writePart(at: usize, n: i64, letter: u8): usize {
  if (n == 0) return at;
  const to = writeInt(at, n);
  store<u8>(to, letter);
  return to + 1;
}

/** Writes hours, minutes and seconds after a T. */
function writeClock(at: usize, count: i64, perSecond: i64): usize {
  const hours = count / perSecond / 3600;
  const rest = count - hours * 3600 * perSecond;
  const minutes = rest / (60 * perSecond);
  const left = rest - minutes * 60 * perSecond;
  store<u8>(at, 84);
  let to = writePart(at + 1, hours, 72);
  to = writePart(to, minutes, 77);
  if (left == 0) return to;
  if (left < 0) store<u8>(to++, 45);
  const magnitude = abs(left);
  const seconds = magnitude / perSecond;
  to = writeUint(to, seconds);
  const units = magnitude - seconds * perSecond;
  if (units > 0) {
    store<u8>(to, 46);
    to = writePadded(to + 1, units as u32, perSecond == 1000 ? 3 : perSecond == 1_000_000 ? 6 : 9);
    while (load<u8>(to - 1) == 48) to--;
  }
  store<u8>(to, 83);
  return to + 1;
}
