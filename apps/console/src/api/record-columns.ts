import type { FlatTable } from './flatbuffer.ts';
import type { ArrowType, NumberArray } from './ipc-schema.ts';

/** The buffers of a column of a record batch, or of a part of it. Those that its type does not have are empty. */
export interface ArrowColumn {
  readonly nullCount: number;
  readonly validity: Uint8Array;
  /** The values as numbers of the type's width; of a view, four 32-bit numbers each. */
  readonly values: ArrayLike<number | bigint>;
  /** The memory of `values`; of texts and binary values their bytes. */
  readonly bytes: Uint8Array;
  readonly offsets: ArrayLike<number | bigint>;
  /** The buffers that long values of a view are in. */
  readonly data: readonly Uint8Array[];
  readonly children: readonly ArrowColumn[];
  readonly dictionary: ArrowDictionary | undefined;
}

/** The values of a dictionary: those of its first message, and of the messages that added to it. */
export interface ArrowDictionary {
  readonly parts: readonly { readonly firstKey: number; readonly column: ArrowColumn }[];
  readonly length: number;
}

const EMPTY = new Uint8Array(0);

/**
 * Returns the columns of a record batch; they share the memory of its body. Throws if the body is compressed, or if a buffer
 * is not in it.
 */
export function recordColumns(
  fields: readonly { readonly type: ArrowType }[],
  record: FlatTable,
  body: Uint8Array,
  dictionaries: ReadonlyMap<number, ArrowDictionary>,
): readonly ArrowColumn[] {
  if (record.table(3) !== undefined) throw new TypeError('The Arrow data is compressed.');
  const nodes = record.longs(1, 2).values();
  const regions = record.longs(2, 2).values();
  const dataCounts = record.longs(4, 1).values();

  function bytes(): Uint8Array {
    const start = next(regions);
    const end = start + next(regions);
    if (end > body.length) throw new RangeError('A buffer is not in its message.');
    return body.subarray(start, end);
  }

  function columnOf(type: ArrowType): ArrowColumn {
    const length = next(nodes);
    const nullCount = next(nodes);
    const none = { values: EMPTY, bytes: EMPTY, offsets: EMPTY, data: [], children: [], dictionary: undefined };
    if (type.kind === 'null') return { ...none, nullCount: length, validity: EMPTY };
    const column = { ...none, nullCount, validity: bytes() };
    if ('array' in type) return { ...column, ...numbers(bytes(), type.array) };
    if (type.kind === 'dictionary') {
      return { ...column, ...numbers(bytes(), type.keys.array), dictionary: dictionaries.get(type.id) };
    }
    const offsets = 'offsets' in type && type.offsets ? numbers(bytes(), type.offsets).values : EMPTY;
    if ('children' in type) return { ...column, offsets, children: columnsOf(type.children) };
    if (type.offsets) return { ...column, offsets, bytes: bytes() };
    return { ...column, ...numbers(bytes(), Int32Array), data: Array.from({ length: next(dataCounts) }, bytes) };
  }

  const columnsOf = (parts: readonly { readonly type: ArrowType }[]): readonly ArrowColumn[] =>
    parts.map(({ type }) => columnOf(type));

  return columnsOf(fields);
}

function next(values: Iterator<number, undefined>): number {
  const { value } = values.next();
  if (value === undefined) throw new RangeError('The Arrow data has fewer buffers than its columns need.');
  return value;
}

/** The numbers in a buffer. Its end may be padding. */
function numbers(bytes: Uint8Array, ArrayType: NumberArray): Pick<ArrowColumn, 'bytes' | 'values'> {
  const length = Math.floor(bytes.length / ArrayType.BYTES_PER_ELEMENT);
  return { bytes, values: new ArrayType(bytes.buffer, bytes.byteOffset, length) };
}
