import { ServiceError } from '@svc/errors';
import { counted, quoted } from '@svc/errors/internal';
import {
  DataType,
  DateUnit,
  type Dictionary,
  type Field,
  type FixedSizeList,
  type Struct,
  type Union,
  UnionMode,
} from 'apache-arrow';
import { childrenOf, typeOf } from '../../column-types.ts';
import {
  type ColumnData,
  countBits,
  elementsPerRow,
  INLINE_BYTES,
  isBytesWithOffsets,
  isListWithOffsets,
  isNullAt,
  isViews,
  isWide,
  type Values,
  VIEW_BYTES,
  viewLength,
  viewPart,
  viewStart,
  viewWords,
} from '../../columns/column-data.ts';
import { type ColumnSpan, joinColumns, nullColumn, wholeColumn } from '../../columns/join-columns.ts';
import { arrayTypeOf, type TypedArrayType } from '../../columns/record-batch.ts';
import { childrenByTypeId, isUnion, unionAsStruct } from '../unions.ts';
import type { ArrowBatch } from './batch-buffers.ts';

/** The maximum rows of a batch, including nested ones. */
const MAX_BATCH_ROWS = 2 ** 31 - 1;

/**
 * Loads the columns of an Arrow batch. Later code indexes the buffers unchecked, so everything is checked here:
 * lengths, offsets, indices, null counts, dates. Unions become structs.
 */
export function loadColumns(
  batch: ArrowBatch,
  fields: readonly Field[],
  dictionary: Loading['dictionary'],
): ColumnData[] {
  if (batch.rows > MAX_BATCH_ROWS) {
    throw new ServiceError(
      'invalid_data',
      `The ${batch.name} has ${batch.rows} rows; the maximum is ${MAX_BATCH_ROWS}.`,
    );
  }
  const columns = fields.map((field) => {
    const fault = (what: string, hint?: string) =>
      new ServiceError('invalid_data', `Column ${quoted(field.name)} of ${batch.name}: ${what}.`, {
        ...(hint !== undefined && { hint }),
      });
    const loading = { batch, dictionary, fault };
    const column = isUnion(field) ? loadUnion(field, loading) : loadColumn(typeOf(field), loading);
    if (column.length !== batch.rows)
      throw fault(`it has ${counted(column.length, 'row')}, but the batch has ${batch.rows}`);
    checkValues(unionAsStruct(field), column, loading);
    return column;
  });
  batch.finish();
  return columns;
}

function loadColumn(type: DataType, loading: Loading): ColumnData {
  const { batch, fault } = loading;
  const [length, nullCount] = batch.nextNode();
  if (length > MAX_BATCH_ROWS) throw fault(`it has ${length} rows; the maximum is ${MAX_BATCH_ROWS}`);
  if (DataType.isNull(type)) return { length, nullCount: length };
  const head = { length, nullCount, ...loadValidity(length, nullCount, loading) };
  if (isViews(type)) return { ...head, ...loadViews(head, loading) };
  if (DataType.isDictionary(type)) return { ...head, values: loadIndices(type, head, loading) };
  if (DataType.isStruct(type)) return { ...head, children: loadMembers(type, head, loading) };
  if (DataType.isFixedSizeList(type)) return { ...head, children: [loadFixedItems(type, head, loading)] };
  if (isListWithOffsets(type)) return { ...head, ...loadItems(type, head, loading) };
  if (isBytesWithOffsets(type)) {
    const offsets = loadOffsets(isWide(type), length, loading);
    const values = batch.nextBuffer();
    checkOffsets(offsets, values.length, fault);
    return { ...head, offsets, values: length === 0 ? new Uint8Array(0) : values };
  }
  if (DataType.isBool(type)) return { ...head, values: loadValues(Uint8Array, Math.ceil(length / 8), loading) };
  return { ...head, values: loadValues(arrayTypeOf(type), length, loading, elementsPerRow(type)) };
}

function loadIndices(type: Dictionary, head: ColumnHead, loading: Loading): Values {
  const indices = loadValues<Values>(type.indices.ArrayType, head.length, loading);
  const values = loading.dictionary(type.id)?.length ?? 0;
  for (let row = 0; row < head.length; row++) {
    const index = indices[row];
    if ((index < 0 || index >= values) && !isNullAt(head, row)) {
      throw loading.fault(`row ${row} is value ${index} of a dictionary that has ${counted(values, 'value')}`);
    }
  }
  return indices;
}

function loadMembers(type: Struct, head: ColumnHead, loading: Loading): ColumnData[] {
  const children = type.children.map((child) => loadColumn(typeOf(child), loading));
  if (children.some((child) => child.length !== head.length)) {
    throw loading.fault('its fields have different numbers of rows');
  }
  return children;
}

