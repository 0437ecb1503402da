import { quoted, ServiceError } from '@svc/errors';
import { DataType, type Dictionary, type Field, type FixedSizeList } from 'apache-arrow';
import type { ArrowBatch } from './arrow-batch.ts';
import type { ColumnData, Values } from './column-data.ts';

/** Rows one batch may have, nested ones included. */
const MAX_BATCH_ROWS = 2 ** 31 - 1;

/**
 * The columns of an Arrow batch. Whoever reads them later indexes their buffers without a check, so everything is
 * checked here: lengths, offsets, indices, null counts.
 */
export function loadColumns(
  batch: ArrowBatch,
  fields: readonly Field[],
  dictionaryLength: (id: number) => number,
): ColumnData[] {
  if (batch.rows > MAX_BATCH_ROWS) {
    throw new ServiceError('invalid_data', `The ${batch.name} has ${batch.rows} rows, it may have ${MAX_BATCH_ROWS}.`);
  }
  const columns = fields.map((field) => {
    const fault = (what: string) =>
      new ServiceError('invalid_data', `Column ${quoted(field.name)} of ${batch.name}: ${what}.`);
    const column = loadColumn(field.type, { batch, dictionaryLength, fault });
    if (column.length !== batch.rows) throw fault(`it has ${column.length} rows, the batch has ${batch.rows}`);
    if (!field.nullable && column.nullCount > 0 && !DataType.isNull(field.type)) {
      throw fault(`${column.nullCount} of its values are null, but the schema says that none is`);
    }
    return column;
  });
  batch.finish();
  return columns;
}

interface Loading {
  readonly batch: ArrowBatch;
  readonly dictionaryLength: (id: number) => number;
  readonly fault: (what: string) => ServiceError;
}

function loadColumn(type: DataType, loading: Loading): ColumnData {
  const { batch, fault } = loading;
  const [length, nullCount] = batch.nextNode();
  if (length > MAX_BATCH_ROWS) throw fault(`it has ${length} rows, a batch may have ${MAX_BATCH_ROWS}`);
  if (DataType.isNull(type)) return { length, nullCount: length };
  const head = { length, nullCount, ...loadValidity(length, nullCount, loading) };
  if (DataType.isUtf8View(type)) return { ...head, ...loadViews(head, loading) };
  if (DataType.isDictionary(type)) return { ...head, values: loadIndices(type, head, loading) };
  if (DataType.isStruct(type)) {
    const children = type.children.map((child) => loadColumn(child.type, loading));
    if (children.some((child) => child.length !== length)) throw fault('a field of it has another number of rows');
    return { ...head, children };
  }
  if (DataType.isFixedSizeList(type)) return { ...head, children: [loadFixedItems(type, length, loading)] };
  if (DataType.isList(type) || DataType.isLargeList(type)) {
    const offsets = loadOffsets(type, length, loading);
    const child = loadColumn(type.valueType, loading);
    checkOffsets(offsets, child.length, fault);
    return { ...head, offsets, children: [child] };
  }
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) {
    const offsets = loadOffsets(type, length, loading);
    const values = batch.nextBuffer();
    checkOffsets(offsets, values.length, fault);
    return { ...head, offsets, values: length === 0 ? new Uint8Array(0) : values };
  }
  if (DataType.isBool(type)) return { ...head, values: typedArray(Uint8Array, Math.ceil(length / 8), loading) };
  return { ...head, values: typedArray(type.ArrayType, length, loading) };
}

interface TypedArrayType<Elements extends Values> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): Elements;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Elements;
}

/** The next buffer as an array of exactly so many elements. */
function typedArray<Elements extends Values>(
  type: TypedArrayType<Elements>,
  count: number,
  { batch, fault }: Loading,
): Elements {
  const bytes = batch.nextBuffer();
  const size = count * type.BYTES_PER_ELEMENT;
  if (bytes.length < size) throw fault(`a buffer has ${bytes.length} bytes where its rows need ${size}`);
  // An empty view would keep the whole body in memory.
  if (count === 0) return new type(0);
  const aligned = bytes.byteOffset % type.BYTES_PER_ELEMENT === 0 ? bytes : bytes.slice(0, size);
  return new type(aligned.buffer, aligned.byteOffset, count);
}

