import { DECODER, EXTENSION_METADATA_KEY, TYPE_METADATA_KEY, UUID_EXTENSION } from '@svc/arrow';
import type { ArrowColumn } from '../api/decode-arrow.ts';
import { type ArrowField, type DecimalType, unsupported } from '../api/ipc-schema.ts';
import {
  date32Text,
  date64Text,
  durationText,
  isInfinite,
  periodText,
  timestampText,
  timeText,
  type TimeUnitIndex,
} from './time-text.ts';

/** Collects the text of a value up to a length; what comes after it is not read. */
export interface TextSink {
  text: string;
  readonly limit: number;
}

/** Reads the values of one Arrow column as text. */
export interface ArrowReader {
  /** The text is a string in JSON. */
  readonly isQuoted: boolean;
  /** Returns the text of a value that is not null, in UTF-8 or base64 at least its first `limit` characters. */
  readonly text: (column: ArrowColumn, index: number, limit: number) => string;
  /** The value of a number or a time, as `MemoryRows.number` has it. */
  readonly number?: (column: ArrowColumn, index: number) => number | bigint | undefined;
  /** The length of the value in bytes, for types whose values can be long. */
  readonly byteLength?: (column: ArrowColumn, index: number) => number;
}

/** Returns the reader of a field. Throws if the server never sends its type. */
export function arrowReader(field: ArrowField): ArrowReader {
  const { type, metadata } = field;
  switch (type.kind) {
    case 'dictionary':
      return dictionaryReader(arrowReader({ ...field, type: type.dictionary }));
    case 'null':
      return bare(() => 'null');
    case 'bool':
      return bare((column, i) => String(bitAt(column.bytes, i)));
    case 'int':
      return { ...bare((column, i) => String(valueAt(column, i))), number: longAt };
    case 'float':
      return FLOATS[type.precision] ?? unsupported('The precision of a float');
    case 'decimal':
      return decimalReader(type, type.scale === 0 && metadata.get(TYPE_METADATA_KEY) === 'LONG128');
    case 'date':
      return quoted(type.unit === 0 ? (c, i) => date32Text(numberAt(c, i)) : (c, i) => date64Text(longAt(c, i)));
    case 'time':
      return quoted((column, i) => timeText(longAt(column, i), unitIndex(type.unit)));
    case 'timestamp':
      return timestampReader(unitIndex(type.unit));
    case 'duration':
      return quoted((column, i) => durationText(longAt(column, i), unitIndex(type.unit)));
    case 'interval':
      return quoted(PERIODS[type.unit] ?? unsupported('This kind of interval'));
    case 'utf8':
      return textReader(type.offsets ? sliceAt : viewAt);
    case 'binary':
      return bytesReader(type.offsets ? sliceAt : viewAt);
    case 'fixedSizeBinary':
      return type.byteWidth === 16 && metadata.get(EXTENSION_METADATA_KEY) === UUID_EXTENSION
        ? UUID
        : bytesReader(fixedAt(type.byteWidth));
    case 'list':
      return listReader(type.children, endsAt);
    case 'fixedSizeList':
      return listReader(type.children, (_, i) => [i * type.listSize, (i + 1) * type.listSize]);
    case 'struct':
      return structReader(type.children);
    case 'map':
      break;
  }
  return mapReader(type.children);
}

/** Returns true if a value is null, also behind a dictionary. */
export function isNull(column: ArrowColumn, index: number): boolean {
  if (column.nullCount > 0 && !bitAt(column.validity, index)) return true;
  return column.dictionary !== undefined && isNull(...entryOf(column, index));
}

/** A column of the type null has no bitmap: all bits are zero. */
function bitAt(bits: Uint8Array, index: number): boolean {
  return ((bits[index >> 3] ?? 0) & (1 << (index & 7))) !== 0;
}

/** Returns where the dictionary has the value at an index. */
function entryOf(column: ArrowColumn, index: number): [ArrowColumn, number] {
  const key = numberAt(column, index);
  const part =
    column.dictionary?.parts.findLast(({ firstKey }) => key >= firstKey) ?? unsupported('A key without a value');
  return [part.column, key - part.firstKey];
}

const bare = (text: ArrowReader['text']): ArrowReader => ({ isQuoted: false, text });
const quoted = (text: ArrowReader['text']): ArrowReader => ({ isQuoted: true, text });
const valueAt = (column: ArrowColumn, index: number): number | bigint => column.values[index] ?? 0;
const numberAt = (column: ArrowColumn, index: number): number => Number(valueAt(column, index));
const longAt = (column: ArrowColumn, index: number): bigint => BigInt(valueAt(column, index));
const UNITS: readonly TimeUnitIndex[] = [0, 1, 2, 3];
const unitIndex = (unit: number): TimeUnitIndex => UNITS[unit] ?? unsupported('The unit of a time');

