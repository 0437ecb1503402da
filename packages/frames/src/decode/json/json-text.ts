import { setBit } from '../../columns/bits.ts';
import { itemsOf, type JsonColumn, type JsonSegment, TAG } from './json-column.ts';
import { allocateCounted, grown, type JsonMemory, trimmed } from './json-memory.ts';

/** A growing buffer. */
interface ByteWriter {
  readonly memory: JsonMemory;
  bytes: Uint8Array<ArrayBuffer>;
  length: number;
}

/** Converts the rows of a column of mixed values to strings. */
export function textOf(column: JsonColumn, segment: JsonSegment | undefined, rows: number) {
  const { memory } = column;
  const offsets = new Int32Array(allocateCounted(memory, 4 * (rows + 1)).buffer);
  if (segment === undefined) return { offsets, values: new Uint8Array(0) };
  const { tags, text, textOffsets } = segment;
  const out: ByteWriter = { memory, bytes: allocateCounted(memory, text.length + 64), length: 0 };
  for (let row = 0; row < tags.length; row++) {
    if (tags[row] === TAG.string) write(out, text.subarray(textOffsets[row], textOffsets[row + 1]));
    else if (tags[row] !== TAG.null) writeJson(out, column, segment, row);
    offsets[row + 1] = out.length;
  }
  offsets.fill(out.length, tags.length + 1);
  return { offsets, values: trimmed(memory, Uint8Array, out.bytes, out.length) };
}

/** Returns the exact integer in a row. */
export function integerAt(segment: JsonSegment, row: number): bigint {
  if (segment.tags[row] === TAG.big) return BigInt(segment.digits?.get(row) ?? 0);
  const view = new DataView(segment.slots, 8 * row);
  return segment.tags[row] === TAG.ulong ? view.getBigUint64(0, true) : view.getBigInt64(0, true);
}

/** Returns the string in a row, or the text of its number. */
export function stringAt({ text, textOffsets }: JsonSegment, row: number): string {
  const start = textOffsets[row];
  return Buffer.from(text.buffer, text.byteOffset + start, textOffsets[row + 1] - start).toString();
}

/** Returns a value as JSON, for an error. */
export function jsonTextAt(column: JsonColumn, segment: JsonSegment, row: number): string {
  const out: ByteWriter = { memory: column.memory, bytes: allocateCounted(column.memory, 64), length: 0 };
  writeJson(out, column, segment, row);
  return Buffer.from(out.bytes.buffer, 0, out.length).toString();
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
    case TAG.number:
      return write(out, segment.text.subarray(segment.textOffsets[row], segment.textOffsets[row + 1]));
    case TAG.double:
      return writeDouble(out, segment, row);
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

/** Writes a double as it was written, which is kept unless it is the shortest form. */
function writeDouble(out: ByteWriter, { text, textOffsets, slots }: JsonSegment, row: number): void {
  const [start, end] = [textOffsets[row], textOffsets[row + 1]];
  if (end > start) write(out, text.subarray(start, end));
  else writeText(out, `${new DataView(slots).getFloat64(8 * row, true)}`);
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
    if (field === undefined || row >= field.tags.length || field.tags[row] === TAG.null) return;
    writeText(out, separator);
    separator = ',';
    writeString(out, Buffer.from(column.fields.list[i].name));
    writeText(out, ':');
    writeJson(out, column.fields.list[i], field, row);
  });
  writeText(out, separator === '{' ? '{}' : '}');
}

/** Writes UTF-8 as a JSON string with minimal escaping. */
function writeString(out: ByteWriter, text: Uint8Array): void {
  writeText(out, JSON.stringify(Buffer.from(text.buffer, text.byteOffset, text.length).toString()));
}

function writeText(out: ByteWriter, text: string): void {
  write(out, Buffer.from(text));
}

function write(out: ByteWriter, bytes: Uint8Array): void {
  if (out.length + bytes.length > out.bytes.length) {
    out.bytes = grown(out.memory, Uint8Array, out.bytes, out.length + bytes.length);
  }
  out.bytes.set(bytes, out.length);
  out.length += bytes.length;
}

/** Returns the end of each row. A segment may have offsets only up to its last value. */
export function offsetsOf(
  memory: JsonMemory,
  known: Int32Array<ArrayBuffer> | undefined,
  rows: number,
): Int32Array<ArrayBuffer> {
  if (known?.length === rows + 1) return known;
  const offsets = new Int32Array(allocateCounted(memory, 4 * (rows + 1)).buffer);
  if (known === undefined || known.length === 0) return offsets;
  offsets.set(known);
  return offsets.fill(known[known.length - 1], known.length);
}

/** Returns 8 bytes for each row. */
export function slotsOf(memory: JsonMemory, segment: JsonSegment | undefined, rows: number): ArrayBuffer {
  if (segment?.slots.byteLength === 8 * rows) return segment.slots;
  const slots = allocateCounted(memory, 8 * rows);
  if (segment !== undefined) slots.set(new Uint8Array(segment.slots));
  return slots.buffer;
}

/** Returns which rows are not null. */
export function validityOf(memory: JsonMemory, segment: JsonSegment | undefined, rows: number) {
  const tags = segment?.tags ?? [];
  let nullCount = rows;
  for (let row = 0; row < tags.length; row++) if (tags[row] !== TAG.null) nullCount--;
  if (nullCount === 0) return { nullCount };
  return { nullCount, validity: bitsOf(memory, segment, rows, (tag) => tag !== TAG.null) };
}

/** Returns a bit for each row, set if its tag matches. */
export function bitsOf(
  memory: JsonMemory,
  segment: JsonSegment | undefined,
  rows: number,
  isMeant: (tag: number) => boolean,
): Uint8Array<ArrayBuffer> {
  const bits = allocateCounted(memory, Math.ceil(rows / 8));
  if (segment === undefined) return bits;
  const { tags } = segment;
  for (let row = 0; row < tags.length; row++) {
    if (isMeant(tags[row])) setBit(bits, row);
  }
  return bits;
}
