import { DataType } from 'apache-arrow';
import { isBitSet } from './bits.ts';

/** The values of a column, or its dictionary indices; see `elementsPerRow`. */
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
 * The buffers of one column of one batch, in the form that the worker sends to the main thread. The type is in the
 * schema; dictionary values are sent separately.
 */
export interface ColumnData {
  readonly length: number;
  readonly nullCount: number;
  /** One bit per row; undefined if no row is null. */
  readonly validity?: Uint8Array<ArrayBuffer>;
  readonly offsets?: Int32Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>;
  readonly values?: Values;
  /** The data buffers of a view column. */
  readonly parts?: readonly Uint8Array<ArrayBuffer>[];
  readonly children?: readonly ColumnData[];
}

/** Whether a row is null. */
export function isNullAt({ validity }: Pick<ColumnData, 'validity'>, row: number): boolean {
  return validity !== undefined && !isBitSet(validity, row);
}

/** Collects the distinct ArrayBuffers of the columns, for a transfer list. */
export function buffersOf(columns: readonly ColumnData[], found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  for (const { validity, offsets, values, parts = [], children = [] } of columns) {
    for (const view of [validity, offsets, values, ...parts]) {
      if (view !== undefined && view.buffer.byteLength > 0) found.add(view.buffer);
    }
    buffersOf(children, found);
  }
  return found;
}

/** Returns the array elements per row, for a type that is neither nested nor variable-length. */
export function elementsPerRow(type: DataType): number {
  if (DataType.isDecimal(type)) return type.bitWidth / 32;
  if (DataType.isInterval(type)) return [1, 2, 4][type.unit];
  return DataType.isFixedSizeBinary(type) ? type.byteWidth : 1;
}

/** Whether a type has 64-bit offsets. */
export function isWide(type: DataType): boolean {
  return DataType.isLargeUtf8(type) || DataType.isLargeBinary(type) || DataType.isLargeList(type);
}
