import {
  type Axis,
  dayOfMonth,
  decimalText,
  distance,
  finite,
  monthOfDay,
  type Place,
  type Range,
  secondsOf,
  type TimeAxis,
  timeText,
} from './axis.ts';

/** The marks of an axis, and their labels. */
export interface Ticks {
  readonly places: readonly Place[];
  readonly labels: readonly string[];
}

/** Returns round places of a range, at most `most` (2 or more). Times are UTC, with 24 hours. */
export function ticksOf(axis: Axis, range: Range, most: number): Ticks {
  if (axis.kind === 'time' && typeof range.lo === 'bigint' && typeof range.hi === 'bigint') {
    return timeTicks(axis, range.lo, range.hi, most);
  }
  if (axis.kind === 'whole' && typeof range.lo === 'bigint' && typeof range.hi === 'bigint') {
    return wholeTicks(axis.scale, range.lo, range.hi, most);
  }
  return realTicks(Number(range.lo), Number(range.hi), most);
}

/** Returns 1, 2 or 5 times a power of ten, at least `least`. */
function roundStep(least: number): number {
  // The powers of ten end before the doubles do.
  if (least < 1e-300) return 2 ** Math.ceil(Math.log2(least));
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((digit) => digit * power >= least * (1 - 1e-9)) ?? 10;
  return step * power;
}

function realTicks(lo: number, hi: number, most: number): Ticks {
  if (!(hi > lo)) return { places: [lo], labels: [String(lo)] };
  // Halves, because the length of the range of all doubles is infinite.
  const step = roundStep(Math.max(((hi / 2 - lo / 2) / most) * 2, Number.MIN_VALUE));
  if (!Number.isFinite(step)) return { places: [0], labels: ['0'] };
  const places: number[] = [];
  const first = Math.ceil(lo / step);
  const last = Math.floor(hi / step);
  for (let i = first; i <= last && places.length <= most; i += 1) places.push(i * step);
  const digits = Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return { places, labels: places.map((place) => numberLabel(place, digits)) };
}

function numberLabel(value: number, digits: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-6)) return String(Number(value.toPrecision(12)));
  return grouped((Object.is(value, -0) ? 0 : value).toFixed(digits));
}

function wholeTicks(scale: number, lo: bigint, hi: bigint, most: number): Ticks {
  const step = wholeStep(hi - lo, most);
  const places: bigint[] = [];
  for (let place = ceilTo(lo, step); place <= hi; place += step) places.push(place);
  const zeros = String(step).length - String(step).replace(/0+$/, '').length;
  const digits = Math.max(0, scale - zeros);
  const unit = 10n ** BigInt(scale - digits);
  return { places, labels: places.map((place) => grouped(decimalText(place / unit, digits))) };
}

/** Returns 1, 2 or 5 times a power of ten: at most `most` of them are in a length. */
function wholeStep(length: bigint, most: number): bigint {
  const count = BigInt(Math.max(1, most));
  for (let power = 1n; ; power *= 10n) {
    for (const digit of [1n, 2n, 5n]) if (digit * power * count >= length) return digit * power;
  }
}

/** Puts narrow spaces, where no line breaks, between groups of three digits of the whole part, if there are five or more. */
export function grouped(text: string): string {
  const [whole = '', fraction] = text.split('.');
  const spaced = whole.replace('-', '').length < 5 ? whole : whole.replaceAll(/\B(?=(\d{3})+$)/g, '\u202F');
  return fraction === undefined ? spaced : `${spaced}.${fraction}`;
}

/** Steps of a time axis in seconds; below a second they are powers of ten times 1, 2 and 5. */
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
/** Longer steps in days, aligned to Mondays from a week on. */
const DAYS = [1, 2, 7, 14];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120];

/** A round length of time: units of the axis, or months. */
export type TimeStep =
  { readonly kind: 'units'; readonly units: bigint } | { readonly kind: 'months'; readonly months: number };

const DAY_SECONDS = 86_400n;
/** 1970-01-01 was a Thursday. */
const FIRST_MONDAY = 4n;

/** Returns the shortest round step: a length has at most `most` of them. */
function timeStep(axis: TimeAxis, length: bigint, most: number): TimeStep {
  const second = secondsOf(axis);
  const least = length / BigInt(most) + 1n;
  if (least < second) return { kind: 'units', units: wholeStep(length, most) };
  const candidates = [...SECONDS.map(BigInt), ...DAYS.map((days) => BigInt(days) * DAY_SECONDS)];
  const seconds = candidates.find((candidate) => candidate * second >= least);
  if (seconds !== undefined) return { kind: 'units', units: seconds * second };
  const month = 28n * DAY_SECONDS * second;
  const months = MONTHS.find((count) => BigInt(count) * month >= least);
  if (months !== undefined) return { kind: 'months', months };
  const years = wholeStep(length / (365n * DAY_SECONDS * second) + 1n, most);
  return { kind: 'months', months: Number(years) * 12 };
}

