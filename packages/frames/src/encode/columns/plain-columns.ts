import { type Data, DataType, DateUnit, IntervalUnit, Precision } from 'apache-arrow';
import {
  INLINE_BYTES,
  inlineStart,
  UNITS_PER_SECOND,
  viewLength,
  viewPart,
  viewStart,
  viewWords,
} from '../../columns/column-data.ts';
import { offsetsOf, valueBytes, valuesOf } from '../../columns/record-batch.ts';
import {
  IS_CSV,
  IS_QUOTED,
  KIND,
  KIND_BINARY,
  KIND_BOOL,
  KIND_CSV_JSON,
  KIND_CSV_TEXT,
  KIND_DAY,
  KIND_DAY_MILLIS,
  KIND_DECIMAL,
  KIND_DURATION,
  KIND_FLOAT16,
  KIND_FLOAT32,
  KIND_FLOAT64,
  KIND_INT16,
  KIND_INT32,
  KIND_INT64,
  KIND_INT8,
  KIND_JSON_TEXT,
  KIND_MILLIS,
  KIND_MONTH_DAY_NANOS,
  KIND_MONTHS,
  KIND_NULL,
  KIND_TIME32,
  KIND_TIME64,
  KIND_TIMESTAMP,
  KIND_UINT16,
  KIND_UINT32,
  KIND_UINT64,
  KIND_UINT8,
  KIND_UUID,
  OFFSET_BASE,
  OFFSETS,
  SCALE,
  STRIDE,
  UNITS,
  VALUES,
  VALUES_END,
} from '../kernel/kernel-layout.ts';
import type { Kernel } from '../kernel/kernel.ts';
import {
  type Column,
  NOTHING,
  outOfBounds,
  type Pieces,
  type PieceWriter,
  putBits,
  QUOTE,
  setField,
  WINDOW_BYTES,
  wrappedColumn,
} from './column.ts';

/** The maximum bytes of a 64-bit integer: 19 digits and a sign, or 20 digits. */
const INT64_BYTES = 20;
const NULL_BYTES = 4;
/** The maximum bytes of a float: 17 digits, sign, point and exponent. */
const FLOAT_BYTES = 25;
const FALSE_BYTES = 5;
const UUID_BYTES = 36;
/** The maximum bytes of a timestamp: quotes, a year of 12 digits with its sign, nine decimals. */
const TIMESTAMP_BYTES = 44;
/**
 * The maximum bytes of a period: seven parts with a sign and a letter each, the hours of 2^63 seconds, nine decimals.
 */
const PERIOD_BYTES = 80;
/** The maximum bytes of a time of day, if it has the hours of 2^63 seconds. */
const TIME_BYTES = 40;
/** The digits of an integer by its bits, and its sign. */
const DIGIT_BYTES: Readonly<Record<number, number>> = { 32: 11, 64: 20, 128: 40, 256: 78 };

/** The layout of fixed-width values, for the kernel. */
interface Plain {
  readonly kind: number;
  /** The bytes of a value. */
  readonly width: number;
  /** The maximum bytes of a cell. */
  readonly fixedBytes: number;
  /** Further fields of the descriptor. */
  readonly fields?: readonly (readonly [field: number, value: number])[];
}

/** Creates a column of fixed-width values. */
function plainColumn(data: Data, { kind, width, fixedBytes, fields = [] }: Plain): Column {
  const { buffer, byteOffset, byteLength } = valuesOf(data);
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return {
    fixedBytes,
    loadedBytes: (from, to) => width * (to - from),
    load: (kernel, place, from, to) => {
      setField(kernel, place, KIND, kind);
      setField(kernel, place, VALUES, kernel.put(bytes.subarray(width * from, width * to), width * (to - from)));
      for (const [field, value] of fields) setField(kernel, place, field, value);
    },
  };
}

/** Creates a column with only nulls. */
export function nullColumn(isCsv: boolean): Column {
  return {
    fixedBytes: NULL_BYTES,
    // They take no memory, but a list of very many must not count as nothing.
    loadedBytes: (from, to) => to - from,
    load: (kernel, place) => {
      setField(kernel, place, KIND, KIND_NULL);
      setField(kernel, place, IS_CSV, isCsv ? 1 : 0);
    },
  };
}

/** Creates a column of booleans, one bit each. */
export function booleanColumn(data: Data): Column {
  const bits = valueBytes(data);
  const { offset } = data;
  return {
    fixedBytes: FALSE_BYTES,
    loadedBytes: (from, to) => (to - from) >> 3,
    load: (kernel, place, from, to) => {
      setField(kernel, place, KIND, KIND_BOOL);
      setField(kernel, place, VALUES, putBits(kernel, bits, offset + from, offset + to));
      setField(kernel, place, STRIDE, (offset + from) & 7);
    },
  };
}

