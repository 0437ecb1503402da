import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  Bool,
  Data,
  DataType,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  LargeUtf8,
  makeVector,
  type RecordBatch,
  Schema,
  Timestamp,
  TimeUnit,
  Uint64,
  Utf8,
} from 'apache-arrow';
import { checkSchema, columnInfo, typeOf, valueTypeOf } from '../../column-types.ts';
import { countBits, isBitSet, setBit, sliceBits } from '../../columns/column-data.ts';
import { convertColumn, isConvertible, isSameType } from '../../columns/match-columns.ts';
import { createRecordBatch } from '../../columns/record-batch.ts';
import { sliceData } from '../../columns/slice-batches.ts';
import { type FrameStream, streamOfBatches } from '../../streams.ts';
import { allocateCounted } from '../limits.ts';
import {
  fillOffsets,
  type LineColumn,
  type LineKind,
  type LineTable,
  reserveRows,
  type SymbolSet,
  typeConflict,
} from './line-table.ts';
import { LineError } from './line-tokens.ts';

/** The rows of a batch: a long append is checked, and sent to the store, in parts. */
const BATCH_ROWS = 65_536;

/**
 * Returns the lines of a table as rows. If they are appended to a frame they have its types, and the order of its columns: a
 * column the frame lacks, or a value that would change, is a `LineError`. Columns the lines lack are left out.
 * `pause` is awaited after each part of the work, so it does not block the event loop.
 */
export async function fitLines(
  table: LineTable,
  frame: Schema | undefined,
  pause: () => Promise<void> | undefined,
): Promise<FrameStream> {
  const starts = Array.from({ length: Math.ceil(table.rows / BATCH_ROWS) }, (_, i) => i * BATCH_ROWS);
  const batches: Data[][] = starts.map(() => []);
  const fields: Field[] = [];
  for (const column of frame === undefined ? ownColumns(table) : columnsOf(table, frame)) {
    fields.push(column.field);
    for (const [i, start] of starts.entries()) {
      batches[i]?.push(fittedRows(table, column, start, Math.min(BATCH_ROWS, table.rows - start)));
      await pause();
    }
  }
  const schema = new Schema(fields);
  // Here, and not only in the store: no table of a request is stored if one is refused.
  if (frame === undefined) checkSchema(schema);
  return streamOfBatches(schema, batchesOf(schema, batches));
}

interface FittedColumn {
  readonly field: Field;
  readonly rows: LineRows;
  /** The column of the frame, if the rows must be converted to its type. */
  readonly target?: Field;
}

/** The columns of a new frame: those of the lines in the order of their first values, and the time. */
function* ownColumns(table: LineTable): Generator<FittedColumn, void, undefined> {
  for (const column of [...table.columns, table.time]) {
    // A frame has one type for both, which the lines do not tell.
    if (column.mixedLine !== undefined) {
      throw typeConflict(column, column.firstKind === 'DOUBLE' ? 'LONG' : 'DOUBLE', column.mixedLine);
    }
    const rows = rowsOf(column, table.rows, column.kind === 'SYMBOL' ? 'symbol' : 'text');
    yield { field: new Field(column.name, rows.type, true), rows };
  }
}

/** The columns of a frame the lines have. */
function* columnsOf(table: LineTable, frame: Schema): Generator<FittedColumn, void, undefined> {
  const own = [...table.columns, table.time];
  const names = new Set(frame.fields.map(({ name }) => name));
  const extra = own.find(({ name }) => !names.has(name));
  if (extra !== undefined) {
    throw new LineError(
      extra.firstLine,
      `the frame ${quoted(table.handle)} has no column ${quoted(extra.name)}.`,
      `A frame keeps the columns of its first lines: ${listed(frame)}. Write other columns to another table, or replace the frame.`,
    );
  }
  const byName = new Map(own.map((column) => [column.name, column]));
  for (const target of frame.fields) {
    const column = byName.get(target.name);
    if (column !== undefined) yield fitted(table, column, target);
    else if (!target.nullable) {
      throw new LineError(
        table.lines[0],
        `the column ${quoted(target.name)} of the frame ${quoted(table.handle)} cannot be null.`,
        'Send a value for it in each line.',
      );
    }
  }
}

function listed({ fields }: Schema): string {
  const shown = fields.slice(0, 20).map((field) => `${quoted(field.name)} ${columnInfo(field).type}`);
  return `${shown.join(', ')}${fields.length > shown.length ? ', …' : ''}`;
}

/** Returns a column in the type of the frame. */
function fitted(table: LineTable, column: LineColumn, target: Field): FittedColumn {
  const type = typeOf(target);
  const isText = column.kind === 'STRING' || column.kind === 'SYMBOL';
  const form = isText ? textFormOf(type) : undefined;
  const timezone = DataType.isTimestamp(type) ? (type.timezone ?? null) : null;
  if (isText && form === undefined) throw wrongType(table, column, target);
  const rows = rowsOf(column, table.rows, form, timezone);
  const from = new Field(target.name, rows.type, target.nullable || rows.nullCount > 0);
  if (isText || isSameType(target, from)) return { field: from, rows };
  if (!isConvertible(rows.type, type)) throw wrongType(table, column, target);
  return { field: new Field(target.name, type, from.nullable, target.metadata), rows, target };
}

function textFormOf(type: DataType): TextForm | undefined {
  if (DataType.isUtf8(type)) return 'text';
  if (DataType.isLargeUtf8(type)) return 'large text';
  return DataType.isDictionary(type) && DataType.isUtf8(valueTypeOf(type)) ? 'symbol' : undefined;
}