function timeTicks(axis: TimeAxis, lo: bigint, hi: bigint, most: number): Ticks {
  const step = timeStep(axis, hi - lo, most);
  const places = step.kind === 'units' ? unitPlaces(axis, lo, hi, step.units) : monthPlaces(axis, lo, hi, step.months);
  return { places, labels: places.map((place, i) => timeLabel(axis, place, step, places[i - 1])) };
}

function unitPlaces(axis: TimeAxis, lo: bigint, hi: bigint, step: bigint): bigint[] {
  const shift = step > DAY_SECONDS * secondsOf(axis) ? FIRST_MONDAY * DAY_SECONDS * secondsOf(axis) : 0n;
  const places: bigint[] = [];
  for (let place = ceilTo(lo - shift, step) + shift; place <= hi; place += step) places.push(place);
  return places;
}

function monthPlaces(axis: TimeAxis, lo: bigint, hi: bigint, months: number): bigint[] {
  const places: bigint[] = [];
  for (let month = Math.floor(monthOf(axis, lo) / months) * months; ; month += months) {
    const place = startOfMonth(axis, month);
    if (place > hi) return places;
    if (place >= lo) places.push(place);
  }
}

/** Returns the month of a time, counted from January of the year 0. */
function monthOf(axis: TimeAxis, place: bigint): number {
  const day = DAY_SECONDS * secondsOf(axis);
  return monthOfDay(Number(floorTo(place, day) / day));
}

/** Returns the time when a month starts. */
function startOfMonth(axis: TimeAxis, month: number): bigint {
  return BigInt(dayOfMonth(month)) * DAY_SECONDS * secondsOf(axis);
}

/** Returns the label of a mark: its day where the day changes, else the time with the digits of the step. */
function timeLabel(axis: TimeAxis, place: bigint, step: TimeStep, before: bigint | undefined): string {
  const text = timeText(axis, place);
  const [day = '', time = ''] = text.slice(0, -1).split('T');
  if (step.kind === 'months') return step.months % 12 === 0 ? day.slice(0, -6) : day.slice(0, -3);
  const second = secondsOf(axis);
  if (step.units >= DAY_SECONDS * second) return day;
  const clock = clockOf(axis, time, step.units);
  const isNewDay = before === undefined || timeText(axis, before).split('T')[0] !== day;
  return isNewDay ? `${clock}\n${day}` : clock;
}

function clockOf(axis: TimeAxis, time: string, step: bigint): string {
  const second = secondsOf(axis);
  if (step >= 60n * second) return time.slice(0, 5);
  if (step >= second) return time.slice(0, 8);
  const zeros = String(step).replace(/^[^0]+/, '').length;
  const digits = (axis.unit === 'us' ? 6 : 9) - zeros;
  return time.slice(0, 9 + digits);
}

function floorTo(value: bigint, step: bigint): bigint {
  const rest = ((value % step) + step) % step;
  return value - rest;
}

function ceilTo(value: bigint, step: bigint): bigint {
  const floor = floorTo(value, step);
  return floor === value ? floor : floor + step;
}

/** Returns how many marks fit beside each other. */
export function fittingTicks(pixels: number, pixelsEach: number): number {
  return Math.max(2, Math.floor(pixels / pixelsEach));
}

/** Returns the places of ticks for pixels, from the start of the range. */
export function offsets(from: Place, places: readonly Place[], unit: number): number[] {
  return places.map((place) => distance(from, place, unit));
}

/** Round, equally long parts of an axis: of calendar months, too. */
export interface Bucket {
  /** The SQL for the number of the bucket of a place `p`. */
  readonly sql: string;
  /** Returns the number of the bucket of a place. */
  of(place: Place): number;
  /** Returns the place where a bucket starts. */
  start(key: number): Place;
}

/** Returns the shortest round buckets: a range has about `most` or fewer. */
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
      // The quotient of two exact doubles never reaches a whole number too early.
      return Number.isSafeInteger(near) ? Math.floor(near / stepNumber) : Number(floorTo(units, step) / step);
    },
    start: (key) => anchor + BigInt(key) * step,
  };
}

function realBuckets(lo: number, hi: number, most: number): Bucket {
  const step = Math.min(roundStep(Math.max(((hi / 2 - lo / 2) / most) * 2, Number.MIN_VALUE)), Number.MAX_VALUE / 4);
  return {
    sql: `cast(floor(p / ${step.toExponential()}::double) as double)`,
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
