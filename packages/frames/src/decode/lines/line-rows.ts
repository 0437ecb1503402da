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
import { countBits, isBitSet, setBit } from '../../columns/bits.ts';
import { allocateCounted } from '../limits.ts';
import { fillOffsets, type LineColumn, type LineKind, reserveRows } from './line-column.ts';

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

/** Returns the values of a column that has no text. `timezone`: that of times. */
export function plainData(column: LineColumn, rows: number, timezone: string | null, budget: ByteBudget): Data {
  const { kind } = column;
  if (kind === 'STRING' || kind === 'SYMBOL') throw new TypeError('The column has texts.');
  const nulls = nullsOf(column, rows, budget);
  return new Data(typeOfKind(kind, timezone), 0, rows, nulls.count, [
    undefined,
    values(column, rows, budget),
    nulls.bits,
  ]);
}

function values({ kind, slots, doubles, flags }: LineColumn, rows: number, budget: ByteBudget): Data['values'] {
  if (kind === 'DOUBLE') return doubles.subarray(0, rows);
  if (kind === 'ULONG') return new BigUint64Array(slots, 0, rows);
  if (kind !== 'BOOLEAN') return new BigInt64Array(slots, 0, rows);
  const bits = allocateCounted(budget, Math.ceil(rows / 8));
  for (let row = 0; row < rows; row++) if (flags[row] === 1) setBit(bits, row);
  return bits;
}

/** Returns the values of a column of text. */
export function textData(column: LineColumn, rows: number, form: TextForm, budget: ByteBudget): Data {
  const nulls = nullsOf(column, rows, budget);
  if (form === 'symbol') {
    const { indices, texts } = column.symbols ? symbolsOf(column, rows) : indexed(column, rows, budget);
    const type = new Dictionary(new Utf8(), new Int32());
    return new Data(type, 0, rows, nulls.count, [undefined, indices, nulls.bits], [], makeVector(texts));
  }
  const { offsets, text } = column.symbols ? expanded(column, rows, budget) : textsOf(column, rows);
  if (form === 'text') return new Data(new Utf8(), 0, rows, nulls.count, [offsets, text, nulls.bits]);
  const wide = new BigInt64Array(allocateCounted(budget, 8 * offsets.length).buffer);
  for (let i = 0; i < offsets.length; i++) wide[i] = BigInt(offsets[i]);
  return new Data(new LargeUtf8(), 0, rows, nulls.count, [wide, text, nulls.bits]);
}

interface Texts {
  readonly offsets: Int32Array;
  readonly text: Uint8Array;
}

/** Returns which rows have values. The column has room for all rows afterwards. */
function nullsOf(column: LineColumn, rows: number, budget: ByteBudget): { count: number; bits: Uint8Array } {
  reserveRows(column, rows, budget);
  const count = rows - countBits(column.validity, rows);
  return { count, bits: count === 0 ? new Uint8Array(0) : column.validity.subarray(0, Math.ceil(rows / 8)) };
}

function textsOf(column: LineColumn, rows: number): Texts {
  fillOffsets(column, rows);
  const offsets = column.words.subarray(0, rows + 1);
  return { offsets, text: column.text.subarray(0, offsets[rows]) };
}

interface Symbols {
  readonly indices: Int32Array;
  readonly texts: Data<Utf8>;
}

function symbolsOf({ words, symbols }: LineColumn, rows: number): Symbols {
  const { count = 0, offsets = new Int32Array(1), text = new Uint8Array(0) } = symbols ?? {};
  const used = offsets.subarray(0, count + 1);
  const texts = new Data(new Utf8(), 0, count, 0, [used, text.subarray(0, used[count]), new Uint8Array(0)]);
  return { indices: words.subarray(0, rows), texts };
}

/** Makes every row a symbol of its own: a column of texts that is added to one of symbols. */
function indexed(column: LineColumn, rows: number, budget: ByteBudget): Symbols {
  const { offsets, text } = textsOf(column, rows);
  const indices = new Int32Array(allocateCounted(budget, 4 * rows).buffer);
  for (let row = 0; row < rows; row++) indices[row] = row;
  return { indices, texts: new Data(new Utf8(), 0, rows, 0, [offsets, text, new Uint8Array(0)]) };
}

/** Writes the text of each row instead of the index of its symbol. */
function expanded({ words, validity, symbols }: LineColumn, rows: number, budget: ByteBudget): Texts {
  const { offsets: known = new Int32Array(1), text: source = new Uint8Array(0) } = symbols ?? {};
  const offsets = new Int32Array(allocateCounted(budget, 4 * (rows + 1)).buffer);
  for (let row = 0; row < rows; row++) {
    const length = isBitSet(validity, row) ? known[words[row] + 1] - known[words[row]] : 0;
    offsets[row + 1] = offsets[row] + length;
  }
  const text = allocateCounted(budget, offsets[rows]);
  for (let row = 0; row < rows; row++) {
    let to = offsets[row];
    for (let from = known[words[row]]; to < offsets[row + 1]; from++) text[to++] = source[from];
  }
  return { offsets, text };
}
