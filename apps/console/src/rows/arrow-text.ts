import type { Batch, Field } from '@uwdata/flechette';
import { decimalText, doubleText, floatText } from './number-text.ts';
import { date32Text, date64Text, durationText, periodText, timestampText, timeText } from './time-text.ts';
import type { TimeUnitIndex } from './time-text.ts';

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
  readonly text: (batch: ArrowBatch, index: number, limit: number) => string;
  /** The length of the value in bytes, for types whose values can be long. */
  readonly byteLength?: (batch: ArrowBatch, index: number) => number;
}

/** A buffer of values: of numbers, of 64-bit integers or of bytes. */
export interface ArrowValues {
  readonly [index: number]: number | bigint;
  readonly buffer: ArrayBuffer;
  readonly byteOffset: number;
  subarray(start: number, end: number): Uint8Array;
}

/** The buffers of a column, as flechette lays them out. Their types depend on the type of the column. */
export interface ArrowBatch {
  readonly validity?: Uint8Array;
  readonly nullCount: number;
  readonly values: ArrowValues;
  readonly offsets: ArrayLike<number | bigint>;
  readonly children: readonly ArrowBatch[];
  readonly dictionary?: { readonly data: readonly ArrowBatch[]; readonly offsets: Int32Array };
  readonly length: number;
  value(index: number): unknown;
  view?(index: number): Uint8Array;
}

/** Flechette types the buffers of a batch more loosely than this module needs them. */
export function arrowBatch(batch: Batch<unknown>): ArrowBatch {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return batch as unknown as ArrowBatch;
}

const TYPE_KEY = 'svc:type';
const EXTENSION_KEY = 'ARROW:extension:name';

/** Returns the reader of a field. Throws if the server never sends its type. */
export function arrowReader(field: Field): ArrowReader {
  const { type } = field;
  switch (type.typeId) {
    case -1:
      return dictionaryReader(arrowReader({ ...field, type: type.dictionary }));
    case 1:
      return bare(() => 'null');
    case 2:
      return bare((batch, i) => String(valueAt(batch, i)));
    case 3:
      return bare(type.precision === 2 ? (batch, i) => doubleText(Number(batch.value(i))) : floatCell);
    case 6:
      return bare((batch, i) => String(batch.value(i)));
    case 7:
      return decimalReader(type.scale, type.scale === 0 && field.metadata?.get(TYPE_KEY) === 'LONG128');
    case 8:
      return quoted(type.unit === 0 ? (b, i) => date32Text(numberAt(b, i)) : (b, i) => date64Text(longAt(b, i)));
    case 9:
      return quoted((batch, i) => timeText(BigInt(valueAt(batch, i)), unitIndex(type.unit)));
    case 10:
      return quoted((batch, i) => timestampText(longAt(batch, i), unitIndex(type.unit)));
    case 11:
      return quoted(PERIODS[type.unit] ?? unsupported(type.typeId));
    case 12:
    case 21:
      return listReader(field, (batch, i) => [Number(batch.offsets[i]), Number(batch.offsets[i + 1])]);
    case 16:
      return listReader(field, (_, i) => [i * type.stride, (i + 1) * type.stride]);
    case 13:
      return structReader(type.children);
    case 17:
      return mapReader(field);
    case 18:
      return quoted((batch, i) => durationText(longAt(batch, i), unitIndex(type.unit)));
    case 15:
      return type.stride === 16 && field.metadata?.get(EXTENSION_KEY) === 'arrow.uuid' ? UUID : BYTES;
    case 4:
    case 19:
    case 23:
      return BYTES;
    case 5:
    case 20:
    case 24:
      return TEXT;
    case 0:
    case 14:
    case 22:
    case 25:
    case 26:
      break;
  }
  return unsupported(type.typeId);
}

/** Returns whether a value is null, also behind a dictionary. */
export function isNull(batch: ArrowBatch, index: number): boolean {
  if (batch.nullCount > 0) {
    // A column of the type null has no bitmap.
    const bits = batch.validity?.[index >> 3];
    if (bits === undefined || (bits & (1 << (index & 7))) === 0) return true;
  }
  return batch.dictionary !== undefined && isNull(...entryOf(batch, index));
}

/** Returns where the dictionary has the value at an index. */
function entryOf(batch: ArrowBatch, index: number): [ArrowBatch, number] {
  const key = numberAt(batch, index);
  const { data, offsets } = batch.dictionary ?? unsupported(-1);
  let part = 0;
  while (part < data.length - 1 && key >= (offsets[part + 1] ?? 0)) part += 1;
  return [data[part] ?? unsupported(-1), key - (offsets[part] ?? 0)];
}

function unsupported(typeId: number): never {
  throw new TypeError(`Arrow type ${typeId} is not supported.`);
}

const bare = (text: ArrowReader['text']): ArrowReader => ({ isQuoted: false, text });
const quoted = (text: ArrowReader['text']): ArrowReader => ({ isQuoted: true, text });
const valueAt = (batch: ArrowBatch, index: number): number | bigint => batch.values[index] ?? 0;
const numberAt = (batch: ArrowBatch, index: number): number => Number(valueAt(batch, index));
const longAt = (batch: ArrowBatch, index: number): bigint => BigInt(valueAt(batch, index));
const UNITS: readonly TimeUnitIndex[] = [0, 1, 2, 3];
const unitIndex = (unit: number): TimeUnitIndex => UNITS[unit] ?? unsupported(unit);

const floatCell: ArrowReader['text'] = (batch, i) => floatText(Number(batch.value(i)));

function bigintOf(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(Number(value));
}