const halfAt = (column: ArrowColumn, index: number): number => halfValue(numberAt(column, index));
/** By Arrow's number of the precision. */
const FLOATS: readonly ArrowReader[] = [
  { ...bare((column, i) => floatText(halfAt(column, i))), number: halfAt },
  { ...bare((column, i) => floatText(numberAt(column, i))), number: numberAt },
  { ...bare((column, i) => doubleText(numberAt(column, i))), number: numberAt },
];

/** The unit of the server's timestamps is a microsecond, or a nanosecond; longer units have only texts. */
function timestampReader(unit: TimeUnitIndex): ArrowReader {
  const reader = quoted((column, i) => timestampText(longAt(column, i), unit));
  if (unit < 2) return reader;
  return {
    ...reader,
    number: (column, i) => {
      const value = longAt(column, i);
      return isInfinite(value) ? undefined : value;
    },
  };
}

function decimalReader({ bitWidth, scale }: DecimalType, isWhole: boolean): ArrowReader {
  const words = Math.max(1, bitWidth / 64);
  const number = (column: ArrowColumn, i: number): bigint => wideValue(column.values, i * words, words);
  const text: ArrowReader['text'] = (column, i) => decimalText(number(column, i), scale);
  return { ...(isWhole ? bare(text) : quoted(text)), ...(scale >= 0 && { number }) };
}

/** Returns a signed integer of one or more 64-bit words, the lowest first. */
function wideValue(values: ArrowColumn['values'], at: number, words: number): bigint {
  let value = BigInt.asIntN(64, BigInt(values[at + words - 1] ?? 0));
  for (let i = words - 2; i >= 0; i -= 1) value = (value << 64n) | BigInt(values[at + i] ?? 0);
  return value;
}

/** By Arrow's unit: months; days and milliseconds; months, days and nanoseconds. */
const PERIODS: readonly ArrowReader['text'][] = [
  (column, i) => periodText(numberAt(column, i), 0, 0n, 1),
  (column, i) => periodText(0, numberAt(column, i * 2), longAt(column, i * 2 + 1), 1),
  (column, i) => {
    const { buffer, byteOffset } = column.bytes;
    const view = new DataView(buffer, byteOffset + i * 16, 16);
    return periodText(view.getInt32(0, true), view.getInt32(4, true), view.getBigInt64(8, true), 3);
  },
];

const BYTES_OF_CHARACTER = 4;

/** Returns the bytes of a text or binary value. */
type BytesAt = (column: ArrowColumn, index: number) => Uint8Array;

const sliceAt: BytesAt = ({ bytes, offsets }, i) => bytes.subarray(Number(offsets[i]), Number(offsets[i + 1]));

const fixedAt =
  (stride: number): BytesAt =>
  ({ bytes }, i) =>
    bytes.subarray(i * stride, (i + 1) * stride);

const MAX_INLINE_BYTES = 12;

/** A view is the length of the value and its bytes, or their first four, the number of their buffer and the place there. */
const viewAt: BytesAt = (column, i) => {
  const length = numberAt(column, i * 4);
  const isInline = length <= MAX_INLINE_BYTES;
  const bytes = isInline
    ? column.bytes
    : (column.data[numberAt(column, i * 4 + 2)] ?? unsupported('A view without a buffer'));
  const start = isInline ? i * 16 + 4 : numberAt(column, i * 4 + 3);
  return bytes.subarray(start, start + length);
};

/** `bytesOf` returns the bytes for this many characters. */
function longReader(
  bytesAt: BytesAt,
  bytesOf: (limit: number) => number,
  textOf: (bytes: Uint8Array) => string,
): ArrowReader {
  return {
    ...quoted((column, i, limit) => textOf(bytesAt(column, i).subarray(0, bytesOf(limit)))),
    byteLength: (column, i) => bytesAt(column, i).length,
  };
}

const textReader = (bytesAt: BytesAt): ArrowReader =>
  // The last character may be divided: one more than the limit is read.
  longReader(
    bytesAt,
    (limit) => (limit + 1) * BYTES_OF_CHARACTER,
    (bytes) => DECODER.decode(bytes),
  );

const bytesReader = (bytesAt: BytesAt): ArrowReader =>
  longReader(bytesAt, (limit) => Math.ceil(limit / 4) * 3 + 3, base64Text);

