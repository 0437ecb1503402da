import { type Axis, finite, type Place, type Range, type TimeAxis } from './axis.ts';
import { literal } from './relation.ts';
import { floorTo, monthOf, roundStep, startOfMonth, timeStep, wholeStep } from './ticks.ts';

/** Round, equally long parts of an axis: of calendar months, too. */
export interface Bucket {
  /** The SQL for the number of the bucket of a place `p`. */
  readonly sql: string;
  /** Returns the number of the bucket of a place. */
  of(place: Place): number;
  /** Returns the place where a bucket starts. */
  start(key: number): Place;
}

/** Returns the shortest round buckets of which a range has about `most` or fewer. */
export function bucketsOf(axis: Axis, range: Range, most: number): Bucket {
  const { lo, hi } = range;
  if (typeof lo === 'number' || typeof hi === 'number') return realBuckets(Number(lo), Number(hi), most);
  if (axis.kind !== 'time') return unitBuckets(lo, wholeStep(hi - lo + 1n, most));
  const step = timeStep(axis, hi - lo, most);
  return step.kind === 'units' ? unitBuckets(lo, step.units) : monthBuckets(axis, step.months);
}

function unitBuckets(lo: bigint, step: bigint): Bucket {
  const anchor = floorTo(lo, step);
  const stepNumber = Number(step);
  return {
    sql: `cast((p - ${anchor}) // ${step} as bigint)`,
    of(place) {
      const units = BigInt(place) - anchor;
      const near = Number(units);
      // The quotient of two exact doubles never reaches a whole number that it should not.
      return Number.isSafeInteger(near) ? Math.floor(near / stepNumber) : Number(floorTo(units, step) / step);
    },
    start: (key) => anchor + BigInt(key) * step,
  };
}

function realBuckets(lo: number, hi: number, most: number): Bucket {
  const step = Math.min(roundStep(Math.max(((hi / 2 - lo / 2) / most) * 2, Number.MIN_VALUE)), Number.MAX_VALUE / 4);
  return {
    sql: `cast(floor(p / ${literal(step)}) as double)`,
    of: (place) => Math.floor(Number(place) / step),
    start: (key) => finite(key * step),
  };
}

function monthBuckets(axis: TimeAxis, months: number): Bucket {
  const time = axis.unit === 'us' ? 'make_timestamp(p)' : 'make_timestamp_ns(p)';
  return {
    sql: `cast(floor((year(${time}) * 12 + month(${time}) - 1) / ${months}) as bigint)`,
    of: (place) => Math.floor(monthOf(axis, BigInt(place)) / months),
    start: (key) => startOfMonth(axis, key * months),
  };
}

/** Returns the range from the start of the first bucket to the end of the last one of a range. */
export function wholeBuckets(bucket: Bucket, { lo, hi }: Range): Range {
  return { lo: bucket.start(bucket.of(lo)), hi: bucket.start(bucket.of(hi) + 1) };
}
