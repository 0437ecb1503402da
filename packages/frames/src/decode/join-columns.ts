import { ServiceError } from '@svc/errors';
import { DataType } from 'apache-arrow';
import { type ColumnData, elementsPerRow, isWide, type Values } from './column-data.ts';

/** Where the memory of joined columns comes from, counted: columns of one body may all be the same bytes of it. */
export type Allocate = (bytes: number) => Uint8Array<ArrayBuffer>;

/** What an offset of 32 bits can say. */
const MAX_OFFSET = 2 ** 31 - 1;

/** Some rows of a column. */
export interface ColumnSpan {
  readonly column: ColumnData;
  readonly start: number;
  readonly length: number;
}

/** All rows of a column. */
export function wholeColumn(column: ColumnData): ColumnSpan {
  return { column, start: 0, length: column.length };
}

/** The rows of spans of columns of one type, one after the other, as one column with buffers of its own. */
export function joinColumns(type: DataType, spans: readonly ColumnSpan[], allocate: Allocate): ColumnData {
  const length = spans.reduce((sum, span) => sum + span.length, 0);
  if (DataType.isNull(type)) return { length, nullCount: length };
  const head = { length, ...joinValidity(spans, length, allocate) };
  if (DataType.isUtf8View(type) || DataType.isBinaryView(type))
    return { ...head, ...joinViews(spans, length, allocate) };
  if (DataType.isStruct(type)) {
    const members = type.children.map((_, i) => childSpans(spans, i, (row) => row));
    return { ...head, children: type.children.map((child, i) => joinColumns(child.type, members[i], allocate)) };
  }
  if (DataType.isFixedSizeList(type)) {
    const items = childSpans(spans, 0, (row) => row * type.listSize);
    return { ...head, children: [joinColumns(type.valueType, items, allocate)] };
  }
  if (spans[0]?.column.offsets !== undefined) {
    const offsets = joinOffsets(isWide(type), spans, length, allocate);
    if (type.children?.length === 1) {
      const items = childSpans(spans, 0, (row, column) => offsetAt(column, row));
      return { ...head, offsets, children: [joinColumns(type.children[0].type, items, allocate)] };
    }
    return { ...head, offsets, values: joinTexts(spans, Number(offsets[length]), allocate) };
  }
  if (DataType.isBool(type)) return { ...head, values: joinBits(spans, length, bytesOf, allocate) };
  return { ...head, values: joinValues(spans, length, elementsPerRow(type), allocate) };
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
  allocate: Allocate,
): Pick<ColumnData, 'nullCount' | 'validity'> {
  if (spans.every(({ column }) => column.nullCount === 0)) return { nullCount: 0 };
  const validity = joinBits(spans, length, (column) => column.validity, allocate);
  let nullCount = 0;
  for (let row = 0; row < length; row++) if ((validity[row >> 3] & (1 << (row & 7))) === 0) nullCount++;
  return nullCount === 0 ? { nullCount } : { nullCount, validity };
}

/** The bits of the spans; all are set where there are none. */
function joinBits(
  spans: readonly ColumnSpan[],
  length: number,
  bitsOf: (column: ColumnData) => Uint8Array | undefined,
  allocate: Allocate,
): Uint8Array<ArrayBuffer> {
  const joined = allocate(Math.ceil(length / 8));
  let at = 0;
  for (const span of spans) {
    const bits = bitsOf(span.column);
    const end = span.start + span.length;
    for (let row = span.start; row < end; row++, at++) {
      if (bits === undefined || (bits[row >> 3] & (1 << (row & 7))) !== 0) joined[at >> 3] |= 1 << (at & 7);
    }
  }
  return joined;
}

function joinOffsets(
  wide: boolean,
  spans: readonly ColumnSpan[],
  length: number,
  allocate: Allocate,
): NonNullable<ColumnData['offsets']> {
  const total = spans.reduce(
    (sum, { column, start, length: rows }) => sum + offsetAt(column, start + rows) - offsetAt(column, start),
    0,
  );
  if (!wide && total > MAX_OFFSET) throw tooLarge();
  const { buffer } = allocate((wide ? 8 : 4) * (length + 1));
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

function joinTexts(spans: readonly ColumnSpan[], bytes: number, allocate: Allocate): Uint8Array<ArrayBuffer> {
  const joined = allocate(bytes);
  let at = 0;
  for (const { column, start, length } of spans) {
    const part = bytesOf(column).subarray(offsetAt(column, start), offsetAt(column, start + length));
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Copies bytes, whatever the elements are, and gives them the array type of the first span. */
function joinValues(spans: readonly ColumnSpan[], length: number, perRow: number, allocate: Allocate): Values {
  const model = spans.find(({ column }) => column.values !== undefined)?.column.values ?? new Uint8Array(0);
  const rowBytes = perRow * model.BYTES_PER_ELEMENT;
  const joined = allocate(length * rowBytes);
  let at = 0;
  for (const { column, start, length: rows } of spans) {
    if (column.values === undefined || rows === 0) continue;
    const { buffer, byteOffset } = column.values;
    joined.set(new Uint8Array(buffer, byteOffset + start * rowBytes, rows * rowBytes), at);
    at += rows * rowBytes;
  }
  return arrayLike(model, joined.buffer);
}

function arrayLike(model: Values, buffer: ArrayBuffer): Values {
  if (model instanceof Uint8Array) return new Uint8Array(buffer);
  if (model instanceof Int8Array) return new Int8Array(buffer);
  if (model instanceof Int16Array) return new Int16Array(buffer);
  if (model instanceof Uint16Array) return new Uint16Array(buffer);
  if (model instanceof Int32Array) return new Int32Array(buffer);
  if (model instanceof Uint32Array) return new Uint32Array(buffer);
  if (model instanceof Float32Array) return new Float32Array(buffer);
  if (model instanceof Float64Array) return new Float64Array(buffer);
  return model instanceof BigInt64Array ? new BigInt64Array(buffer) : new BigUint64Array(buffer);
}

/** The data buffers of all spans become one, so that nothing of the old ones is kept. */
function joinViews(
  spans: readonly ColumnSpan[],
  length: number,
  allocate: Allocate,
): Pick<ColumnData, 'values' | 'parts'> {
  const values = allocate(16 * length);
  const words = new DataView(values.buffer);
  const old = spans.flatMap(({ column }) => column.parts ?? []);
  const total = old.reduce((sum, part) => sum + part.length, 0);
  if (total > MAX_OFFSET) throw tooLarge();
  const joined = allocate(total);
  let row = 0;
  let at = 0;
  for (const { column, start, length: rows } of spans) {
    values.set(bytesOf(column).subarray(16 * start, 16 * (start + rows)), 16 * row);
    const places: number[] = [];
    for (const part of column.parts ?? []) {
      places.push(at);
      joined.set(part, at);
      at += part.length;
    }
    for (const end = row + rows; row < end; row++) {
      if (words.getInt32(16 * row, true) <= 12) continue;
      // Rows that are null may point anywhere.
      const place = places[words.getInt32(16 * row + 8, true)] ?? 0;
      words.setInt32(16 * row + 8, 0, true);
      words.setInt32(16 * row + 12, words.getInt32(16 * row + 12, true) + place, true);
    }
  }
  return { values, parts: [joined] };
}

function tooLarge(): ServiceError {
  return new ServiceError('invalid_data', 'A dictionary has grown beyond 2 GiB.', {
    hint: 'Use large utf8 or large binary as the type of its values.',
  });
}