function loadValidity(length: number, nullCount: number, loading: Loading): Pick<ColumnData, 'validity'> {
  const { batch, fault } = loading;
  const bits = batch.nextBuffer();
  if (bits.length === 0 && nullCount === 0) return {};
  const bytes = Math.ceil(length / 8);
  if (bits.length < bytes) throw fault(`its validity bitmap has ${bits.length} bytes where its rows need ${bytes}`);
  const counted = length - countBits(bits, length);
  if (counted !== nullCount) throw fault(`it says that ${nullCount} values are null, but ${counted} are`);
  return nullCount === 0 ? {} : { validity: bits.subarray(0, bytes) };
}

function countBits(bits: Uint8Array, length: number): number {
  let count = 0;
  const whole = length >> 3;
  for (let i = 0; i < whole; i++) count += BITS_SET[bits[i]];
  return length % 8 === 0 ? count : count + BITS_SET[bits[whole] & ((1 << (length % 8)) - 1)];
}

const BITS_SET = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

function loadOffsets(type: DataType, length: number, loading: Loading): Offsets {
  const offsetType: TypedArrayType<Offsets> =
    DataType.isLargeUtf8(type) || DataType.isLargeList(type) ? BigInt64Array : Int32Array;
  if (length > 0) return typedArray(offsetType, length + 1, loading);
  // The format lets a column without rows leave its only offset out.
  loading.batch.nextBuffer();
  return new offsetType(1);
}

type Offsets = NonNullable<ColumnData['offsets']>;

/** Offsets never go back, and stay inside of what they point to. */
function checkOffsets(offsets: Offsets, limit: number, fault: Loading['fault']): void {
  const isWide = offsets instanceof BigInt64Array;
  const words = isWide ? new Uint32Array(offsets.buffer, offsets.byteOffset, 2 * offsets.length) : offsets;
  let previous = 0;
  for (let row = 0; row < offsets.length; row++) {
    const offset = isWide ? words[2 * row] + words[2 * row + 1] * 2 ** 32 : words[row];
    if (!(offset >= previous && offset <= limit)) {
      throw fault(`offset ${offsets[row]} of row ${row} is before the one of the row before it, or beyond its data`);
    }
    previous = offset;
  }
}

function loadFixedItems(type: FixedSizeList, length: number, loading: Loading): ColumnData {
  const child = loadColumn(type.valueType, loading);
  if (child.length < length * type.listSize) {
    throw loading.fault(`its lists need ${length * type.listSize} values, there are ${child.length}`);
  }
  return child;
}

type ColumnHead = Pick<ColumnData, 'length' | 'nullCount' | 'validity'>;

function isNull(head: ColumnHead, row: number): boolean {
  return head.validity !== undefined && (head.validity[row >> 3] & (1 << (row & 7))) === 0;
}

/** Views: 16 bytes a row, either the text itself or where in which data buffer it is. */
function loadViews(head: ColumnHead, loading: Loading): Pick<ColumnData, 'values' | 'parts'> {
  const { batch, fault } = loading;
  const values = typedArray(Uint8Array, 16 * head.length, loading);
  const parts = Array.from({ length: batch.nextPartCount() }, () => batch.nextBuffer());
  const words = new DataView(values.buffer, values.byteOffset, values.byteLength);
  for (let row = 0; row < head.length; row++) {
    if (isNull(head, row)) continue;
    const length = words.getInt32(16 * row, true);
    if (length >= 0 && length <= 12) continue;
    const part = parts[words.getInt32(16 * row + 8, true)];
    const start = words.getInt32(16 * row + 12, true);
    if (part === undefined || length < 0 || start < 0 || start + length > part.length) {
      throw fault(`the view of row ${row} points outside of its data`);
    }
  }
  return { values, parts };
}

function loadIndices(type: Dictionary, head: ColumnHead, loading: Loading): Values {
  const indices = typedArray<Values>(type.indices.ArrayType, head.length, loading);
  const values = loading.dictionaryLength(type.id);
  for (let row = 0; row < head.length; row++) {
    const index = indices[row];
    if ((index < 0 || index >= values) && !isNull(head, row)) {
      throw loading.fault(`row ${row} is value ${index} of a dictionary that has ${values} values`);
    }
  }
  return indices;
}
