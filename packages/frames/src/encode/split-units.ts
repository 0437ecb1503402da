/** Units of Arrow times, as fractions of a second. */
export type UnitsPerSecond = 1 | 1_000 | 1_000_000 | 1_000_000_000;

const DAY_SECONDS = 86_400;

/** What a split leaves behind, in a typed array so that no number is boxed for each cell. */
export const parts = new Float64Array(3);
/** Where the days are in `parts`. */
export const DAY = 0;
/** Where the second of the day is in `parts`. */
export const SECOND = 1;
/** Where the units that are no whole second are in `parts`. */
export const UNITS = 2;

/** Splits `high * 2^32 + low` into day, second of the day and units left over; every product stays below 2^53. */
export const SPLITS: Record<UnitsPerSecond, (low: number, high: number) => void> = {
  1: (low, high) => {
    parts[UNITS] = 0;
    splitDay(high * 49_710, high * 23_296 + (low >>> 0));
  },
  1_000: (low, high) => {
    const part = high * 296 + (low >>> 0);
    const carry = Math.floor(part / 1_000);
    parts[UNITS] = part - carry * 1_000;
    splitDay(high * 49, high * 61_367 + carry);
  },
  1_000_000: (low, high) => {
    const part = high * 967_296 + (low >>> 0);
    const carry = Math.floor(part / 1_000_000);
    parts[UNITS] = part - carry * 1_000_000;
    splitDay(0, high * 4294 + carry);
  },
  1_000_000_000: (low, high) => {
    const upper = high >> 16;
    const part = upper * 976_710_656 + (high & 0xffff) * 294_967_296 + (low >>> 0);
    const carry = Math.floor(part / 1_000_000_000);
    parts[UNITS] = part - carry * 1_000_000_000;
    splitDay(0, high * 4 + upper * 19_330 + carry);
  },
};

function splitDay(days: number, seconds: number): void {
  const more = Math.floor(seconds / DAY_SECONDS);
  parts[DAY] = days + more;
  parts[SECOND] = seconds - more * DAY_SECONDS;
}

/** Splits the magnitude of `high * 2^32 + low`; returns whether it is below zero. */
export function splitMagnitude(unitsPerSecond: UnitsPerSecond, low: number, high: number): boolean {
  SPLITS[unitsPerSecond](low, high);
  if (high >= 0) return false;
  // Days are rounded down and the rest counts up from there; seen from zero it is the other way round.
  let seconds = parts[SECOND];
  if (parts[UNITS] > 0) {
    parts[UNITS] = unitsPerSecond - parts[UNITS];
    seconds++;
  }
  parts[DAY] = seconds > 0 ? -parts[DAY] - 1 : -parts[DAY];
  parts[SECOND] = seconds > 0 ? DAY_SECONDS - seconds : 0;
  return true;
}
