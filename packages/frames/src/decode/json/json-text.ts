import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { columnTypeName } from '../../column-types.ts';
import { setBit } from '../../columns/column-data.ts';
import {
  allocateCounted,
  type ColumnTarget,
  grown,
  itemsOf,
  type JsonColumn,
  type JsonMemory,
  type JsonSegment,
  TAG,
  trimmed,
} from './json-column.ts';

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
function jsonTextAt(column: JsonColumn, segment: JsonSegment, row: number): string {
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

/** A value that does not fit in its column exactly. The row is that of the innermost column. */
export class Misfit extends Error {
  readonly row: number;
  readonly value: string;
  readonly target: ColumnTarget;

  constructor(row: number, value: string, target: ColumnTarget) {
    super('A value does not fit in its column.');
    this.row = row;
    this.value = value;
    this.target = target;
  }
}

/** Returns the error of a row whose value does not fit. */
export function misfitAt(column: JsonColumn, target: ColumnTarget, segment: JsonSegment, row: number): Misfit {
  return new Misfit(row, jsonTextAt(column, segment, row), target);
}

/** Throws for the first row with a value of another kind. `kinds` has a bit for each allowed tag. */
export function requireKinds(column: JsonColumn, target: ColumnTarget, segment: JsonSegment, kinds: number): void {
  const allowed = kinds | (1 << TAG.null);
  if ((segment.kinds & ~allowed) === 0) return;
  const row = segment.tags.findIndex((tag) => ((1 << tag) & allowed) === 0);
  if (row >= 0) throw misfitAt(column, target, segment, row);
}

/** Returns the error of a misfit for clients. `row` is counted from 1. */
export function misfitError({ value, target }: Misfit, row: number, column: string): ServiceError {
  const type = columnTypeName(target.field) ?? 'value of this type';
  const what =
    value === 'null' ? 'null is not allowed here' : `${shortened(value)} is not exactly ${withArticle(type)}`;
  return new ServiceError('invalid_data', `Row ${row}, column ${quoted(column)}: ${what}.`, {
    hint: HINTS[type.replace(/\(.*/, '')] ?? `Send a value of the type ${type}, or null.`,
  });
}

function shortened(value: string): string {
  return value.length > 80 ? `${value.slice(0, 80)}…` : value;
}

function withArticle(type: string): string {
  return `${/^[AIEOU](?!LONG|UID)/.test(type) ? 'an' : 'a'} ${type}`;
}

const INTEGER_HINT = 'Send a whole number within the range of the type, as a number or a string of digits.';

const HINTS: Readonly<Record<string, string>> = {
  BOOLEAN: 'Send true or false.',
  BYTE: INTEGER_HINT,
  SHORT: INTEGER_HINT,
  INT: INTEGER_HINT,
  LONG: INTEGER_HINT,
  ULONG: INTEGER_HINT,
  LONG128: INTEGER_HINT,
  FLOAT: 'Send a number within the range of the type; a whole number must be exact as a 32-bit float.',
  DOUBLE: 'Send a number; a whole number must be exact as a double.',
  DECIMAL: 'Send a number or a string of digits, with no more digits than the type has.',
  STRING: 'Send a string, in double quotes.',
  SYMBOL: 'Send a string, in double quotes.',
  DATE: 'Send ISO 8601 text, for example "2024-01-02".',
  TIMESTAMP: 'Send ISO 8601 text with at most six decimals, for example "2024-01-02T03:04:05.678901Z".',
  TIMESTAMP_NS: 'Send ISO 8601 text with at most nine decimals, for example "2024-01-02T03:04:05.678901234Z".',
  TIME: 'Send a time of day, for example "03:04:05.678901".',
  DURATION: 'Send an ISO 8601 duration of hours, minutes and seconds, for example "PT1H2M3.5S".',
  INTERVAL: 'Send an ISO 8601 duration, for example "P1Y2M3DT4H5M6.5S".',
  BINARY: 'Send base64.',
  UUID: 'Send a UUID, for example "01234567-89ab-cdef-0123-456789abcdef".',
  ARRAY: 'Send an array.',
  STRUCT: 'Send an object.',
  MAP: 'Send an array of [key,value].',
};
