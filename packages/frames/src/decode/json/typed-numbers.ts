import { type Decimal, type Float, type Int, Precision } from 'apache-arrow';
import { columnTypeName } from '../../column-types.ts';
import type { Values } from '../../columns/column-data.ts';
import { integerAt, slotsOf, stringAt } from './json-text.ts';
import { type JsonSegment, TAG, type TypedSegment } from './json-column.ts';
import { allocateCounted } from './json-memory.ts';
import { misfitAt, requireKinds } from './misfit.ts';
import { standsForWhole } from './json-scalars.ts';

const SIGNED = (1 << TAG.long) | (1 << TAG.negative);
const UNSIGNED = (1 << TAG.long) | (1 << TAG.ulong);
const NUMBERS = SIGNED | UNSIGNED | (1 << TAG.big) | (1 << TAG.double) | (1 << TAG.number);
const STRING = 1 << TAG.string;

const ARRAYS = {
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
} as const;

/** Creates the values of a column of integers. */
export function integersOf(typed: TypedSegment, { bitWidth, isSigned }: Int): Values {
  const { column, target, segment, rows } = typed;
  if (bitWidth === 64) return longsOf(typed, isSigned);
  const type = ARRAYS[`${isSigned ? 'int' : 'uint'}${bitWidth}`];
  const values = new type(allocateCounted(column.memory, (rows * bitWidth) / 8).buffer);
  if (segment === undefined) return values;
  requireKinds(column, target, segment, NUMBERS | STRING);
  const ints = new Int32Array(segment.slots);
  for (let row = 0; row < segment.tags.length; row++) {
    const tag = segment.tags[row];
    if (tag === TAG.null) continue;
    const low = ints[2 * row];
    const isSlot = (tag === TAG.long || tag === TAG.negative) && (ints[2 * row + 1] === low >> 31 || !isSigned);
    const value =
      isSlot && (isSigned || ints[2 * row + 1] === 0) ? (isSigned ? low : low >>> 0) : wholeAt(segment, row);
    values[row] = Number(value);
    if (value === undefined || BigInt(values[row]) !== BigInt(value)) throw misfitAt(column, target, segment, row);
  }
  return values;
}

function longsOf({ column, target, segment, rows }: TypedSegment, isSigned: boolean): Values {
  const plain = (isSigned ? SIGNED : UNSIGNED) | (1 << TAG.null);
  const type = isSigned ? BigInt64Array : BigUint64Array;
  const values = new type(slotsOf(column.memory, segment, rows));
  if (segment === undefined || (segment.kinds & ~plain) === 0) return values;
  requireKinds(column, target, segment, NUMBERS | STRING);
  for (let row = 0; row < segment.tags.length; row++) {
    if (((1 << segment.tags[row]) & plain) !== 0) continue;
    const value = wholeAt(segment, row);
    if (value === undefined) throw misfitAt(column, target, segment, row);
    values[row] = value;
    if (values[row] !== value) throw misfitAt(column, target, segment, row);
  }
  return values;
}

/** Returns the whole number in a row; undefined if it is not one. A string has the digits that `quoteLargeNum` writes. */
function wholeAt(segment: JsonSegment, row: number): bigint | undefined {
  switch (segment.tags[row]) {
    case TAG.string: {
      const text = stringAt(segment, row);
      return /^-?(?:0|[1-9]\d{0,38})$/.test(text) ? BigInt(text) : undefined;
    }
    default:
      return scaledAt(segment, row, 0);
  }
}

/** Returns a number times a power of ten; undefined if that is not whole, or has far too many digits. */
function scaledAt(segment: JsonSegment, row: number, scale: number): bigint | undefined {
  switch (segment.tags[row]) {
    case TAG.long:
    case TAG.negative:
    case TAG.ulong:
    case TAG.big: {
      const whole = integerAt(segment, row);
      return scale < 0 ? scaledInteger(String(whole), scale) : whole * 10n ** BigInt(scale);
    }
    case TAG.number:
    case TAG.string:
      return scaledInteger(stringAt(segment, row), scale);
    default:
      // Only a negative zero is kept as a double.
      return 0n;
  }
}

const MAX_DIGITS = 80;

/** Returns a number in decimal notation times a power of ten, if that is a whole number. */
function scaledInteger(text: string, scale: number): bigint | undefined {
  const [, sign, whole, fraction = '', exponent = '0'] =
    /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,9}))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (digits === '') return 0n;
  const significant = digits.replace(/(?<!0)0+$/, '');
  const shift = Number(exponent) - fraction.length + scale + (digits.length - significant.length);
  if (shift < 0 || significant.length + shift > MAX_DIGITS) return undefined;
  const value = BigInt(`${significant}${'0'.repeat(shift)}`);
  return sign === '-' ? -value : value;
}

/** Creates the values of a column of decimals with 128 or 256 bits. */
export function decimalsOf({ column, target, segment, rows }: TypedSegment, type: Decimal): Values {
  const { precision, scale, bitWidth } = type;
  const { buffer } = allocateCounted(column.memory, (rows * bitWidth) / 8);
  const values = new Uint32Array(buffer);
  if (segment === undefined) return values;
  requireKinds(column, target, segment, NUMBERS | STRING);
  const words = new BigUint64Array(buffer);
  const wordsPerRow = bitWidth / 64;
  // A LONG128 has all values of 128 bits.
  const isLong = columnTypeName(target.field) === 'LONG128';
  const limit = isLong ? 2n ** 127n : 10n ** BigInt(precision);
  const least = isLong ? -limit : 1n - limit;
  for (let row = 0; row < segment.tags.length; row++) {
    if (segment.tags[row] === TAG.null) continue;
    const value = scaledAt(segment, row, scale);
    if (value === undefined || value >= limit || value < least) throw misfitAt(column, target, segment, row);
    for (let word = 0, rest = value; word < wordsPerRow; word++, rest >>= 64n) {
      words[wordsPerRow * row + word] = BigInt.asUintN(64, rest);
    }
  }
  return values;
}

/**
 * Creates the values of a column of floats. A number with a fraction becomes the nearest one; a whole number must be
 * exact, or the shortest text of a float.
 */
export function floatsOf({ column, target, segment, rows }: TypedSegment, { precision }: Float): Values {
  const doubles = new Float64Array(slotsOf(column.memory, segment, rows));
  const isSingle = precision === Precision.SINGLE;
  const singles = new Float32Array(isSingle ? allocateCounted(column.memory, 4 * rows).buffer : []);
  if (segment === undefined) return isSingle ? singles : doubles;
  requireKinds(column, target, segment, NUMBERS);
  const { tags } = segment;
  for (let row = 0; row < tags.length; row++) {
    if (tags[row] === TAG.null) continue;
    const whole = tags[row] === TAG.double ? undefined : integerAt(segment, row);
    const value = whole === undefined ? doubles[row] : Number(whole);
    const kept = isSingle ? Math.fround(value) : value;
    const isKept = whole === undefined || standsForWhole(kept, whole, isSingle);
    if (!isKept || !Number.isFinite(kept) || (kept === 0 && value !== 0)) {
      throw misfitAt(column, target, segment, row);
    }
    if (isSingle) singles[row] = kept;
    else doubles[row] = kept;
  }
  return isSingle ? singles : doubles;
}