function loadFixedItems(type: FixedSizeList, head: ColumnHead, loading: Loading): ColumnData {
  const child = loadColumn(typeOf(type.children[0]), loading);
  const needed = head.length * type.listSize;
  if (child.length < needed)
    throw loading.fault(`its lists need ${counted(needed, 'value')}, but there are ${child.length}`);
  return child;
}

type ListParts = Required<Pick<ColumnData, 'offsets' | 'children'>>;

function loadItems(type: DataType, head: ColumnHead, loading: Loading): ListParts {
  const offsets = loadOffsets(isWide(type), head.length, loading);
  const [item] = type.children;
  const child = loadColumn(typeOf(item), loading);
  checkOffsets(offsets, child.length, loading.fault);
  const parts = { offsets, children: [child] };
  if (Number(offsets[0]) === 0) return parts;
  // Rebase the items to 0, so later code need not handle another start.
  const { offsets: rebased = offsets, children = [] } = joinColumns(type, [wholeColumn({ ...head, ...parts })], {
    allocate: (bytes) => loading.batch.allocate(bytes),
    tooLarge: loading.fault,
  });
  return { offsets: rebased, children };
}

/** The context for loading a column: its batch, and its errors. */
interface Loading {
  readonly batch: ArrowBatch;
  /** Returns the values of a dictionary; undefined if they have not arrived. */
  readonly dictionary: (id: number) => ColumnData | undefined;
  readonly fault: (what: string, hint?: string) => ServiceError;
}

/** The part common to all columns. */
type ColumnHead = Pick<ColumnData, 'length' | 'nullCount' | 'validity'>;

/** The start and end of each row. */
type Offsets = NonNullable<ColumnData['offsets']>;

/** Returns the next buffer as an array of exactly `rows` rows. Rows of a multiple of 8 bytes are aligned to 8 bytes. */
function loadValues<Elements extends Values>(
  type: TypedArrayType<Elements>,
  rows: number,
  { batch, fault }: Loading,
  perRow = 1,
): Elements {
  const bytes = batch.nextBuffer();
  const rowBytes = perRow * type.BYTES_PER_ELEMENT;
  const size = rows * rowBytes;
  if (bytes.length < size) throw fault(`a buffer has ${bytes.length} bytes, but its rows need ${size}`);
  // An empty view would keep the whole body in memory.
  if (rows === 0) return new type(0);
  const alignment = rowBytes % 8 === 0 ? 8 : type.BYTES_PER_ELEMENT;
  if (bytes.byteOffset % alignment === 0) return new type(bytes.buffer, bytes.byteOffset, rows * perRow);
  const aligned = batch.allocate(size);
  aligned.set(bytes.subarray(0, size));
  return new type(aligned.buffer, 0, rows * perRow);
}

/** Loads the validity bitmap of a column; omitted if no row is null. */
function loadValidity(length: number, nullCount: number, { batch, fault }: Loading): { validity?: Bits } {
  const bits = batch.nextBuffer();
  if (bits.length === 0 && nullCount === 0) return {};
  const bytes = Math.ceil(length / 8);
  if (bits.length < bytes) throw fault(`its validity bitmap has ${bits.length} bytes, but its rows need ${bytes}`);
  const nulls = length - countBits(bits, length);
  if (nulls !== nullCount) {
    throw fault(`its null count is ${nullCount}, but ${nulls} ${nulls === 1 ? 'value is' : 'values are'} null`);
  }
  return nullCount === 0 ? {} : { validity: bits.subarray(0, bytes) };
}

type Bits = Uint8Array<ArrayBuffer>;

/** Loads the offsets of `length` rows, with 64 bits if `wide`. They are not checked yet. */
function loadOffsets(wide: boolean, length: number, loading: Loading): Offsets {
  const offsetType: TypedArrayType<Offsets> = wide ? BigInt64Array : Int32Array;
  if (length > 0) return loadValues(offsetType, length + 1, loading);
  // The format allows a column without rows to omit its only offset.
  loading.batch.nextBuffer();
  return new offsetType(1);
}

/** Checks that offsets never decrease, and stay within their data. */
function checkOffsets(offsets: Offsets, limit: number, fault: Loading['fault']): void {
  const wide = offsets instanceof BigInt64Array;
  const words = wide ? new Uint32Array(offsets.buffer, offsets.byteOffset, 2 * offsets.length) : offsets;
  let previous = 0;
  for (let row = 0; row < offsets.length; row++) {
    const offset = wide ? words[2 * row] + words[2 * row + 1] * 2 ** 32 : words[row];
    if (!(offset >= previous && offset <= limit)) {
      throw fault(`offset ${offsets[row]} of row ${row} is less than the previous one, or beyond its data`);
    }
    previous = offset;
  }
}

