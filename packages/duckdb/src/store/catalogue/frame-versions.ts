import { decodeTime, ulid } from 'ulid';

/** Makes versions: ULIDs, each greater than every one before it, whatever the clock does. */
export interface FrameVersions {
  /** A version greater than all made before, and than `floor`. */
  next(floor: string): string;
}

/** Versions by the clock `now`. */
export function createFrameVersions(now: () => number = Date.now): FrameVersions {
  let last = '';
  return {
    next(floor) {
      const least = floor > last ? floor : last;
      const fresh = ulid(now());
      last = fresh > least ? fresh : successor(least);
      return last;
    },
  };
}

/** When a version was made, by the clock of then. */
export function timeOfVersion(version: string): Date {
  return new Date(decodeTime(version));
}

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The smallest ULID after this one. */
function successor(version: string): string {
  const kept = version.replace(/Z+$/, '');
  const digit = kept.at(-1) ?? '';
  const next = DIGITS[DIGITS.indexOf(digit) + 1] ?? '';
  return (kept.slice(0, -1) + next).padEnd(version.length, '0');
}
