import {
  Bool,
  Data,
  type DataType,
  Dictionary,
  Float64,
  Int32,
  Int64,
  LargeUtf8,
  makeVector,
  Timestamp,
  TimeUnit,
  Uint64,
  Utf8,
} from 'apache-arrow';
import type { ByteBudget } from '../../byte-budget.ts';
import { countBits, isBitSet, setBit, sliceBits } from '../../columns/bits.ts';
import { sliceData } from '../../columns/slice-data.ts';
import { allocateCounted } from '../limits.ts';
import { fillOffsets, type LineColumn, type LineKind, reserveRows } from './line-column.ts';
import type { SymbolSet } from './symbol-set.ts';

/** The forms of text in Arrow. */
export type TextForm = 'symbol' | 'text' | 'large text';

/** Returns the Arrow type of values that are not text. */
function typeOfKind(kind: Exclude<LineKind, 'STRING' | 'SYMBOL'>, timezone: string | null): DataType {
  switch (kind) {
    case 'BOOLEAN':
      return new Bool();
    case 'LONG':
      return new Int64();
    case 'ULONG':
      return new Uint64();
    case 'DOUBLE':
      return new Float64();
    case 'TIMESTAMP':
      return new Timestamp(TimeUnit.MICROSECOND, timezone);
    case 'TIMESTAMP_NS':
      return new Timestamp(TimeUnit.NANOSECOND, timezone);
    default:
      return kind satisfies never;
  }
}

/** The rows of a column, which are made a range at a time: a column of a long request would block the event loop. */
export interface LineRows {
  readonly type: DataType;
  readonly nullCount: number;
  /** Returns a range of rows. It begins at a multiple of 8. */
  readonly slice: (start: number, count: number) => Data;
}

/** Returns the values of a column that has no text. `timezone`: that of times. */
export function plainRows(column: LineColumn, rows: number, timezone: string | null, budget: ByteBudget): LineRows {
  const { kind } = column;
  if (kind === 'STRING' || kind === 'SYMBOL') throw new TypeError('The column has texts.');
  const nulls = nullsOf(column, rows, budget);
  const type = typeOfKind(kind, timezone);
  if (kind !== 'BOOLEAN')
    return rowsOf(new Data(type, 0, rows, nulls.count, [undefined, values(column, rows), nulls.bits]));
  return madeRows(type, nulls, (start, count) => {
    const bits = allocateCounted(budget, Math.ceil(count / 8));
    for (let row = 0; row < count; row++) if (column.flags[start + row] === 1) setBit(bits, row);
    return [undefined, bits];
  });
}

function values({ kind, slots, doubles }: LineColumn, rows: number): Data['values'] {
  if (kind === 'DOUBLE') return doubles.subarray(0, rows);
  return kind === 'ULONG' ? new BigUint64Array(slots, 0, rows) : new BigInt64Array(slots, 0, rows);
}

/** Returns the values of a column of text. */
export function textRows(column: LineColumn, rows: number, form: TextForm, budget: ByteBudget): LineRows {
  const nulls = nullsOf(column, rows, budget);
  if (form === 'symbol') return symbolRows(column, rows, nulls, budget);
  const { symbols } = column;
  if (symbols === undefined && form === 'text') {
    const { offsets, text } = textsOf(column, rows);
    return rowsOf(new Data(new Utf8(), 0, rows, nulls.count, [offsets, text, nulls.bits]));
  }
  if (symbols === undefined) textsOf(column, rows);
  return madeRows(form === 'text' ? new Utf8() : new LargeUtf8(), nulls, (start, count) => {
    const { offsets, text } = symbols
      ? expanded(column, symbols, start, count, budget)
      : { offsets: column.words.subarray(start, start + count + 1), text: column.text };
    return [form === 'text' ? offsets : widened(offsets, budget), text];
  });
}

function widened(offsets: Int32Array, budget: ByteBudget): BigInt64Array {
  const wide = new BigInt64Array(allocateCounted(budget, 8 * offsets.length).buffer);
  for (let i = 0; i < offsets.length; i++) wide[i] = BigInt(offsets[i]);
  return wide;
}

