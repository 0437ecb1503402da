import type { ServiceError } from '@svc/errors';
import { DataType } from 'apache-arrow';
import { typeOf } from '../column-types.ts';
import {
  type ColumnData,
  countBits,
  elementsPerRow,
  isBitSet,
  isNullAt,
  isWide,
  moveParts,
  moveValues,
  partBytes,
  setBit,
  usedBytes,
  type Values,
  VIEW_BYTES,
  viewWords,
  isBytesWithOffsets,
  isListWithOffsets,
  isViews,
} from './column-data.ts';
import { arrayTypeOf } from './record-batch.ts';

/** The caller's part of a join. */
export interface Joining {
  /** Allocates counted memory. Joining can multiply the memory: columns of a body may all share the same bytes. */
  allocate(bytes: number): Uint8Array<ArrayBuffer>;
  /** Creates the error for a joined column that is too large for its type; `what` says why. */
  tooLarge(what: string): ServiceError;
}

/** The largest 32-bit offset. */
const MAX_OFFSET = 2 ** 31 - 1;
const BEYOND_OFFSETS = `its values have more than ${MAX_OFFSET} bytes or items, the limit of 32-bit offsets`;

/** A range of rows of a column. */
export interface ColumnSpan {
  readonly column: ColumnData;
  readonly start: number;
  readonly length: number;
}

export function wholeColumn(column: ColumnData): ColumnSpan {
  return { column, start: 0, length: column.length };
}

/** Concatenates spans of columns of one type into one column with new buffers. */
export function joinColumns(type: DataType, spans: readonly ColumnSpan[], joining: Joining): ColumnData {
  const length = spans.reduce((sum, span) => sum + span.length, 0);
  if (DataType.isNull(type)) return { length, nullCount: length };
  const head = { length, ...joinValidity(spans, length, joining) };
  if (isViews(type)) return { ...head, ...joinViews(spans, length, joining) };
  if (DataType.isStruct(type)) {
    const members = type.children.map((_, i) => childSpans(spans, i, (row) => row));
    return { ...head, children: type.children.map((child, i) => joinColumns(typeOf(child), members[i], joining)) };
  }
  if (DataType.isFixedSizeList(type)) {
    const items = childSpans(spans, 0, (row) => row * type.listSize);
    return { ...head, children: [joinColumns(typeOf(type.children[0]), items, joining)] };
  }
  if (spans[0]?.column.offsets !== undefined) {
    const offsets = joinOffsets(isWide(type), spans, length, joining);
    if (type.children?.length === 1) {
      const items = childSpans(spans, 0, (row, column) => offsetAt(column, row));
      return { ...head, offsets, children: [joinColumns(typeOf(type.children[0]), items, joining)] };
    }
    return { ...head, offsets, values: joinTexts(spans, Number(offsets[length]), joining) };
  }
  if (DataType.isBool(type)) return { ...head, values: joinBits(spans, length, bytesOf, joining) };
  return { ...head, values: joinValues(type, spans, length, joining) };
}

function childSpans(
  spans: readonly ColumnSpan[],
  index: number,
  startOf: (row: number, column: ColumnData) => number,
): ColumnSpan[] {
  return spans.flatMap(({ column, start, length }) => {
    const child = column.children?.[index];
    if (child === undefined) return [];
    const from = startOf(start, column);
    return [{ column: child, start: from, length: startOf(start + length, column) - from }];
  });
}

function offsetAt({ offsets }: ColumnData, row: number): number {
  return Number(offsets?.[row] ?? 0);
}

function bytesOf({ values }: ColumnData): Uint8Array<ArrayBuffer> {
  return values instanceof Uint8Array ? values : new Uint8Array(0);
}

function joinValidity(
  spans: readonly ColumnSpan[],
  length: number,
  joining: Joining,
): Pick<ColumnData, 'nullCount' | 'validity'> {
  if (spans.every(({ column }) => column.nullCount === 0)) return { nullCount: 0 };
  const validity = joinBits(spans, length, (column) => column.validity, joining);
  const nullCount = length - countBits(validity, length);
  return nullCount === 0 ? { nullCount } : { nullCount, validity };
}

/** Concatenates the bits of the spans. A column without bits counts as all set. */
function joinBits(
  spans: readonly ColumnSpan[],
  length: number,
  bitsOf: (column: ColumnData) => Uint8Array | undefined,
  joining: Joining,
): Uint8Array<ArrayBuffer> {
  const joined = joining.allocate(Math.ceil(length / 8));
  let at = 0;
  for (const span of spans) {
    const bits = bitsOf(span.column);
    const end = span.start + span.length;
    for (let row = span.start; row < end; row++, at++) {
      if (bits === undefined || isBitSet(bits, row)) setBit(joined, at);
    }
  }
  return joined;
}

