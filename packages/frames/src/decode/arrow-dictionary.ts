import { ServiceError } from '@svc/errors';
import { DataType } from 'apache-arrow';
import type { ColumnData } from './column-data.ts';
import { allocate } from './limits.ts';

/** A dictionary with the values of a delta after its own, as one column. */
export function appendDictionary(type: DataType, base: ColumnData, delta: ColumnData): ColumnData {
  const length = base.length + delta.length;
  const nullCount = base.nullCount + delta.nullCount;
  if (DataType.isNull(type)) return { length, nullCount };
  const head = { length, nullCount, ...(nullCount === 0 ? {} : { validity: joinValidity(base, delta) }) };
  if (DataType.isUtf8View(type)) return { ...head, ...joinViews(base, delta) };
  const values = joinBytes(bytesOf(base), bytesOf(delta));
  const isWide = DataType.isLargeUtf8(type);
  if (!isWide && values.length > 2 ** 31 - 1) {
    throw new ServiceError('invalid_data', 'A dictionary has grown beyond 2 GiB of text.', {
      hint: 'Use large utf8 as the type of its values.',
    });
  }
  return { ...head, values, offsets: isWide ? joinWideOffsets(base, delta) : joinOffsets(base, delta) };
}

function bytesOf(column: ColumnData): Uint8Array<ArrayBuffer> {
  return column.values instanceof Uint8Array ? column.values : new Uint8Array(0);
}

function joinBytes(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = allocate(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

function joinValidity(base: ColumnData, delta: ColumnData): Uint8Array<ArrayBuffer> {
  const bits = new Uint8Array(Math.ceil((base.length + delta.length) / 8));
  [base, delta].forEach(({ length, validity }, i) => {
    for (let row = 0; row < length; row++) {
      const at = row + i * base.length;
      if (validity === undefined || (validity[row >> 3] & (1 << (row & 7))) !== 0) bits[at >> 3] |= 1 << (at & 7);
    }
  });
  return bits;
}

function joinOffsets(base: ColumnData, delta: ColumnData): Int32Array<ArrayBuffer> {
  const offsets = new Int32Array(base.length + delta.length + 1);
  const shift = bytesOf(base).length;
  for (let row = 0; row < base.length; row++) offsets[row] = Number(base.offsets?.[row]);
  for (let row = 0; row <= delta.length; row++) offsets[base.length + row] = Number(delta.offsets?.[row]) + shift;
  return offsets;
}

function joinWideOffsets(base: ColumnData, delta: ColumnData): BigInt64Array<ArrayBuffer> {
  const offsets = new BigInt64Array(base.length + delta.length + 1);
  const shift = BigInt(bytesOf(base).length);
  for (let row = 0; row < base.length; row++) offsets[row] = BigInt(base.offsets?.[row] ?? 0);
  for (let row = 0; row <= delta.length; row++) offsets[base.length + row] = BigInt(delta.offsets?.[row] ?? 0) + shift;
  return offsets;
}

function joinViews(base: ColumnData, delta: ColumnData): Pick<ColumnData, 'values' | 'parts'> {
  const values = joinBytes(bytesOf(base), bytesOf(delta));
  const words = new DataView(values.buffer);
  const { parts = [] } = base;
  for (let row = base.length; row < base.length + delta.length; row++) {
    const isOutside = words.getInt32(16 * row, true) > 12;
    if (isOutside) words.setInt32(16 * row + 8, words.getInt32(16 * row + 8, true) + parts.length, true);
  }
  return { values, parts: [...parts, ...(delta.parts ?? [])] };
}