function symbolRows(column: LineColumn, rows: number, nulls: Nulls, budget: ByteBudget): LineRows {
  const type = new Dictionary(new Utf8(), new Int32());
  if (column.symbols !== undefined) {
    const { count, offsets, text } = column.symbols;
    const texts = makeVector(utf8Data(offsets.subarray(0, count + 1), text));
    const indices = column.words.subarray(0, rows);
    return rowsOf(new Data(type, 0, rows, nulls.count, [undefined, indices, nulls.bits], [], texts));
  }
  // Every row is a symbol of its own: a column of texts that is added to one of symbols.
  const { offsets, text } = textsOf(column, rows);
  const texts = makeVector(utf8Data(offsets, text));
  const numbered = (start: number, count: number): Buffers => {
    const indices = new Int32Array(allocateCounted(budget, 4 * count).buffer);
    for (let row = 0; row < count; row++) indices[row] = start + row;
    return [undefined, indices];
  };
  return madeRows(type, nulls, numbered, texts);
}

function utf8Data(offsets: Int32Array, text: Uint8Array): Data<Utf8> {
  const count = offsets.length - 1;
  return new Data(new Utf8(), 0, count, 0, [offsets, text.subarray(0, offsets[count]), new Uint8Array(0)]);
}

/** Rows that exist already: a range of them copies nothing. */
function rowsOf(whole: Data): LineRows {
  const { type, nullCount } = whole;
  return { type, nullCount, slice: (start, count) => sliceData(whole, start, count) };
}

/** The offsets and values of rows. */
type Buffers = readonly [offsets: Int32Array | BigInt64Array | undefined, values: Uint8Array | Int32Array];

/** Rows that are made as they are needed. */
function madeRows(
  type: DataType,
  nulls: Nulls,
  make: (start: number, count: number) => Buffers,
  dictionary?: Data['dictionary'],
): LineRows {
  return {
    type,
    nullCount: nulls.count,
    slice(start, count) {
      const bits = nulls.count === 0 ? nulls.bits : sliceBits(nulls.bits, start, count);
      return new Data(type, 0, count, nulls.count === 0 ? 0 : -1, [...make(start, count), bits], [], dictionary);
    },
  };
}

interface Nulls {
  readonly count: number;
  /** Which rows have values; empty if all have. */
  readonly bits: Uint8Array;
}

/** Returns which rows have values. The column has room for all rows afterwards. */
function nullsOf(column: LineColumn, rows: number, budget: ByteBudget): Nulls {
  reserveRows(column, rows, budget);
  const count = rows - countBits(column.validity, rows);
  return { count, bits: count === 0 ? new Uint8Array(0) : column.validity.subarray(0, Math.ceil(rows / 8)) };
}

interface Texts {
  readonly offsets: Int32Array;
  readonly text: Uint8Array;
}

function textsOf(column: LineColumn, rows: number): Texts {
  fillOffsets(column, rows);
  const offsets = column.words.subarray(0, rows + 1);
  return { offsets, text: column.text.subarray(0, offsets[rows]) };
}

/** Writes the text of each row instead of the index of its symbol. */
function expanded(
  { words, validity }: LineColumn,
  { offsets: known, text: source }: SymbolSet,
  start: number,
  count: number,
  budget: ByteBudget,
): Texts {
  const offsets = new Int32Array(allocateCounted(budget, 4 * (count + 1)).buffer);
  for (let row = 0; row < count; row++) {
    const symbol = words[start + row];
    const length = isBitSet(validity, start + row) ? known[symbol + 1] - known[symbol] : 0;
    offsets[row + 1] = offsets[row] + length;
  }
  const text = allocateCounted(budget, offsets[count]);
  for (let row = 0; row < count; row++) {
    let to = offsets[row];
    for (let from = known[words[start + row]]; to < offsets[row + 1]; from++) text[to++] = source[from];
  }
  return { offsets, text };
}
