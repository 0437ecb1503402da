import { type Data, DataType, type Field } from 'apache-arrow';
import { columnTypeName } from '../column-types.ts';
import type { CellOptions } from './cell-options.ts';
import { type CellWriter, type ColumnWriter, quotedColumn } from './cell-writer.ts';
import { base64Bytes, UUID_BYTES, writeBase64, writeUuid } from './write-binary.ts';
import { writeCsvText } from './write-csv-text.ts';
import { maxStringBytes, stringBytes, writeString } from './write-string.ts';

const SHORT_TEXT_BYTES = 256;

/** The writer of a column of texts or bytes; undefined where it is none. */
export function createTextColumn(data: Data, field: Field, options: CellOptions): ColumnWriter | undefined {
  const { type } = data;
  if (DataType.isUtf8(type) || DataType.isLargeUtf8(type)) return stringColumn(data, options);
  if (DataType.isUtf8View(type)) return stringViewColumn(createViews(data), options);
  if (DataType.isBinary(type) || DataType.isLargeBinary(type)) return binaryColumn(createRanges(data), options);
  if (DataType.isBinaryView(type)) return binaryColumn(createViews(data), options);
  if (DataType.isFixedSizeBinary(type)) {
    if (columnTypeName(field) === 'UUID') return uuidColumn(data, options);
    return binaryColumn(createFixedRanges(data, type.byteWidth), options);
  }
  return undefined;
}

function stringColumn(data: Data, { syntax }: CellOptions): ColumnWriter {
  const bytes: Uint8Array = data.values;
  const offsets = offsetNumbers(data.valueOffsets);
  // Two closures, each with its own call: a call that is always the same is compiled in line.
  const write: CellWriter =
    syntax === 'json'
      ? (out, at, row) => writeString(out, at, bytes, offsets[row], offsets[row + 1])
      : (out, at, row) => writeCsvText(out, at, bytes, offsets[row], offsets[row + 1]);
  let longest = 0;
  for (let row = 0; row < data.length; row++) longest = Math.max(longest, offsets[row + 1] - offsets[row]);
  // Short texts get the room of the longest, which spares asking each for its own.
  if (longest <= SHORT_TEXT_BYTES) return { write, fixedBytes: maxStringBytes(longest) };
  return { write, fixedBytes: 0, variableBytes: (row) => stringBytes(bytes, offsets[row], offsets[row + 1]) };
}

/** Offsets as numbers: those of large types come as 64-bit integers. */
export function offsetNumbers(offsets: Int32Array | BigInt64Array): Int32Array | Float64Array {
  return offsets instanceof BigInt64Array ? Float64Array.from(offsets, Number) : offsets;
}

/** Where the bytes of each value are. */
interface ByteRanges {
  bytes(row: number): Uint8Array;
  start(row: number): number;
  length(row: number): number;
}

function createRanges(data: Data): ByteRanges {
  const bytes: Uint8Array = data.values;
  const offsets = offsetNumbers(data.valueOffsets);
  return {
    bytes: () => bytes,
    start: (row) => offsets[row],
    length: (row) => offsets[row + 1] - offsets[row],
  };
}

function createFixedRanges(data: Data, byteWidth: number): ByteRanges {
  const bytes: Uint8Array = data.values;
  return { bytes: () => bytes, start: (row) => row * byteWidth, length: () => byteWidth };
}

const VIEW_BYTES = 16;
/** A view holds a value of so many bytes itself. */
const INLINE_BYTES = 12;

function createViews(data: Data): ByteRanges {
  const views: Uint8Array = data.values;
  const words = new DataView(views.buffer, views.byteOffset, views.byteLength);
  const length = (row: number): number => words.getInt32(VIEW_BYTES * row, true);
  return {
    length,
    bytes: (row) => {
      if (length(row) <= INLINE_BYTES) return views;
      const bytes = data.variadicBuffers[words.getInt32(VIEW_BYTES * row + 8, true)];
      if (bytes === undefined) throw new RangeError('A view names a buffer that is not there.');
      return bytes;
    },
    start: (row) => (length(row) <= INLINE_BYTES ? VIEW_BYTES * row + 4 : words.getInt32(VIEW_BYTES * row + 12, true)),
  };
}

function stringViewColumn(texts: ByteRanges, { syntax }: CellOptions): ColumnWriter {
  const writeText = syntax === 'json' ? writeString : writeCsvText;
  return {
    write: (out, at, row) => {
      const start = texts.start(row);
      return writeText(out, at, texts.bytes(row), start, start + texts.length(row));
    },
    fixedBytes: 0,
    variableBytes: (row) => {
      const start = texts.start(row);
      return stringBytes(texts.bytes(row), start, start + texts.length(row));
    },
  };
}

function binaryColumn(values: ByteRanges, { syntax }: CellOptions): ColumnWriter {
  const write: CellWriter = (out, at, row) => {
    const start = values.start(row);
    return writeBase64(out, at, values.bytes(row), start, start + values.length(row));
  };
  const column: ColumnWriter = { write, fixedBytes: 0, variableBytes: (row) => base64Bytes(values.length(row)) };
  const quoted = quotedColumn(column);
  if (syntax === 'json') return quoted;
  // Without quotes no bytes would look like no value.
  return { ...quoted, write: (out, at, row) => (values.length(row) === 0 ? quoted : column).write(out, at, row) };
}

function uuidColumn(data: Data, { syntax }: CellOptions): ColumnWriter {
  const bytes: Uint8Array = data.values;
  const column = {
    write: (out: Uint8Array, at: number, row: number) => writeUuid(out, at, bytes, 16 * row),
    fixedBytes: UUID_BYTES,
  };
  return syntax === 'json' ? quotedColumn(column) : column;
}
