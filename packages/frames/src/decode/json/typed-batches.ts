import { DataType, type Decimal, type Field, type Float, type Int, Precision } from 'apache-arrow';
import { columnTypeName, typeOf } from '../../column-types.ts';
import type { ColumnData, Values } from '../../columns/column-data.ts';
import type { IsWorking } from '../decode-steps.ts';
import { allocateCounted, type JsonSegment, showProgress, TAG, trimmed, type TypedSegment } from './json-column.ts';
import { standsForWhole } from './json-scalars.ts';
import {
  bitsOf,
  integerAt,
  Misfit,
  misfitAt,
  offsetsOf,
  requireKinds,
  slotsOf,
  stringAt,
  textOf,
  validityOf,
} from './json-text.ts';
import { datesOf, durationsOf, forEachText, intervalsOf, timesOf, timestampsOf } from './typed-times.ts';

type Buffers = Pick<ColumnData, 'values' | 'offsets' | 'children'>;

/**
 * Creates the buffers of a column of a known type. Throws a `Misfit` for the first value that does not fit exactly.
 * `isPresent` tells the rows in which a value is expected: not those of a struct that is null.
 */
export function* typedDataOf(
  typed: TypedSegment,
  isPresent: (row: number) => boolean = () => true,
): Generator<IsWorking, ColumnData, void> {
  const { column, target, segment, rows } = typed;
  yield* showProgress(column.memory);
  const { nullCount, validity } = validityOf(column.memory, segment, rows);
  if (target.field.nullable && validity) return { length: rows, nullCount, validity, ...(yield* buffersOf(typed)) };
  if (nullCount > 0) {
    for (let row = 0; row < rows; row++) {
      if (isPresent(row) && (segment?.tags[row] ?? TAG.null) === TAG.null) throw new Misfit(row, 'null', target);
    }
  }
  return { length: rows, nullCount: 0, ...(yield* buffersOf(typed)) };
}

function* buffersOf(typed: TypedSegment): Generator<IsWorking, Buffers, void> {
  const { column, target, segment, rows } = typed;
  const type = typeOf(target.field);
  if (DataType.isStruct(type)) {
    if (segment) requireKinds(column, target, segment, 1 << TAG.struct);
    return { children: yield* childrenOf(typed, rows, (row) => segment?.tags[row] === TAG.struct) };
  }
  if (DataType.isList(type) || DataType.isFixedSizeList(type) || DataType.isMap(type)) return yield* listOf(typed);
  return leafOf(typed, type);
}

/** Creates the buffers of lists and maps. A misfit in an item is one in the row of its list. */
function* listOf(typed: TypedSegment): Generator<IsWorking, Buffers, void> {
  const { column, target, segment, rows } = typed;
  if (segment) requireKinds(column, target, segment, 1 << TAG.list);
  const { layout, size } = target;
  const offsets = offsetsOf(column.memory, segment?.listOffsets, rows);
  try {
    if (layout === 'fixed') {
      return {
        children: [yield* itemsOf(typed, rows * size, (item) => segment?.tags[Math.floor(item / size)] === TAG.list)],
      };
    }
    const items = offsets[rows];
    if (layout === 'plain') return { offsets, children: [yield* itemsOf(typed, items)] };
    return { offsets, children: [{ length: items, nullCount: 0, children: yield* childrenOf(typed, items) }] };
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    const row = layout === 'fixed' ? Math.floor(error.row / size) : rowOf(offsets, error.row);
    throw new Misfit(row, error.value, error.target);
  }
}

/** Returns the row of an item. */
function rowOf(offsets: Int32Array, item: number): number {
  return offsets.findIndex((end, at) => at > 0 && end > item) - 1;
}

function* itemsOf({ column, segment }: TypedSegment, rows: number, isPresent?: (row: number) => boolean) {
  const { items } = column;
  if (items?.target === undefined) throw new TypeError('A list has no type for its items.');
  return yield* typedDataOf({ column: items, target: items.target, segment: segment?.items, rows }, isPresent);
}

function* childrenOf({ column, segment }: TypedSegment, rows: number, isPresent?: (row: number) => boolean) {
  const children: ColumnData[] = [];
  for (const [i, child] of column.fields.list.entries()) {
    if (child.target === undefined) throw new TypeError('A field of a struct has no type.');
    const inner = { column: child, target: child.target, segment: segment?.fields[i], rows };
    children.push(yield* typedDataOf(inner, isPresent));
  }
  return children;
}