function base64Text(bytes: Uint8Array): string {
  let text = '';
  const PIECE = 0x6000;
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return text;
}

const UUID = quoted((column, i) => {
  const hex = Array.from(column.bytes.subarray(i * 16, i * 16 + 16), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
});

function dictionaryReader(values: ArrowReader): ArrowReader {
  const { byteLength } = values;
  return {
    isQuoted: values.isQuoted,
    text: (column, i, limit) => values.text(...entryOf(column, i), limit),
    ...(byteLength && { byteLength: (column: ArrowColumn, i: number) => byteLength(...entryOf(column, i)) }),
  };
}

/** Appends the JSON text of a value of a nested column. */
function append(sink: TextSink, reader: ArrowReader, column: ArrowColumn | undefined, index: number): void {
  if (column === undefined || isNull(column, index)) {
    sink.text += 'null';
    return;
  }
  const text = reader.text(column, index, sink.limit - sink.text.length + 1);
  if (reader.isQuoted) sink.text += JSON.stringify(text);
  else sink.text += NOT_FINITE.has(text) ? 'null' : text;
}

const NOT_FINITE: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);

/** Appends the items of a list until the text is long enough to be cut. */
function nested(write: (sink: TextSink, column: ArrowColumn, index: number) => void): ArrowReader {
  return bare((column, index, limit) => {
    const sink: TextSink = { text: '', limit };
    write(sink, column, index);
    return sink.text;
  });
}

function listReader(
  [item]: readonly ArrowField[],
  ends: (column: ArrowColumn, index: number) => [number, number],
): ArrowReader {
  const reader = arrowReader(item ?? unsupported('A list without items'));
  return nested((sink, column, index) => {
    appendItems(sink, ends(column, index), (i) => append(sink, reader, column.children[0], i));
  });
}

function appendItems(sink: TextSink, [start, end]: [number, number], appendItem: (index: number) => void): void {
  sink.text += '[';
  for (let i = start; i < end && sink.text.length <= sink.limit; i += 1) {
    if (i > start) sink.text += ',';
    appendItem(i);
  }
  sink.text += ']';
}

const endsAt = ({ offsets }: ArrowColumn, i: number): [number, number] => [Number(offsets[i]), Number(offsets[i + 1])];

function structReader(fields: readonly ArrowField[]): ArrowReader {
  const members = fields.map((field) => ({ name: JSON.stringify(field.name), reader: arrowReader(field) }));
  return nested((sink, column, index) => {
    sink.text += '{';
    for (const [i, { name, reader }] of members.entries()) {
      if (sink.text.length > sink.limit) break;
      sink.text += `${i > 0 ? ',' : ''}${name}:`;
      append(sink, reader, column.children[i], index);
    }
    sink.text += '}';
  });
}

function mapReader([entries]: readonly ArrowField[]): ArrowReader {
  const [key, value] = entries?.type.kind === 'struct' ? entries.type.children.map(arrowReader) : [];
  if (key === undefined || value === undefined) return unsupported('A map without keys and values');
  return nested((sink, column, index) => {
    const [keys, values] = column.children[0]?.children ?? [];
    appendItems(sink, endsAt(column, index), (i) => {
      sink.text += '[';
      append(sink, key, keys, i);
      sink.text += ',';
      append(sink, value, values, i);
      sink.text += ']';
    });
  });
}

/** Returns the shortest digits that read back as the same double. */
function doubleText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

const MIN_NORMAL_FLOAT = 2 ** -126;

/** Returns the shortest digits that read back as the same 32-bit float. */
function floatText(value: number): string {
  const isExact = Number.isInteger(value) && Math.abs(value) < 2 ** 24;
  if (isExact || !Number.isFinite(value)) return doubleText(value);
  // Six digits of a normal float always survive, so shorter texts are those of six without the zeros.
  for (let digits = Math.abs(value) < MIN_NORMAL_FLOAT ? 1 : 6; digits < 9; digits += 1) {
    const rounded = Number(value.toPrecision(digits));
    if (Math.fround(rounded) === value) return doubleText(rounded);
  }
  return doubleText(Number(value.toPrecision(9)));
}

/** Returns the value of a 16-bit float, from its bits. */
function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (0x400 + fraction) * 2 ** (exponent - 25);
}

/** Returns a decimal with all digits of its scale. */
function decimalText(value: bigint, scale: number): string {
  if (scale <= 0) return value === 0n ? '0' : `${value}${'0'.repeat(-scale)}`;
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