/** `form` is that of texts; other values have none. */
function rowsOf(column: LineColumn, rows: number, form?: TextForm, timezone: string | null = null): LineRows {
  const isText = column.kind === 'STRING' || column.kind === 'SYMBOL';
  return isText ? textRows(column, rows, form ?? 'text') : plainRows(column, rows, timezone);
}

/** Returns a range of rows in the type of the frame; the first value that would change tells the line. */
function fittedRows(table: LineTable, { rows, target }: FittedColumn, start: number, count: number): Data {
  const data = rows.slice(start, count);
  if (target === undefined) return data;
  try {
    return convertColumn(data, target);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // Find the row: the first one whose rows up to it cannot be converted.
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isConverted(sliceData(data, 0, middle + 1), target)) low = middle + 1;
      else high = middle;
    }
    const fits = `Send a value that a ${columnInfo(target).type} holds exactly.`;
    const hint = target.name === table.time.name ? `${fits} The parameter precision is the unit of times.` : fits;
    throw new LineError(table.lines[start + low], lowerFirst(error.message), hint);
  }
}

function isConverted(data: Data, target: Field): boolean {
  try {
    convertColumn(data, target);
    return true;
  } catch {
    return false;
  }
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

function wrongType({ handle }: LineTable, { name, kind, firstLine }: LineColumn, target: Field): LineError {
  const { type } = columnInfo(target);
  return new LineError(
    firstLine,
    `column ${quoted(name)} is ${kind} here, but ${type} in the frame ${quoted(handle)}.`,
    `Send values that fit a ${type}, or write to another table.`,
  );
}

function* batchesOf(schema: Schema, batches: readonly Data[][]): Generator<RecordBatch, void, undefined> {
  for (const columns of batches) yield createRecordBatch(schema, columns[0]?.length ?? 0, columns);
}

/** The forms of text in Arrow. */
type TextForm = 'symbol' | 'text' | 'large text';

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
interface LineRows {
  readonly type: DataType;
  readonly nullCount: number;
  /** Returns a range of rows. It begins at a multiple of 8. */
  readonly slice: (start: number, count: number) => Data;
}

/** Returns the values of a column that has no text. `timezone`: that of times. */
function plainRows(column: LineColumn, rows: number, timezone: string | null): LineRows {
  const { kind } = column;
  if (kind === 'STRING' || kind === 'SYMBOL') throw new TypeError('The column has texts.');
  const nulls = nullsOf(column, rows);
  const type = typeOfKind(kind, timezone);
  if (kind !== 'BOOLEAN')
    return partsOf(new Data(type, 0, rows, nulls.count, [undefined, values(column, rows), nulls.bits]));
  return madeRows(type, nulls, (start, count) => {
    const bits = allocateCounted(column.budget, Math.ceil(count / 8));
    for (let row = 0; row < count; row++) if (column.flags[start + row] === 1) setBit(bits, row);
    return [undefined, bits];
  });
}

function values({ kind, slots, doubles }: LineColumn, rows: number): Data['values'] {
  if (kind === 'DOUBLE') return doubles.subarray(0, rows);
  return kind === 'ULONG' ? new BigUint64Array(slots, 0, rows) : new BigInt64Array(slots, 0, rows);
}

/** Returns the values of a column of text. */
function textRows(column: LineColumn, rows: number, form: TextForm): LineRows {
  const nulls = nullsOf(column, rows);
  if (form === 'symbol') return symbolRows(column, rows, nulls);
  const { symbols } = column;
  if (symbols === undefined && form === 'text') {
    const { offsets, text } = textsOf(column, rows);
    return partsOf(new Data(new Utf8(), 0, rows, nulls.count, [offsets, text, nulls.bits]));
  }
  if (symbols === undefined) textsOf(column, rows);
  return madeRows(form === 'text' ? new Utf8() : new LargeUtf8(), nulls, (start, count) => {
    const { offsets, text } = symbols
      ? expanded(column, symbols, start, count)
      : { offsets: column.words.subarray(start, start + count + 1), text: column.text };
    return [form === 'text' ? offsets : widened(column, offsets), text];
  });
}

function widened({ budget }: LineColumn, offsets: Int32Array): BigInt64Array {
  const wide = new BigInt64Array(allocateCounted(budget, 8 * offsets.length).buffer);
  for (let i = 0; i < offsets.length; i++) wide[i] = BigInt(offsets[i]);
  return wide;
}

function symbolRows(column: LineColumn, rows: number, nulls: Nulls): LineRows {
  const type = new Dictionary(new Utf8(), new Int32());
  if (column.symbols !== undefined) {
    const { count, offsets, text } = column.symbols;
    const texts = makeVector(utf8Data(offsets.subarray(0, count + 1), text));
    const indices = column.words.subarray(0, rows);
    return partsOf(new Data(type, 0, rows, nulls.count, [undefined, indices, nulls.bits], [], texts));
  }
  // Every row is a symbol of its own: a column of texts that is added to one of symbols.
  const { offsets, text } = textsOf(column, rows);
  const texts = makeVector(utf8Data(offsets, text));
  const numbered = (start: number, count: number): Buffers => {
    const indices = new Int32Array(allocateCounted(column.budget, 4 * count).buffer);
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
function partsOf(whole: Data): LineRows {
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
function nullsOf(column: LineColumn, rows: number): Nulls {
  reserveRows(column, rows);
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
  { words, validity, budget }: LineColumn,
  { offsets: known, text: source }: SymbolSet,
  start: number,
  count: number,
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
