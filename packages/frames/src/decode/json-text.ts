import { itemsOf, type JsonColumn, type JsonSegment, TAG } from './json-column.ts';
import { allocate } from './limits.ts';

/** Bytes that are being written. */
interface ByteWriter {
  bytes: Uint8Array<ArrayBuffer>;
  length: number;
}

/** The rows of a column of mixed values as strings: their bytes, and where each ends. */
export function textOf(column: JsonColumn, segment: JsonSegment) {
  const out: ByteWriter = { bytes: allocate(16 * segment.rows + 64), length: 0 };
  const offsets = new Int32Array(segment.rows + 1);
  for (let row = 0; row < segment.rows; row++) {
    if (segment.tags[row] === TAG.string) {
      const { text, textOffsets } = segment;
      write(out, text.subarray(textOffsets[row], textOffsets[row + 1]));
    } else if (segment.tags[row] !== TAG.null) writeJson(out, column, segment, row);
    offsets[row + 1] = out.length;
  }
  return { offsets, values: out.bytes.slice(0, out.length) };
}

/** The exact value of a slot that holds a whole number. */
export function integerAt(segment: JsonSegment, row: number): bigint {
  const view = new DataView(segment.slots, 8 * row);
  return segment.tags[row] === TAG.ulong ? view.getBigUint64(0, true) : view.getBigInt64(0, true);
}

function writeJson(out: ByteWriter, column: JsonColumn, segment: JsonSegment, row: number): void {
  switch (segment.tags[row]) {
    case TAG.false:
      return writeText(out, 'false');
    case TAG.true:
      return writeText(out, 'true');
    case TAG.long:
    case TAG.negative:
    case TAG.ulong:
      return writeText(out, `${integerAt(segment, row)}`);
    case TAG.big:
      return writeText(out, segment.digits?.get(row) ?? '');
    case TAG.double:
      return writeText(out, `${new DataView(segment.slots).getFloat64(8 * row, true)}`);
    case TAG.string:
      return writeString(out, segment.text.subarray(segment.textOffsets[row], segment.textOffsets[row + 1]));
    case TAG.list:
      return writeList(out, column, segment, row);
    case TAG.struct:
      return writeStruct(out, column, segment, row);
    default:
      return writeText(out, 'null');
  }
}

function writeList(out: ByteWriter, column: JsonColumn, segment: JsonSegment, row: number): void {
  const items = itemsOf(column);
  const [start, end] = [segment.listOffsets[row], segment.listOffsets[row + 1]];
  writeText(out, '[');
  for (let item = start; item < end && segment.items !== undefined; item++) {
    if (item > start) writeText(out, ',');
    writeJson(out, items, segment.items, item);
  }
  writeText(out, ']');
}

function writeStruct(out: ByteWriter, column: JsonColumn, segment: JsonSegment, row: number): void {
  let separator = '{';
  segment.fields.forEach((field, i) => {
    if (field.tags[row] === TAG.null) return;
    writeText(out, separator);
    separator = ',';
    writeString(out, Buffer.from(column.fields.list[i].name));
    writeText(out, ':');
    writeJson(out, column.fields.list[i], field, row);
  });
  writeText(out, separator === '{' ? '{}' : '}');
}

/** Writes UTF-8 as a JSON string; what need not be escaped is not. */
function writeString(out: ByteWriter, text: Uint8Array): void {
  writeText(out, JSON.stringify(Buffer.from(text.buffer, text.byteOffset, text.length).toString()));
}

function writeText(out: ByteWriter, text: string): void {
  write(out, Buffer.from(text));
}

function write(out: ByteWriter, bytes: Uint8Array): void {
  if (out.length + bytes.length > out.bytes.length) {
    const larger = allocate(2 * (out.length + bytes.length));
    larger.set(out.bytes);
    out.bytes = larger;
  }
  out.bytes.set(bytes, out.length);
  out.length += bytes.length;
}
