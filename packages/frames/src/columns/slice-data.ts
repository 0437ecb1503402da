import { Data, DataType } from 'apache-arrow';
import { offsetsOf, valueBytes, valuesOf } from './arrow-data.ts';
import { sliceBits } from './bits.ts';

/**
 * Returns a range of rows of a column. Values are not copied; bits are if the range is not aligned to a byte, and so
 * are the offsets of lists. Thus every slice starts at row 0 and its lists at item 0: apache-arrow misreads view and
 * null columns with another offset.
 */
export function sliceData(data: Data, start: number, length: number): Data {
  const { type, dictionary, variadicBuffers } = data;
  if (DataType.isNull(type)) return new Data(type, 0, length, length);
  // Frames have no unions. The small metadata tables that have one are sent whole.
  if (DataType.isUnion(type)) return data.slice(start, length);
  const hasNulls = data.nullCount > 0;
  const isWhole = length === data.length;
  const validity = hasNulls ? sliceBits(data.nullBitmap, data.offset + start, length) : new Uint8Array(0);
  const { offsets, children } = sliceChildren(data, start, length);
  return new Data(
    type,
    0,
    length,
    isWhole ? data.nullCount : hasNulls ? -1 : 0,
    [offsets, sliceValues(data, start, length), validity],
    children,
    dictionary,
    variadicBuffers,
  );
}

/** Text is addressed by offsets, so its bytes stay unchanged. */
function sliceValues(data: Data, start: number, length: number): Data['values'] {
  const { type, stride } = data;
  if (data.values === undefined || data.valueOffsets !== undefined) return data.values;
  if (DataType.isBool(type)) return sliceBits(valueBytes(data), data.offset + start, length);
  return valuesOf(data).subarray(stride * start, stride * (start + length));
}

type Offsets = Int32Array | BigInt64Array;

function sliceChildren(data: Data, start: number, length: number): { offsets?: Offsets; children: Data[] } {
  const { type, children, stride } = data;
  if (data.valueOffsets === undefined) {
    const perRow = DataType.isFixedSizeList(type) ? stride : 1;
    return { children: children.map((child) => sliceData(child, perRow * start, perRow * length)) };
  }
  const offsets = offsetsOf(data).subarray(start, start + length + 1);
  if (children.length === 0) return { offsets, children: [] };
  const first = Number(offsets[0]);
  const items = Number(offsets[length]) - first;
  return { offsets: rebased(offsets), children: children.map((child) => sliceData(child, first, items)) };
}

function rebased(offsets: Offsets): Offsets {
  if (offsets instanceof Int32Array) {
    const [first] = offsets;
    return first === 0 ? offsets : offsets.map((offset) => offset - first);
  }
  const [first] = offsets;
  return first === 0n ? offsets : offsets.map((offset) => offset - first);
}
