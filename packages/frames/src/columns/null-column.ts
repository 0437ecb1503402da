import { DataType } from 'apache-arrow';
import { typeOf } from '../arrow-types.ts';
import { arrayTypeOf } from './arrow-data.ts';
import { type ColumnData, elementsPerRow, isWide } from './column-data.ts';
import type { Joining } from './join-columns.ts';
import { VIEW_BYTES } from './views.ts';

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
  if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) {
    return { ...head, values: allocate(VIEW_BYTES * length), parts: [] };
  }
  if (hasOffsets(type)) {
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

function hasOffsets(type: DataType): boolean {
  if (DataType.isList(type) || DataType.isLargeList(type) || DataType.isMap(type)) return true;
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isBinary(type) || DataType.isLargeBinary(type);
}
