import {
  type Data,
  DataType,
  type Dictionary,
  type Field,
  type FixedSizeList,
  type Float,
  type Int,
  Precision,
  TimeUnit,
  type Timestamp,
  Type,
} from 'apache-arrow';
import { columnTypeName } from '../column-types.ts';
import { type CellWriter, type ColumnWriter, NULL_BYTES, writeBytes, writeNull, MAX_ROW_BYTES } from './cell-writer.ts';
import { createDictionaryValues, type DictionaryValues } from './dictionary-values.ts';
import {
  DOUBLE_BYTES,
  INT64_BYTES,
  writeDouble,
  writeFloat,
  writeInt64,
  writeInteger,
  writeUint64,
} from './write-number.ts';
import { maxStringBytes, stringBytes, writeString } from './write-string.ts';
import { createDateWriter, createTimestampWriter, TIMESTAMP_BYTES, type UnitsPerSecond } from './write-time.ts';

/** How values are written. */
export interface CellOptions {
  /** LONG and ULONG as strings, for clients that read JSON numbers as doubles. */
  readonly quoteLargeNum: boolean;
  /** The last dictionary of each id, with what is written of it so far: the next batch has mostly the same. */
  readonly dictionaries: Map<number, DictionaryValues>;
}

const SHORT_TEXT_BYTES = 256;
const FALSE_BYTES = 5;

/** The writer of one column of a batch. The type is looked at here, once, and not again for each cell. */
export function createColumnWriter(data: Data, options: CellOptions): ColumnWriter {
  const column = createValueWriter(data, options);
  if (data.typeId === Type.Null || data.nullCount === 0) return column;
  const { write, variableBytes } = column;
  const bitmap: Uint8Array = data.nullBitmap;
  const { offset } = data;
  const isValid = (row: number): boolean => ((bitmap[(offset + row) >> 3] >> ((offset + row) & 7)) & 1) === 1;
  return {
    write: (out, at, row) => (isValid(row) ? write(out, at, row) : writeNull(out, at)),
    fixedBytes: Math.max(column.fixedBytes, NULL_BYTES),
    ...(variableBytes && { variableBytes: (row: number) => (isValid(row) ? variableBytes(row) : 0) }),
  };
}

function createValueWriter(data: Data, options: CellOptions): ColumnWriter {
  const { type } = data;
  if (DataType.isInt(type)) return integerColumn(data, type, options);
  if (DataType.isFloat(type)) return floatColumn(data, type);
  if (DataType.isBool(type)) return booleanColumn(data);
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return stringColumn(data);
  if (DataType.isUtf8View(type)) return stringViewColumn(data);
  if (DataType.isDictionary(type)) return dictionaryColumn(data, type, options);
  if (DataType.isTimestamp(type)) return timestampColumn(data, type);
  if (DataType.isDate(type)) return dateColumn(data);
  if (DataType.isList(type) || DataType.isLargeList(type)) return listColumn(data, options);
  if (DataType.isFixedSizeList(type)) return fixedListColumn(data, type, options);
  if (DataType.isStruct(type)) return structColumn(data, options);
  if (DataType.isNull(type)) return { write: writeNull, fixedBytes: NULL_BYTES };
  throw new TypeError(`No column writer for the Arrow type ${Type[data.typeId]}.`);
}

function integerColumn(data: Data, type: Int, options: CellOptions): ColumnWriter {
  const write = integerWriter(data, type);
  const name = columnTypeName(type);
  if (!options.quoteLargeNum || (name !== 'LONG' && name !== 'ULONG')) return { write, fixedBytes: INT64_BYTES };
  const quoted: CellWriter = (out, at, row) => {
    out[at] = 34;
    const to = write(out, at + 1, row);
    out[to] = 34;
    return to + 1;
  };
  return { write: quoted, fixedBytes: INT64_BYTES + 2 };
}

function integerWriter({ values }: Data, type: Int): CellWriter {
  if (type.bitWidth < 64) return (out, at, row) => writeInteger(out, at, values[row]);
  const words = wordsOf(values);
  if (type.isSigned) return (out, at, row) => writeInt64(out, at, words[2 * row], words[2 * row + 1]);
  return (out, at, row) => writeUint64(out, at, words[2 * row], words[2 * row + 1]);
}

