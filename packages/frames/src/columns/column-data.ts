import { DataType } from 'apache-arrow';
import { isBitSet } from './bits.ts';

/** The values of a column, or its index of dictionary values; see `elementsPerRow`. */
export type Values =
  | Int8Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | BigUint64Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>;

/**
 * The buffers of one column of one batch, in the form in which they cross from the worker to the main thread. Its type
 * is in the schema, the values of a dictionary come apart from it.
 */
export interface ColumnData {
  readonly length: number;
  readonly nullCount: number;
  /** One bit per row; left out where no row is null. */
  readonly validity?: Uint8Array<ArrayBuffer>;
  readonly offsets?: Int32Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>;
  readonly values?: Values;
  /** The data buffers of a column of views. */
  readonly parts?: readonly Uint8Array<ArrayBuffer>[];
  readonly children?: readonly ColumnData[];
}

/** Whether a row is null. */
export function isNullAt({ validity }: Pick<ColumnData, 'validity'>, row: number): boolean {
  return validity !== undefined && !isBitSet(validity, row);
}

/** Every ArrayBuffer behind the columns, once: what is handed over with them. */
export function buffersOf(columns: readonly ColumnData[], found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  for (const { validity, offsets, values, parts = [], children = [] } of columns) {
    for (const view of [validity, offsets, values, ...parts]) {
      if (view !== undefined && view.buffer.byteLength > 0) found.add(view.buffer);
    }
    buffersOf(children, found);
  }
  return found;
}

/** How many elements of its array a row of a type has that is neither nested nor of texts. */
export function elementsPerRow(type: DataType): number {
  if (DataType.isDecimal(type)) return type.bitWidth / 32;
  if (DataType.isInterval(type)) return [1, 2, 4][type.unit];
  return DataType.isFixedSizeBinary(type) ? type.byteWidth : 1;
}

/** Whether the offsets of a type have 64 bits. */
export function isWide(type: DataType): boolean {
  return DataType.isLargeUtf8(type) || DataType.isLargeBinary(type) || DataType.isLargeList(type);
}