/** Loads views and their data buffers. */
function loadViews(head: ColumnHead, loading: Loading): Pick<ColumnData, 'values' | 'parts'> {
  const { batch, fault } = loading;
  const values = loadValues(Uint8Array, head.length, loading, VIEW_BYTES);
  const parts = Array.from({ length: batch.nextPartCount() }, () => batch.nextBuffer());
  const words = viewWords(values);
  for (let row = 0; row < head.length; row++) {
    if (isNullAt(head, row)) continue;
    const length = viewLength(words, row);
    if (length >= 0 && length <= INLINE_BYTES) continue;
    const part = parts[viewPart(words, row)];
    const start = viewStart(words, row);
    if (part === undefined || length < 0 || start < 0 || start + length > part.length) {
      throw fault(`the view of row ${row} points outside its data`);
    }
  }
  return { values, parts };
}

/**
 * Refuses values the schema does not allow, in a column, in its children, or in dictionary values: nulls where there
 * can be none, and date64 values that are not whole days. The children of a null row may contain anything. The dates of
 * a dictionary are checked when it is loaded.
 */
function checkValues(field: Field, column: ColumnData, { dictionary, fault }: Loading): void {
  if (cannotBeNull(field) && column.nullCount > 0) {
    throw fault(`${column.nullCount} of its values are null, but the schema does not allow nulls`);
  }
  const suspect = suspectOf(field, column, dictionary);
  if (suspect === undefined) return;
  for (let row = 0; row < column.length; row++) {
    const found = findFault(suspect, row, row + 1);
    if (found?.millis !== undefined) {
      throw fault(`row ${row} has the date64 value ${found.millis}, which is not a whole day`, DATE_HINT);
    }
    if (found !== undefined) {
      throw fault(`row ${row} contains a null in ${quoted(found.name)}, but the schema does not allow nulls there`);
    }
  }
}

/** What to do about a date64 value that is not a whole day. */
export const DATE_HINT =
  'A date64 value is a multiple of 86400000 ms. Cast the column to date32, or to a timestamp in ms.';

/** A column with values the schema does not allow, in it or in its children; perhaps only below null rows. */
interface Suspect {
  readonly field: Field;
  readonly isNull: (row: number) => boolean;
  /** The values of a date64 column. Undefined if all are whole days. */
  readonly dates: BigInt64Array | undefined;
  readonly children: readonly Suspect[];
  /** The start of a row's values in the children. */
  readonly startOf: (row: number) => number;
}

/** Returns undefined if no value can be wrong, as in nearly all columns. */
function suspectOf(field: Field, column: ColumnData, dictionary: Loading['dictionary']): Suspect | undefined {
  const type = typeOf(field);
  const fields = childrenOf(field);
  const children = (column.children ?? []).flatMap((child, i) => suspectOf(fields[i], child, dictionary) ?? []);
  const values = DataType.isDictionary(type) ? dictionary(type.id) : undefined;
  const hasNulls = column.nullCount > 0 || (values !== undefined && values.nullCount > 0);
  const dates = brokenDates(type, column);
  if (children.length === 0 && dates === undefined && !(cannotBeNull(field) && hasNulls)) return undefined;
  const isNull = (row: number): boolean =>
    isNullAt(column, row) || (values !== undefined && isNullAt(values, Number(column.values?.[row])));
  const { offsets } = column;
  const perRow = DataType.isFixedSizeList(type) ? type.listSize : 1;
  return { field, isNull, dates, children, startOf: (row) => (offsets ? Number(offsets[row]) : row * perRow) };
}

/** The first value that is not allowed: a date, or else a null in the field `name`. */
interface Fault {
  readonly name: string;
  readonly millis?: bigint;
}