/** 64-bit values as pairs of 32-bit words, low one first: reading them makes no BigInt. */
function wordsOf(values: BigInt64Array | BigUint64Array): Int32Array {
  return new Int32Array(values.buffer, values.byteOffset, values.length * 2);
}

// One closure for each width, each with its own calls: a call that is always the same is compiled in line.
function floatColumn({ values }: Data, type: Float): ColumnWriter {
  return { write: floatWriter(values, type.precision), fixedBytes: DOUBLE_BYTES };
}

function floatWriter(values: ArrayLike<number>, precision: Precision): CellWriter {
  if (precision === Precision.DOUBLE) {
    return (out, at, row) => {
      const value = values[row];
      return Number.isFinite(value) ? writeDouble(out, at, value) : writeNull(out, at);
    };
  }
  const read = precision === Precision.HALF ? floatFromHalf : (value: number): number => value;
  return (out, at, row) => {
    const value = read(values[row]);
    return Number.isFinite(value) ? writeFloat(out, at, value) : writeNull(out, at);
  };
}

function floatFromHalf(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits >> 15 ? -1 : 1;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function booleanColumn(data: Data): ColumnWriter {
  const { offset } = data;
  const bits: Uint8Array = data.values;
  return {
    write: (out, at, row) => {
      const isTrue = (bits[(offset + row) >> 3] >> ((offset + row) & 7)) & 1;
      if (isTrue) {
        out[at] = 116;
        out[at + 1] = 114;
        out[at + 2] = 117;
        out[at + 3] = 101;
        return at + 4;
      }
      out[at] = 102;
      out[at + 1] = 97;
      out[at + 2] = 108;
      out[at + 3] = 115;
      out[at + 4] = 101;
      return at + 5;
    },
    fixedBytes: FALSE_BYTES,
  };
}

function stringColumn(data: Data): ColumnWriter {
  const bytes: Uint8Array = data.values;
  const offsets = offsetNumbers(data.valueOffsets);
  const write: CellWriter = (out, at, row) => writeString(out, at, bytes, offsets[row], offsets[row + 1]);
  let longest = 0;
  for (let row = 0; row < data.length; row++) longest = Math.max(longest, offsets[row + 1] - offsets[row]);
  // Short texts get the room of the longest, which spares asking each for its own.
  if (longest <= SHORT_TEXT_BYTES) return { write, fixedBytes: maxStringBytes(longest) };
  return { write, fixedBytes: 0, variableBytes: (row) => stringBytes(bytes, offsets[row], offsets[row + 1]) };
}

/** Offsets as numbers: those of large types come as 64-bit integers. */
function offsetNumbers(offsets: Int32Array | BigInt64Array): Int32Array | Float64Array {
  return offsets instanceof BigInt64Array ? Float64Array.from(offsets, Number) : offsets;
}

function stringViewColumn(data: Data): ColumnWriter {
  const views: Uint8Array = data.values;
  const words = new DataView(views.buffer, views.byteOffset, views.byteLength);
  const place = (row: number): readonly [bytes: Uint8Array, start: number, length: number] => {
    const length = words.getInt32(16 * row, true);
    if (length <= 12) return [views, 16 * row + 4, length];
    const bytes = data.variadicBuffers[words.getInt32(16 * row + 8, true)];
    if (bytes === undefined) throw new RangeError('A string view names a buffer that is not there.');
    return [bytes, words.getInt32(16 * row + 12, true), length];
  };
  return {
    write: (out, at, row) => {
      const [bytes, start, length] = place(row);
      return writeString(out, at, bytes, start, start + length);
    },
    fixedBytes: 0,
    variableBytes: (row) => {
      const [bytes, start, length] = place(row);
      return stringBytes(bytes, start, start + length);
    },
  };
}

function dictionaryColumn(data: Data, type: Dictionary, options: CellOptions): ColumnWriter {
  const { dictionary, values: indices } = data;
  const known = options.dictionaries.get(type.id);
  const values =
    known !== undefined && known.dictionary === dictionary
      ? known
      : createDictionaryValues(dictionary, (part) => createColumnWriter(part, options));
  options.dictionaries.set(type.id, values);
  return {
    write: (out, at, row) => writeBytes(out, at, values.at(Number(indices[row]))),
    fixedBytes: 0,
    variableBytes: (row) => values.at(Number(indices[row])).length,
  };
}

const UNITS_PER_SECOND: Record<TimeUnit, UnitsPerSecond> = {
  [TimeUnit.SECOND]: 1,
  [TimeUnit.MILLISECOND]: 1_000,
  [TimeUnit.MICROSECOND]: 1_000_000,
  [TimeUnit.NANOSECOND]: 1_000_000_000,
};

function timestampColumn(data: Data, type: Timestamp): ColumnWriter {
  const words = wordsOf(data.values);
  const write = createTimestampWriter(UNITS_PER_SECOND[type.unit]);
  return {
    write: (out, at, row) => write(out, at, words[2 * row], words[2 * row + 1]),
    fixedBytes: TIMESTAMP_BYTES,
  };
}

function dateColumn(data: Data): ColumnWriter {
  const { values } = data;
  const write = createDateWriter();
  const day: (row: number) => number =
    values instanceof Int32Array ? (row) => values[row] : (row) => Math.floor(Number(values[row]) / 86_400_000);
  return { write: (out, at, row) => write(out, at, day(row)), fixedBytes: TIMESTAMP_BYTES };
}

function listColumn(data: Data, options: CellOptions): ColumnWriter {
  const offsets = offsetNumbers(data.valueOffsets);
  return rangeColumn(
    createColumnWriter(data.children[0], options),
    (row) => offsets[row],
    (row) => offsets[row + 1],
  );
}

function fixedListColumn(data: Data, type: FixedSizeList, options: CellOptions): ColumnWriter {
  const size = type.listSize;
  return rangeColumn(
    createColumnWriter(data.children[0], options),
    (row) => row * size,
    (row) => (row + 1) * size,
  );
}

/** Lists: the elements from `start` to `end` of the child column. */
function rangeColumn(
  element: ColumnWriter,
  start: (row: number) => number,
  end: (row: number) => number,
): ColumnWriter {
  const { write, fixedBytes, variableBytes } = element;
  return {
    write: (out, at, row) => {
      let to = at;
      out[to++] = 91;
      const last = end(row);
      for (let i = start(row); i < last; i++) {
        to = write(out, to, i);
        out[to++] = 44;
      }
      if (out[to - 1] === 44) to--;
      out[to++] = 93;
      return to;
    },
    fixedBytes: 2,
    variableBytes: (row) => {
      const first = start(row);
      const last = end(row);
      let bytes = (last - first) * (fixedBytes + 1);
      // Beyond the limit the row is refused, so there is no need to know by how much.
      if (variableBytes) for (let i = first; i < last && bytes <= MAX_ROW_BYTES; i++) bytes += variableBytes(i);
      return bytes;
    },
  };
}

function structColumn(data: Data, options: CellOptions): ColumnWriter {
  const fields = (data.type.children as readonly Field[]).map((field, i) => ({
    key: new TextEncoder().encode(`${i === 0 ? '' : ','}${JSON.stringify(field.name)}:`),
    column: createColumnWriter(data.children[i], options),
  }));
  const variable = fields.flatMap(({ column }) => column.variableBytes ?? []);
  return {
    write: (out, at, row) => {
      let to = at;
      out[to++] = 123;
      for (const { key, column } of fields) to = column.write(out, writeBytes(out, to, key), row);
      out[to++] = 125;
      return to;
    },
    fixedBytes: fields.reduce((bytes, { key, column }) => bytes + key.length + column.fixedBytes, 2),
    ...(variable.length > 0 && {
      variableBytes: (row: number) => variable.reduce((sum, bytes) => sum + bytes(row), 0),
    }),
  };
}
