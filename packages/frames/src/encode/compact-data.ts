import { Data, DataType, Vector } from 'apache-arrow';
import { sliceData } from '../columns/slice-data.ts';
import { moveValues, partBytes, usedBytes, VIEW_BYTES, viewWords } from '../columns/views.ts';

/** Some rows of a column, with what they need and no more. */
export type CompactData = (data: Data, start: number, length: number) => Data;

/**
 * The writer of apache-arrow sends columns as they are: with all buffers of views, whatever the rows need of them. So
 * they get buffers of their own where they use little of the old. And it tells by its identity whether a dictionary is
 * new: so every dictionary is made compact once.
 */
export function createCompactData(): CompactData {
  const dictionaries = new WeakMap<Vector, Vector>();
  const dictionaryParts = new WeakMap<Data, Data>();

  function compactPart(part: Data): Data {
    const compacted = dictionaryParts.get(part) ?? compact(part, 0, part.length);
    dictionaryParts.set(part, compacted);
    return compacted;
  }

  function compactDictionary(dictionary: Vector | undefined): Vector | undefined {
    if (dictionary === undefined) return undefined;
    const compacted = dictionaries.get(dictionary) ?? new Vector(dictionary.data.map(compactPart));
    dictionaries.set(dictionary, compacted);
    return compacted;
  }

  /** A slice, the dictionaries and views in it made compact. */
  function tidied(slice: Data): Data {
    const { type, length, nullCount, nullBitmap, valueOffsets, children, dictionary } = slice;
    if (DataType.isUnion(type)) return slice;
    const isViews = DataType.isUtf8View(type) || DataType.isBinaryView(type);
    const { values, parts } = isViews ? compactViews(slice) : { values: slice.values, parts: [] };
    return new Data(
      type,
      0,
      length,
      nullCount,
      [valueOffsets, values, nullBitmap],
      children.map(tidied),
      compactDictionary(dictionary),
      parts,
    );
  }

  function compact(data: Data, start: number, length: number): Data {
    return tidied(sliceData(data, start, length));
  }

  return compact;
}

/** Views with buffers that are used by half at the least: those they have, or one of their own. */
function compactViews(slice: Data): { readonly values: Uint8Array; readonly parts: Uint8Array[] } {
  const all: Uint8Array = slice.values;
  const values = all.subarray(0, slice.length * VIEW_BYTES);
  const parts: readonly Uint8Array[] = slice.variadicBuffers;
  const views = { words: viewWords(values), rows: slice.length, parts, isNull: (row: number) => !slice.getValid(row) };
  const used = usedBytes(views);
  if (2 * used >= partBytes(views)) return { values, parts: [...parts] };
  const own = new Uint8Array(used);
  const moved = values.slice();
  moveValues({ ...views, words: viewWords(moved) }, own, 0);
  return { values: moved, parts: used === 0 ? [] : [own] };
}