function joinOffsets(
  wide: boolean,
  spans: readonly ColumnSpan[],
  length: number,
  joining: Joining,
): NonNullable<ColumnData['offsets']> {
  const total = spans.reduce(
    (sum, { column, start, length: rows }) => sum + offsetAt(column, start + rows) - offsetAt(column, start),
    0,
  );
  if (!wide && total > MAX_OFFSET) throw joining.tooLarge(BEYOND_OFFSETS);
  const { buffer } = joining.allocate((wide ? 8 : 4) * (length + 1));
  const offsets = wide ? new BigInt64Array(buffer) : new Int32Array(buffer);
  let at = 0;
  let end = 0;
  for (const { column, start, length: rows } of spans) {
    const shift = end - offsetAt(column, start);
    for (let row = start + 1; row <= start + rows; row++) {
      end = offsetAt(column, row) + shift;
      if (offsets instanceof BigInt64Array) offsets[++at] = BigInt(end);
      else offsets[++at] = end;
    }
  }
  return offsets;
}

function joinTexts(spans: readonly ColumnSpan[], bytes: number, joining: Joining): Uint8Array<ArrayBuffer> {
  const joined = joining.allocate(bytes);
  let at = 0;
  for (const { column, start, length } of spans) {
    const part = bytesOf(column).subarray(offsetAt(column, start), offsetAt(column, start + length));
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function joinValues(type: DataType, spans: readonly ColumnSpan[], length: number, joining: Joining): Values {
  const elements = arrayTypeOf(DataType.isDictionary(type) ? type.indices : type);
  const perRow = elementsPerRow(type);
  const rowBytes = perRow * elements.BYTES_PER_ELEMENT;
  const joined = joining.allocate(length * rowBytes);
  let at = 0;
  for (const { column, start, length: rows } of spans) {
    if (column.values === undefined || rows === 0) continue;
    const { buffer, byteOffset } = column.values;
    joined.set(new Uint8Array(buffer, byteOffset + start * rowBytes, rows * rowBytes), at);
    at += rows * rowBytes;
  }
  return new elements(joined.buffer, 0, length * perRow);
}

/**
 * Joins the data buffers of all spans into one, so the old ones can be freed. Copies only the values of the rows,
 * or the whole buffers if that is less because rows share bytes.
 */
function joinViews(
  spans: readonly ColumnSpan[],
  length: number,
  joining: Joining,
): Pick<ColumnData, 'values' | 'parts'> {
  const values = joining.allocate(VIEW_BYTES * length);
  let row = 0;
  const moves = spans.map(({ column, start, length: rows }) => {
    const own = values.subarray(VIEW_BYTES * row, VIEW_BYTES * (row + rows));
    own.set(bytesOf(column).subarray(VIEW_BYTES * start, VIEW_BYTES * (start + rows)));
    row += rows;
    const isNull = (at: number): boolean => isNullAt(column, start + at);
    const views = { words: viewWords(own), rows, parts: column.parts ?? [], isNull };
    const used = usedBytes(views);
    const whole = partBytes(views);
    return { views, move: used < whole ? moveValues : moveParts, bytes: Math.min(used, whole) };
  });
  const total = moves.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total > MAX_OFFSET) throw joining.tooLarge(BEYOND_OFFSETS);
  const joined = joining.allocate(total);
  let at = 0;
  for (const { views, move } of moves) at = move(views, joined, at);
  return { values, parts: total === 0 ? [] : [joined] };
}

/** Creates a column in which all rows are null. */
export function nullColumn(type: DataType, length: number, allocate: Joining['allocate']): ColumnData {
  if (DataType.isNull(type)) return { length, nullCount: length };
  const head = { length, nullCount: length, ...(length > 0 && { validity: allocate(Math.ceil(length / 8)) }) };
  const nulls = (child: DataType, rows: number): ColumnData => nullColumn(child, rows, allocate);
  if (DataType.isStruct(type)) {
    return { ...head, children: type.children.map((child) => nulls(typeOf(child), length)) };
  }
  if (DataType.isFixedSizeList(type)) {
    return { ...head, children: [nulls(typeOf(type.children[0]), length * type.listSize)] };
  }
  if (isViews(type)) {
    return { ...head, values: allocate(VIEW_BYTES * length), parts: [] };
  }
  if (isListWithOffsets(type) || isBytesWithOffsets(type)) {
    const { buffer } = allocate((isWide(type) ? 8 : 4) * (length + 1));
    const offsets = isWide(type) ? new BigInt64Array(buffer) : new Int32Array(buffer);
    const [item] = type.children ?? [];
    return { ...head, offsets, ...(item ? { children: [nulls(typeOf(item), 0)] } : { values: new Uint8Array(0) }) };
  }
  if (DataType.isBool(type)) return { ...head, values: allocate(Math.ceil(length / 8)) };
  const elements = arrayTypeOf(DataType.isDictionary(type) ? type.indices : type);
  const count = length * elementsPerRow(type);
  return { ...head, values: new elements(allocate(count * elements.BYTES_PER_ELEMENT).buffer, 0, count) };
}
