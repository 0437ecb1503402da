import { decodeTime, encodeTime, ulid } from 'ulid';

/** Generates versions: ULIDs, each greater than all before it, whatever the clock does. */
export interface FrameVersions {
  /** Returns a version greater than `floor` and all earlier ones. */
  next(floor: string): string;
}

/** A ULID begins with its time, and goes on with random digits. */
const PREFIX_LENGTH = 10;

/** Creates a generator that uses the clock `now`. */
export function createFrameVersions(now: () => number = Date.now): FrameVersions {
  let last = '';
  return {
    next(floor) {
      const least = floor > last ? floor : last;
      const time = now();
      const prefix = encodeTime(time, PREFIX_LENGTH);
      last = prefix > least.slice(0, PREFIX_LENGTH) ? ulid(time) : successor(least);
      return last;
    },
  };
}

/** Returns the creation time of a version. */
export function timeOfVersion(version: string): Date {
  return new Date(decodeTime(version));
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Returns the next ULID. */
function successor(version: string): string {
  const kept = version.replace(/Z+$/, '');
  const digit = kept.at(-1) ?? '';
  const next = DIGITS[DIGITS.indexOf(digit) + 1] ?? '';
  return (kept.slice(0, -1) + next).padEnd(version.length, '0');
}
