import { Data, DataType, Vector } from 'apache-arrow';

/** Makes columns that hold what their rows need and begin at their first row. */
export type CompactData = (data: Data) => Data;

/**
 * The writer of apache-arrow takes columns as they are: it sends whole bitmaps and whole buffers of views with every
 * slice, reads a sliced column of views at the wrong place, and does not count the nulls of a sliced column of nulls. So
 * it gets none of these. A dictionary is made compact once, because the writer tells by its identity whether it is new.
 */
export function createCompactData(): CompactData {
  const dictionaries = new WeakMap<Vector, Vector>();
  const dictionaryParts = new WeakMap<Data, Data>();

  function compactPart(part: Data): Data {
    const compacted = dictionaryParts.get(part) ?? compact(part);
    dictionaryParts.set(part, compacted);
    return compacted;
  }

  function compactDictionary(dictionary: Vector | undefined): Vector | undefined {
    if (dictionary === undefined) return undefined;
    const compacted = dictionaries.get(dictionary) ?? new Vector(dictionary.data.map(compactPart));
    dictionaries.set(dictionary, compacted);
    return compacted;
  }

  function compact(data: Data): Data {
    const { type, length } = data;
    if (DataType.isNull(type)) return new Data(type, 0, length, length);
    const { offsets, values, children, parts } = contentOf(data);
    return new Data(
      type,
      0,
      length,
      data.nullCount,
      [offsets, values, data.nullCount > 0 ? bitsOf(data.nullBitmap, data.offset, length) : NO_BYTES],
      children?.map(compact),
      compactDictionary(data.dictionary),
      parts,
    );
  }

  return compact;
}

const NO_BYTES = new Uint8Array(0);

interface Content {
  readonly offsets?: Int32Array | BigInt64Array;
  readonly values?: ArrayBufferView;
  readonly children?: readonly Data[];
  readonly parts?: Uint8Array[];
}

function contentOf(data: Data): Content {
  const { type, length } = data;
  if (DataType.isBool(type)) return { values: bitsOf(data.values, data.offset, length) };
  if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) return viewsOf(data);
  if (DataType.isStruct(type)) return { children: data.children.map((child) => firstRows(child, length)) };
  if (DataType.isFixedSizeList(type)) return { children: [firstRows(data.children[0], length * type.listSize)] };
  if (DataType.isList(type) || DataType.isLargeList(type) || DataType.isMap(type)) {
    const offsets = data.valueOffsets;
    const start = Number(offsets[0]);
    return {
      offsets: rebased(offsets, length),
      children: [data.children[0].slice(start, Number(offsets[length]) - start)],
    };
  }
  return { offsets: data.valueOffsets, values: data.values };
}

function firstRows(data: Data, length: number): Data {
  return data.length === length ? data : data.slice(0, length);
}

/** Offsets that begin with zero. */
function rebased(offsets: Int32Array | BigInt64Array, length: number): Int32Array | BigInt64Array {
  if (Number(offsets[0]) === 0) return offsets.subarray(0, length + 1);
  if (offsets instanceof Int32Array) return offsets.subarray(0, length + 1).map((offset) => offset - offsets[0]);
  return offsets.subarray(0, length + 1).map((offset) => offset - offsets[0]);
}

/** The bits from `offset` on; nothing is copied where they begin with a byte. */
function bitsOf(bitmap: Uint8Array, offset: number, length: number): Uint8Array {
  const first = offset >> 3;
  const shift = offset & 7;
  if (shift === 0) return bitmap.subarray(first, first + ((length + 7) >> 3));
  const bits = new Uint8Array((length + 7) >> 3);
  for (let i = 0; i < bits.length; i++) bits[i] = (bitmap[first + i] >> shift) | (bitmap[first + i + 1] << (8 - shift));
  return bits;
}

const VIEW_BYTES = 16;
const INLINE_BYTES = 12;

/** Views with buffers that are used by half at the least: those they have, or one of their own. */
function viewsOf(data: Data): Content {
  const all: Uint8Array = data.values;
  const views = all.subarray(0, data.length * VIEW_BYTES);
  const words = new DataView(views.buffer, views.byteOffset, views.byteLength);
  const held: readonly Uint8Array[] = data.variadicBuffers;
  const longBytes = (row: number): number => {
    const bytes = data.getValid(row) ? words.getInt32(row * VIEW_BYTES, true) : 0;
    return bytes <= INLINE_BYTES ? 0 : bytes;
  };
  let used = 0;
  for (let row = 0; row < data.length; row++) used += longBytes(row);
  if (2 * used >= held.reduce((bytes, buffer) => bytes + buffer.length, 0)) return { values: views, parts: [...held] };

  const own = new Uint8Array(used);
  const moved = new Uint8Array(views.length);
  const movedWords = new DataView(moved.buffer);
  let at = 0;
  for (let row = 0; row < data.length; row++) {
    const place = row * VIEW_BYTES;
    // A view that stands for no value stays all zeros, as it could name a buffer that is gone.
    if (!data.getValid(row)) continue;
    moved.set(views.subarray(place, place + VIEW_BYTES), place);
    const bytes = longBytes(row);
    if (bytes === 0) continue;
    const start = words.getInt32(place + 12, true);
    own.set(held[words.getInt32(place + 8, true)].subarray(start, start + bytes), at);
    movedWords.setInt32(place + 8, 0, true);
    movedWords.setInt32(place + 12, at, true);
    at += bytes;
  }
  return { values: moved, parts: used === 0 ? [] : [own] };
}