const SIGNED_KINDS: Readonly<Record<number, number>> = { 8: KIND_INT8, 16: KIND_INT16, 32: KIND_INT32, 64: KIND_INT64 };
const UNSIGNED_KINDS: Readonly<Record<number, number>> = {
  8: KIND_UINT8,
  16: KIND_UINT16,
  32: KIND_UINT32,
  64: KIND_UINT64,
};

const FLOATS: Readonly<Record<Precision, readonly [kind: number, width: number]>> = {
  [Precision.HALF]: [KIND_FLOAT16, 2],
  [Precision.SINGLE]: [KIND_FLOAT32, 4],
  [Precision.DOUBLE]: [KIND_FLOAT64, 8],
};

/** Creates a column of UUIDs from 16 bytes each, without quotes. */
export function uuidColumn(data: Data): Column {
  return plainColumn(data, { kind: KIND_UUID, width: 16, fixedBytes: UUID_BYTES });
}

const INTERVALS: Readonly<Record<IntervalUnit, readonly [kind: number, width: number, unitsPerSecond: number]>> = {
  [IntervalUnit.YEAR_MONTH]: [KIND_MONTHS, 4, 1],
  [IntervalUnit.DAY_TIME]: [KIND_DAY_MILLIS, 8, 1_000],
  [IntervalUnit.MONTH_DAY_NANO]: [KIND_MONTH_DAY_NANOS, 16, 1_000_000_000],
};

/** Returns the layout of the values of a number or a time; undefined for other types. */
function plainOf(type: DataType, isCsv: boolean): Plain | undefined {
  const csv = [IS_CSV, isCsv ? 1 : 0] as const;
  if (DataType.isInt(type)) {
    const kinds = type.isSigned ? SIGNED_KINDS : UNSIGNED_KINDS;
    return { kind: kinds[type.bitWidth], width: type.bitWidth / 8, fixedBytes: INT64_BYTES };
  }
  if (DataType.isFloat(type)) {
    const [kind, width] = FLOATS[type.precision];
    return { kind, width, fixedBytes: FLOAT_BYTES, fields: [csv] };
  }
  if (DataType.isDecimal(type)) {
    const { bitWidth, scale } = type;
    const width = bitWidth / 8;
    // In addition to the digits: the point, the zero before it, and the zeros of the scale.
    const fixedBytes = DIGIT_BYTES[bitWidth] + 2 + Math.abs(scale);
    return {
      kind: KIND_DECIMAL,
      width,
      fixedBytes,
      fields: [
        [STRIDE, width],
        [SCALE, scale],
      ],
    };
  }
  if (DataType.isDate(type)) {
    const [kind, width] = type.unit === DateUnit.DAY ? [KIND_DAY, 4] : [KIND_MILLIS, 8];
    return { kind, width, fixedBytes: TIMESTAMP_BYTES, fields: [csv] };
  }
  if (DataType.isInterval(type)) {
    const [kind, width, unitsPerSecond] = INTERVALS[type.unit];
    return { kind, width, fixedBytes: PERIOD_BYTES, fields: [[UNITS, unitsPerSecond]] };
  }
  if (!DataType.isTimestamp(type) && !DataType.isTime(type) && !DataType.isDuration(type)) return undefined;
  const units = [UNITS, UNITS_PER_SECOND[type.unit]] as const;
  if (DataType.isTimestamp(type)) {
    // The kernel writes the quotes.
    return { kind: KIND_TIMESTAMP, width: 8, fixedBytes: TIMESTAMP_BYTES, fields: [units, [IS_QUOTED, isCsv ? 0 : 1]] };
  }
  if (DataType.isDuration(type)) return { kind: KIND_DURATION, width: 8, fixedBytes: PERIOD_BYTES, fields: [units] };
  const [kind, width] = type.bitWidth === 32 ? [KIND_TIME32, 4] : [KIND_TIME64, 8];
  return { kind, width, fixedBytes: TIME_BYTES, fields: [units] };
}

/** Creates a column of numbers or times; only timestamps have quotes. Undefined for other types. */
export function createPlainColumn(data: Data, isCsv: boolean): Column | undefined {
  const plain = plainOf(data.type, isCsv);
  return plain && plainColumn(data, plain);
}

/**
 * Creates a column of texts as JSON strings or CSV fields, or of binary as base64 without quotes; undefined for other
 * types.
 */