function leafOf(typed: TypedSegment, type: DataType): Buffers {
  if (DataType.isBool(type)) return booleansOf(typed);
  if (DataType.isInt(type)) return { values: integersOf(typed, type) };
  if (DataType.isFloat(type)) return { values: floatsOf(typed, type) };
  if (DataType.isDecimal(type)) return { values: decimalsOf(typed, type) };
  if (DataType.isUtf8(type)) return stringsOf(typed);
  if (DataType.isBinary(type)) return base64Of(typed);
  if (DataType.isFixedSizeBinary(type)) {
    return { values: isUuid(typed.target.field) ? uuidsOf(typed) : fixedBinaryOf(typed, type.byteWidth) };
  }
  if (DataType.isDate(type)) return { values: datesOf(typed) };
  if (DataType.isTimestamp(type)) return { values: timestampsOf(typed, type.unit) };
  if (DataType.isTime(type)) return { values: timesOf(typed, type) };
  if (DataType.isDuration(type)) return { values: durationsOf(typed, type.unit) };
  return { values: intervalsOf(typed) };
}

function isUuid(field: Field): boolean {
  return columnTypeName(field) === 'UUID';
}

function booleansOf({ column, target, segment, rows }: TypedSegment): Buffers {
  if (segment) requireKinds(column, target, segment, (1 << TAG.true) | (1 << TAG.false));
  return { values: bitsOf(column.memory, segment, rows, (tag) => tag === TAG.true) };
}

function stringsOf({ column, target, segment, rows }: TypedSegment): Buffers {
  const isPlain = segment === undefined || (segment.kinds & ~((1 << TAG.string) | (1 << TAG.null))) === 0;
  if (!isPlain && !target.isStrict) return textOf(column, segment, rows);
  if (segment) requireKinds(column, target, segment, 1 << TAG.string);
  const offsets = offsetsOf(column.memory, segment?.textOffsets, rows);
  return { values: segment?.text ?? new Uint8Array(0), offsets };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Calls `put` for each string. It returns false for a misfit. */
function forEachString(typed: TypedSegment, put: (text: string, row: number) => boolean): void {
  forEachText(typed, ({ buffer, byteOffset }, start, end, row) =>
    put(Buffer.from(buffer, byteOffset + start, end - start).toString(), row),
  );
}

/** Decodes base64; undefined if the text is not exactly what an encoder writes. */
function bytesOf(text: string): Buffer | undefined {
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Creates the buffers of a column of binary values from base64. */
function base64Of(typed: TypedSegment): Pick<ColumnData, 'values' | 'offsets'> {
  const { column, segment, rows } = typed;
  const { memory } = column;
  const offsets = new Int32Array(allocateCounted(memory, 4 * (rows + 1)).buffer);
  const values = allocateCounted(memory, Math.ceil((segment?.text.length ?? 0) * 0.75));
  let end = 0;
  let next = 0;
  forEachString(typed, (text, row) => {
    const bytes = bytesOf(text);
    if (bytes === undefined) return false;
    offsets.fill(end, next, row + 1);
    values.set(bytes, end);
    end += bytes.length;
    next = row + 1;
    return true;
  });
  offsets.fill(end, next);
  return { offsets, values: trimmed(memory, Uint8Array, values, end) };
}

/** Creates the values of a column of binary values of one length, from base64. */
function fixedBinaryOf(typed: TypedSegment, byteWidth: number): Values {
  const values = allocateCounted(typed.column.memory, byteWidth * typed.rows);
  forEachString(typed, (text, row) => {
    const bytes = bytesOf(text);
    if (bytes?.length !== byteWidth) return false;
    values.set(bytes, byteWidth * row);
    return true;
  });
  return values;
}

/** Creates the values of a column of UUIDs. */
function uuidsOf(typed: TypedSegment): Values {
  const values = allocateCounted(typed.column.memory, 16 * typed.rows);
  forEachString(typed, (text, row) => {
    if (!UUID.test(text)) return false;
    values.set(Buffer.from(text.replaceAll('-', ''), 'hex'), 16 * row);
    return true;
  });
  return values;
}

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
function integersOf(typed: TypedSegment, { bitWidth, isSigned }: Int): Values {
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

/** Returns the whole number in a row; undefined if it is not one. A string has the digits `quoteLargeNum` writes. */
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
function decimalsOf({ column, target, segment, rows }: TypedSegment, type: Decimal): Values {
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
function floatsOf({ column, target, segment, rows }: TypedSegment, { precision }: Float): Values {
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
