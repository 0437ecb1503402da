import { DataType, type Field } from 'apache-arrow';
import { typeOf } from '../../arrow-types.ts';
import { columnTypeName } from '../../column-types.ts';
import type { ColumnData, Values } from '../../columns/column-data.ts';
import type { IsWorking } from '../decode-steps.ts';
import { TAG, type TypedSegment } from './json-column.ts';
import { allocateCounted, showProgress, trimmed } from './json-memory.ts';
import { bitsOf, offsetsOf, stringAt, textOf, validityOf } from './json-text.ts';
import { Misfit, misfitAt, requireKinds } from './misfit.ts';
import { decimalsOf, floatsOf, integersOf } from './typed-numbers.ts';
import { datesOf, durationsOf, intervalsOf, timesOf, timestampsOf } from './typed-times.ts';

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

/** Calls `put` for each string, which returns whether it fits. */
function forEachText({ column, target, segment }: TypedSegment, put: (text: string, row: number) => boolean): void {
  if (segment === undefined) return;
  requireKinds(column, target, segment, 1 << TAG.string);
  for (let row = 0; row < segment.tags.length; row++) {
    if (segment.tags[row] !== TAG.string) continue;
    if (!put(stringAt(segment, row), row)) throw misfitAt(column, target, segment, row);
  }
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
  forEachText(typed, (text, row) => {
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
  forEachText(typed, (text, row) => {
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
  forEachText(typed, (text, row) => {
    if (!UUID.test(text)) return false;
    values.set(Buffer.from(text.replaceAll('-', ''), 'hex'), 16 * row);
    return true;
  });
  return values;
}