export function createTextColumn(data: Data, isCsv: boolean): Column | undefined {
  const { type } = data;
  const textKind = isCsv ? KIND_CSV_TEXT : KIND_JSON_TEXT;
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return rangesColumn(data, textKind, isCsv);
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return rangesColumn(data, KIND_BINARY, isCsv);
  if (DataType.isUtf8View(type)) return viewsColumn(data, textKind, isCsv);
  if (DataType.isBinaryView(type)) return viewsColumn(data, KIND_BINARY, isCsv);
  return DataType.isFixedSizeBinary(type)
    ? fixedColumn(valueBytes(data), type.byteWidth, KIND_BINARY, isCsv)
    : undefined;
}

/**
 * Creates the offsets of texts and lists. The kernel uses only the lower 32 bits of 64-bit offsets, which suffice for a
 * window.
 */
export function createOffsets(offsets: Int32Array | BigInt64Array) {
  /** The bytes of one offset. */
  const width = offsets.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(offsets.buffer, offsets.byteOffset, offsets.byteLength);
  const at = (row: number): number => Number(offsets[row] ?? 0);
  return {
    at,
    width,
    /** Copies the offsets of these rows, and the end, to the kernel's memory and the descriptor. */
    load: (kernel: Kernel, place: number, from: number, to: number): void => {
      const size = width * (to + 1 - from);
      setField(kernel, place, OFFSETS, kernel.put(bytes.subarray(width * from, width * from + size), size));
      setField(kernel, place, OFFSET_BASE, at(from) | 0);
      setField(kernel, place, STRIDE, width);
    },
  };
}

/** In addition to the bytes: two quotes. */
const QUOTE_BYTES = 2;

function rangesColumn(data: Data, kind: number, isCsv: boolean): Column {
  const bytes = valueBytes(data);
  const offsets = createOffsets(offsetsOf(data));
  return {
    fixedBytes: QUOTE_BYTES,
    loadedBytes: (from, to) => Math.max(0, offsets.at(to) - offsets.at(from)) + offsets.width * (to - from),
    load: (kernel, place, from, to) => {
      offsets.load(kernel, place, from, to);
      loadBytes(kernel, place, bytes.subarray(offsets.at(from), offsets.at(to)));
      setKind(kernel, place, kind, isCsv);
    },
    pieces: (row, writer) => {
      const [start, end] = [offsets.at(row), offsets.at(row + 1)];
      if (start < 0 || start > end || end > bytes.length) throw outOfBounds();
      return textPieces(bytes.subarray(start, end), kind, isCsv, writer);
    },
  };
}

/** Writes a long text. */
function* textPieces(bytes: Uint8Array, kind: number, isCsv: boolean, writer: PieceWriter): Pieces {
  const isQuoted = kind === KIND_JSON_TEXT || (kind === KIND_CSV_TEXT && (yield* needsQuotes(bytes)));
  if (isQuoted) yield QUOTE;
  yield* partsOfText(bytes, kind, isCsv, writer);
  if (isQuoted) yield QUOTE;
}

/** Writes a long text without quotes around it: each part of it is a text of its own. */
function* partsOfText(bytes: Uint8Array, kind: number, isCsv: boolean, writer: PieceWriter): Pieces {
  for (let from = 0; from < bytes.length;) {
    const cut = Math.min(from + writer.textBytes, bytes.length);
    const to = kind === KIND_BINARY ? cut : beforeSequence(bytes, cut);
    const written = writer.open(fixedColumn(bytes.subarray(from, to), to - from, kind, isCsv), 0, 1).writeUpTo(1);
    if (written === undefined) throw new RangeError('A part of a text takes more bytes than there is space for.');
    // A part of a CSV field is in quotes only if it needs them itself.
    yield written.bytes[0] === QUOTE[0] ? written.bytes.subarray(1, -1) : written.bytes;
    from = to;
  }
}

/** Wraps a column to write its cells, which are JSON, as CSV fields: in quotes if they contain a quote or a comma. */
export function csvJsonColumn(column: Column): Column {
  return wrappedColumn(column, KIND_CSV_JSON, csvJsonPieces);
}

function* csvJsonPieces(pieces: Pieces, writer: PieceWriter): Pieces {
  // Little comes before the first quote or comma of JSON: the brackets of lists with one item.
  const before: Uint8Array[] = [];
  let isQuoted = false;
  let copy = new Uint8Array(0);
  for (const piece of pieces) {
    if (!isQuoted && CSV_MARKS.some((mark) => piece.includes(mark))) {
      isQuoted = true;
      before.push(piece.slice());
      yield QUOTE;
      for (const bytes of before) yield* partsOfText(bytes, KIND_CSV_TEXT, true, writer);
    } else if (isQuoted && piece.length > 0) {
      // A copy: the kernel has written the piece, and it writes the parts.
      if (copy.length < piece.length) copy = new Uint8Array(piece.length);
      copy.set(piece);
      yield* partsOfText(copy.subarray(0, piece.length), KIND_CSV_TEXT, true, writer);
    } else {
      if (!isQuoted) before.push(piece.slice());
      yield NOTHING;
    }
  }
  if (isQuoted) yield QUOTE;
  else yield* before;
}