/** Finds the first value that is not allowed, in a range of rows. */
function findFault(suspect: Suspect, from: number, to: number): Fault | undefined {
  const { field, isNull, dates, children, startOf } = suspect;
  for (let row = from; row < to; row++) {
    if (isNull(row)) {
      if (cannotBeNull(field)) return { name: field.name };
      continue;
    }
    const millis = dates?.[row];
    if (millis !== undefined && !isWholeDay(millis)) return { name: field.name, millis };
    for (const child of children) {
      const found = findFault(child, startOf(row), startOf(row + 1));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** The null type has only nulls, whatever the schema says. */
function cannotBeNull({ nullable, type }: Field): boolean {
  return !nullable && !DataType.isNull(DataType.isDictionary(type) ? type.dictionary : type);
}

/** Returns the values of a date64 column if one is not a whole day; perhaps only the unused value of a null. */
function brokenDates(type: DataType, { values }: ColumnData): BigInt64Array | undefined {
  if (!isDate64(type) || values === undefined) return undefined;
  const dates = new BigInt64Array(values.buffer, values.byteOffset, values.byteLength / 8);
  return areWholeDays(dates) ? undefined : dates;
}

/** True for the type of dates in milliseconds. */
export function isDate64(type: DataType): boolean {
  return DataType.isDate(type) && type.unit === DateUnit.MILLISECOND;
}

const DAY_NUMBER = 86_400_000;
const DAY_MS = BigInt(DAY_NUMBER);
/** The largest value and its negation mean infinity and -infinity. */
const INFINITY = 2n ** 63n - 1n;

/** True if all values are allowed. Halves take a third of the time of a `bigint` for each value. */
export function areWholeDays(dates: BigInt64Array): boolean {
  const halves = [dates.buffer, dates.byteOffset, dates.length * 2] as const;
  const low = new Uint32Array(...halves);
  const high = new Int32Array(...halves);
  for (let row = 0; row < dates.length; row++) {
    const millis = (high[2 * row + 1] ?? 0) * 2 ** 32 + (low[2 * row] ?? 0);
    const isWhole = Number.isSafeInteger(millis)
      ? Math.round(millis / DAY_NUMBER) * DAY_NUMBER === millis
      : isWholeDay(dates[row] ?? 0n);
    if (!isWhole) return false;
  }
  return true;
}

/** True if a date64 value is allowed. */
export function isWholeDay(millis: bigint): boolean {
  return millis % DAY_MS === 0n || millis === INFINITY || millis === -INFINITY;
}

/** Where the value of each row is. */
interface Places {
  /** The index of the child; -1 if the row is null. */
  readonly children: Int16Array;
  /** The row of that child. */
  readonly rows: Int32Array;
}

/** Loads a union as the struct of `unionAsStruct`. */
function loadUnion(field: Field<Union>, loading: Loading): ColumnData {
  const { batch, fault } = loading;
  const [length, nullCount] = batch.nextNode();
  if (length !== batch.rows) throw fault(`it has ${counted(length, 'row')}, but the batch has ${batch.rows}`);
  // Until version V4 of the format, a union itself could be null.
  const nulls = batch.isV4 ? loadValidity(length, nullCount, loading) : {};
  const ids = loadValues(Int8Array, length, loading);
  const offsets = field.type.mode === UnionMode.Dense ? loadValues(Int32Array, length, loading) : undefined;
  const columns = childrenOf(field).map((child) => loadColumn(typeOf(child), loading));
  const places: Places = { children: new Int16Array(length).fill(-1), rows: new Int32Array(length) };
  const byId = childrenByTypeId(field);
  for (let row = 0; row < length; row++) {
    if (isNullAt(nulls, row)) continue;
    const child = byId.get(ids[row]);
    if (child === undefined) throw fault(`row ${row} has the type id ${ids[row]}, which the union does not have`);
    const place = offsets === undefined ? row : offsets[row];
    const count = columns[child].length;
    if (place < 0 || place >= count) {
      throw fault(`row ${row} is value ${place} of a type of the union that has ${counted(count, 'value')}`);
    }
    places.children[row] = child;
    places.rows[row] = place;
  }
  const children = columns.map((column, i) => spread(typeOf(childrenOf(field)[i]), column, i, places, loading));
  return { length, nullCount: 0, children };
}

/** Moves the values of a child to the rows of the union; the other rows are null. */
function spread(
  type: DataType,
  column: ColumnData,
  child: number,
  { children, rows }: Places,
  { batch, fault }: Loading,
): ColumnData {
  const allocate = (bytes: number): Uint8Array<ArrayBuffer> => batch.allocate(bytes);
  const { length } = rows;
  if (!children.includes(child)) return nullColumn(type, length, allocate);
  const nulls = nullColumn(type, children.every((other) => other === child) ? 0 : length, allocate);
  const spans: { column: ColumnData; start: number; length: number }[] = [];
  for (let row = 0; row < length; row++) {
    const from = children[row] === child ? column : nulls;
    const start = from === column ? rows[row] : 0;
    const last = spans.at(-1);
    if (last?.column === from && (from === nulls || last.start + last.length === start)) last.length++;
    else spans.push({ column: from, start, length: 1 });
  }
  return isAll(spans, column) ? column : joinColumns(type, spans, { allocate, tooLarge: fault });
}

function isAll(spans: readonly ColumnSpan[], column: ColumnData): boolean {
  const [first] = spans;
  return spans.length === 1 && first.column === column && first.start === 0 && first.length === column.length;
}
