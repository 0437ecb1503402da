import type { Data } from 'apache-arrow';
import type { Values } from './column-data.ts';

// apache-arrow declares the buffers of a column as `any`, because they depend on its type. These functions return them
// with their types.

/** The constructor of a typed array. */
export interface TypedArrayType<Elements extends Values> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): Elements;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Elements;
}

/** Returns the array type of the values of a fixed-width type. */
export function arrayTypeOf({ ArrayType }: { readonly ArrayType: TypedArrayType<Values> }): TypedArrayType<Values> {
  return ArrayType;
}

/** Returns the values of a fixed-width column, or its dictionary indices. */
export function valuesOf({ values }: { readonly values: Values }): Values {
  return values;
}

/** Returns the values of a column of bits, bytes, texts or views. */
export function valueBytes({ values }: { readonly values: Uint8Array }): Uint8Array {
  return values;
}

/** Returns the offsets of a column of variable-length values. */
export function offsetsOf({
  valueOffsets,
}: {
  readonly valueOffsets: Int32Array | BigInt64Array;
}): Int32Array | BigInt64Array {
  return valueOffsets;
}

/** Returns the chunks of a vector. */
export function chunksOf(vector: { readonly data: readonly Data[] } | undefined): readonly Data[] {
  return vector?.data ?? [];
}