const SEARCHED_BYTES = 1024 * 1024;
const CSV_MARKS = [...Buffer.from(',"\r\n')];

/** Returns true if a text must be in quotes as a CSV field. */
function* needsQuotes(bytes: Uint8Array): Generator<Uint8Array, boolean, undefined> {
  for (let from = 0; from < bytes.length; from += SEARCHED_BYTES) {
    const part = bytes.subarray(from, from + SEARCHED_BYTES);
    if (CSV_MARKS.some((mark) => part.includes(mark))) return true;
    yield NOTHING;
  }
  return false;
}

/** The maximum number of bytes of a UTF-8 sequence after its first. */
const MAX_CONTINUATION = 3;

/** Returns the last place, up to `at`, that is not inside a UTF-8 sequence. Bytes after the longest sequence are invalid. */
function beforeSequence(bytes: Uint8Array, at: number): number {
  for (let place = at; place >= at - MAX_CONTINUATION; place -= 1) {
    if (place === bytes.length || bytes[place] >> 6 !== 2) return place;
  }
  return at;
}

function loadBytes(kernel: Kernel, place: number, bytes: Uint8Array): void {
  const pointer = kernel.put(bytes);
  setField(kernel, place, VALUES, pointer);
  setField(kernel, place, VALUES_END, pointer + bytes.length);
}

function setKind(kernel: Kernel, place: number, kind: number, isCsv: boolean): void {
  setField(kernel, place, KIND, kind);
  setField(kernel, place, IS_CSV, isCsv ? 1 : 0);
}

/** Creates a column of texts or bytes of one length. */
function fixedColumn(bytes: Uint8Array, width: number, kind: number, isCsv: boolean): Column {
  return {
    fixedBytes: QUOTE_BYTES,
    loadedBytes: (from, to) => (width + 1) * (to - from),
    load: (kernel, place, from, to) => {
      setKind(kernel, place, kind, isCsv);
      setField(kernel, place, STRIDE, width);
      setField(kernel, place, VALUES, kernel.put(bytes.subarray(width * from, width * to), width * (to - from)));
    },
    pieces: (row, writer) => textPieces(bytes.subarray(width * row, width * (row + 1)), kind, isCsv, writer),
  };
}

const OFFSET_BYTES = 4;

/** Creates a column of views. Their bytes are gathered, so the kernel sees plain offsets. */
function viewsColumn(data: Data, kind: number, isCsv: boolean): Column {
  const views = valueBytes(data);
  const words = viewWords(views);
  const hasNulls = data.nullCount > 0;
  // The view of a null row can be anything.
  const lengthOf = (row: number): number => (hasNulls && !data.getValid(row) ? 0 : Math.max(0, viewLength(words, row)));
  const totalLength = (from: number, to: number, limit = Infinity): number => {
    let bytes = 0;
    for (let row = from; row < to && bytes <= limit; row++) bytes += lengthOf(row);
    return bytes;
  };

  function bytesOf(row: number, length: number): Uint8Array {
    if (length <= INLINE_BYTES) return views.subarray(inlineStart(row), inlineStart(row) + length);
    const buffer = data.variadicBuffers[viewPart(words, row)];
    const start = viewStart(words, row);
    if (buffer === undefined || start < 0 || start + length > buffer.length) {
      throw new RangeError('A view points outside its buffers.');
    }
    return buffer.subarray(start, start + length);
  }

  return {
    fixedBytes: QUOTE_BYTES,
    loadedBytes: (from, to) => {
      const offsets = OFFSET_BYTES * (to - from);
      return offsets + totalLength(from, to, WINDOW_BYTES - offsets);
    },
    load: (kernel, place, from, to) => {
      const end = totalLength(from, to);
      const pointer = kernel.allocate(end);
      const offsets = kernel.allocate(OFFSET_BYTES * (to + 1 - from));
      const { bytes, words: kernelWords } = kernel;
      let at = 0;
      for (let row = from; row < to; row++) {
        kernelWords[(offsets >> 2) + row - from] = at;
        const length = lengthOf(row);
        bytes.set(bytesOf(row, length), pointer + at);
        at += length;
      }
      kernelWords[(offsets >> 2) + to - from] = end;
      setKind(kernel, place, kind, isCsv);
      setField(kernel, place, OFFSETS, offsets);
      setField(kernel, place, STRIDE, OFFSET_BYTES);
      setField(kernel, place, VALUES, pointer);
      setField(kernel, place, VALUES_END, pointer + end);
    },
    pieces: (row, writer) => textPieces(bytesOf(row, lengthOf(row)), kind, isCsv, writer),
  };
}