function decimalReader(scale: number, isWhole: boolean): ArrowReader {
  const text: ArrowReader['text'] = (batch, i) => decimalText(bigintOf(batch.value(i)), scale);
  return isWhole ? bare(text) : quoted(text);
}

/** By Arrow's unit: months; days and milliseconds; months, days and nanoseconds. */
const PERIODS: readonly ArrowReader['text'][] = [
  (batch, i) => periodText(numberAt(batch, i), 0, 0n, 1),
  (batch, i) => periodText(0, numberAt(batch, i * 2), longAt(batch, i * 2 + 1), 1),
  (batch, i) => {
    const { buffer, byteOffset } = batch.values;
    const view = new DataView(buffer, byteOffset + i * 16, 16);
    return periodText(view.getInt32(0, true), view.getInt32(4, true), view.getBigInt64(8, true), 3);
  },
];

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });
const BYTES_OF_CHARACTER = 4;

/** The bytes of a text or binary value, in any of Arrow's layouts. */
function bytesAt(batch: ArrowBatch, index: number): Uint8Array {
  if (batch.view !== undefined) return batch.view(index);
  return batch.values.subarray(Number(batch.offsets[index]), Number(batch.offsets[index + 1]));
}

const TEXT: ArrowReader = {
  isQuoted: true,
  text: (batch, i, limit) => {
    const bytes = bytesAt(batch, i);
    // The last character may be divided: one more than the limit is read.
    const most = (limit + 1) * BYTES_OF_CHARACTER;
    return DECODER.decode(bytes.length > most ? bytes.subarray(0, most) : bytes);
  },
  byteLength: (batch, i) => bytesAt(batch, i).length,
};

function binaryAt(batch: ArrowBatch, index: number): Uint8Array {
  const bytes = batch.value(index);
  if (bytes instanceof Uint8Array) return bytes;
  throw new TypeError('The column has no bytes.');
}

const BYTES: ArrowReader = {
  isQuoted: true,
  text: (batch, i, limit) => {
    const bytes = binaryAt(batch, i);
    const most = Math.ceil(limit / 4) * 3 + 3;
    return base64Text(bytes.length > most ? bytes.subarray(0, most) : bytes);
  },
  byteLength: (batch, i) => binaryAt(batch, i).length,
};

function base64Text(bytes: Uint8Array): string {
  let text = '';
  const PIECE = 0x6000;
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)));
  }
  return text;
}

const UUID = quoted((batch, i) => {
  const hex = Array.from(binaryAt(batch, i), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
});

function dictionaryReader(values: ArrowReader): ArrowReader {
  const { byteLength } = values;
  return {
    isQuoted: values.isQuoted,
    text: (batch, i, limit) => values.text(...entryOf(batch, i), limit),
    ...(byteLength && { byteLength: (batch: ArrowBatch, i: number) => byteLength(...entryOf(batch, i)) }),
  };
}

/** Appends the JSON text of a value of a nested column. */
function append(sink: TextSink, reader: ArrowReader, batch: ArrowBatch | undefined, index: number): void {
  if (batch === undefined || isNull(batch, index)) {
    sink.text += 'null';
    return;
  }
  const text = reader.text(batch, index, sink.limit - sink.text.length + 1);
  if (reader.isQuoted) sink.text += JSON.stringify(text);
  else sink.text += NOT_FINITE.has(text) ? 'null' : text;
}

const NOT_FINITE: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity']);

/** Appends the items of a list until the text is long enough to be cut. */
function nested(write: (sink: TextSink, batch: ArrowBatch, index: number) => void): ArrowReader {
  return bare((batch, index, limit) => {
    const sink: TextSink = { text: '', limit };
    write(sink, batch, index);
    return sink.text;
  });
}

function listReader(field: Field, ends: (batch: ArrowBatch, index: number) => [number, number]): ArrowReader {
  const item = arrowReader(onlyChild(field));
  return nested((sink, batch, index) => {
    const [start, end] = ends(batch, index);
    sink.text += '[';
    for (let i = start; i < end && sink.text.length <= sink.limit; i += 1) {
      if (i > start) sink.text += ',';
      append(sink, item, batch.children[0], i);
    }
    sink.text += ']';
  });
}

function structReader(fields: readonly Field[]): ArrowReader {
  const members = fields.map((field) => ({ name: JSON.stringify(field.name), reader: arrowReader(field) }));
  return nested((sink, batch, index) => {
    sink.text += '{';
    for (const [i, { name, reader }] of members.entries()) {
      if (sink.text.length > sink.limit) break;
      sink.text += `${i > 0 ? ',' : ''}${name}:`;
      append(sink, reader, batch.children[i], index);
    }
    sink.text += '}';
  });
}

function mapReader(field: Field): ArrowReader {
  const { type } = onlyChild(field);
  const [key, value] = type.typeId === 13 ? type.children.map(arrowReader) : [];
  if (key === undefined || value === undefined) return unsupported(17);
  return nested((sink, batch, index) => {
    const start = Number(batch.offsets[index]);
    const end = Number(batch.offsets[index + 1]);
    const [keys, values] = batch.children[0]?.children ?? [];
    sink.text += '[';
    for (let i = start; i < end && sink.text.length <= sink.limit; i += 1) {
      sink.text += i > start ? ',[' : '[';
      append(sink, key, keys, i);
      sink.text += ',';
      append(sink, value, values, i);
      sink.text += ']';
    }
    sink.text += ']';
  });
}

function onlyChild(field: Field): Field {
  const { type } = field;
  return ('children' in type ? type.children[0] : undefined) ?? unsupported(type.typeId);
}
