import { Data, DataType, Vector } from 'apache-arrow';
import { valueBytes } from '../columns/arrow-data.ts';
import { sliceData } from '../columns/slice-data.ts';
import { moveValues, partBytes, usedBytes, VIEW_BYTES, viewWords } from '../columns/views.ts';

/** Returns a range of rows of a column with only the buffers they need. */
export type CompactData = (data: Data, start: number, length: number) => Data;

/**
 * The writer of apache-arrow sends all buffers of a view column, whether the rows need them or not. So rows that use
 * little of them get new buffers. The writer recognizes a dictionary by identity, so each dictionary is compacted only
 * once.
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

  /** Compacts the dictionaries and views of a slice. */
  function tidied(slice: Data): Data {
    const { type, length, nullCount, nullBitmap, children, dictionary } = slice;
    const isViews = DataType.isUtf8View(type) || DataType.isBinaryView(type);
    const isPlain = children.length === 0 && dictionary === undefined && !isViews;
    if (isPlain || DataType.isUnion(type)) return slice;
    const views = isViews ? compactViews(slice) : undefined;
    return new Data(
      type,
      0,
      length,
      nullCount,
      [slice.valueOffsets, views === undefined ? slice.values : views.values, nullBitmap],
      children.map(tidied),
      compactDictionary(dictionary),
      views?.parts ?? [],
    );
  }

  function compact(data: Data, start: number, length: number): Data {
    return tidied(sliceData(data, start, length));
  }

  return compact;
}

/** Returns views whose buffers are at least half used: the old ones, or a new one. */
function compactViews(slice: Data): { readonly values: Uint8Array; readonly parts: Uint8Array[] } {
  const values = valueBytes(slice).subarray(0, slice.length * VIEW_BYTES);
  const parts: readonly Uint8Array[] = slice.variadicBuffers;
  const views = { words: viewWords(values), rows: slice.length, parts, isNull: (row: number) => !slice.getValid(row) };
  const used = usedBytes(views);
  if (2 * used >= partBytes(views)) return { values, parts: [...parts] };
  const own = new Uint8Array(used);
  const moved = values.slice();
  moveValues({ ...views, words: viewWords(moved) }, own, 0);
  return { values: moved, parts: used === 0 ? [] : [own] };
}
