import type { FlatTable } from '@svc/arrow';

/** A column of an Arrow schema, or a part of a nested one. */
export interface ArrowField {
  readonly name: string;
  readonly type: ArrowType;
  readonly metadata: ReadonlyMap<string, string>;
}

/** A type with its number in the format, -1 for a dictionary. */
export type ArrowType = TypeKind & { readonly typeId: number };

/** What the server sends: all of Arrow but unions, run-end encoded values and views of lists. */
type TypeKind =
  | { readonly kind: 'null' }
  | { readonly kind: 'bool'; readonly array: NumberArray }
  | IntegerType
  | { readonly kind: 'float'; readonly precision: number; readonly array: NumberArray }
  | DecimalType
  | { readonly kind: TimeKind; readonly unit: number; readonly array: NumberArray }
  /** Without offsets, the values are views. */
  | { readonly kind: 'utf8' | 'binary'; readonly offsets: NumberArray | undefined }
  | { readonly kind: 'fixedSizeBinary'; readonly byteWidth: number; readonly array: NumberArray }
  | { readonly kind: 'fixedSizeList'; readonly listSize: number; readonly children: readonly ArrowField[] }
  | { readonly kind: 'list' | 'map'; readonly offsets: NumberArray; readonly children: readonly ArrowField[] }
  | { readonly kind: 'struct'; readonly children: readonly ArrowField[] }
  | { readonly kind: 'dictionary'; readonly id: number; readonly keys: IntegerType; readonly dictionary: ArrowType };

type TimeKind = 'date' | 'time' | 'timestamp' | 'duration' | 'interval';

/** An integer of 8 to 64 bits. */
export interface IntegerType {
  readonly kind: 'int';
  readonly bitWidth: number;
  readonly isSigned: boolean;
  readonly array: NumberArray;
}

/** A decimal of 32 to 256 bits. */
export interface DecimalType {
  readonly kind: 'decimal';
  readonly precision: number;
  readonly scale: number;
  readonly bitWidth: number;
  readonly array: NumberArray;
}

/** The array that shows the memory of a column as its values. */
export interface NumberArray {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): ArrayLike<number | bigint>;
}

/** Returns the fields of a schema. Throws if the server never sends one of the types. */
export function readFields(schema: FlatTable): readonly ArrowField[] {
  if (schema.short(0) !== 0) throw new TypeError('The Arrow data is big-endian.');
  return schema.tables(1).map(readField);
}

function readField(field: FlatTable): ArrowField {
  const dictionary = field.table(4);
  const type = readType(field.byte(2), field.table(3), field.tables(5).map(readField));
  return {
    name: field.text(0),
    type: dictionary === undefined ? type : dictionaryType(dictionary, type),
    metadata: new Map(field.tables(6).map((entry) => [entry.text(0), entry.text(1)])),
  };
}

function dictionaryType(dictionary: FlatTable, values: ArrowType): ArrowType {
  const keys = dictionary.table(1);
  return {
    typeId: -1,
    kind: 'dictionary',
    id: dictionary.size(0),
    keys: keys === undefined ? { kind: 'int', bitWidth: 32, isSigned: true, array: Int32Array } : integerType(keys),
    dictionary: values,
  };
}

/** Reads a type by the number Arrow gives it. */
function readType(id: number, type: FlatTable | undefined, children: readonly ArrowField[]): ArrowType {
  const read = TYPES[id];
  if (type === undefined || read === undefined) return unsupported(`Arrow type ${id}`);
  return { ...read(type, children), typeId: id };
}

/** Throws for something the server never sends. */
export function unsupported(what: string): never {
  throw new TypeError(`${what} is not supported.`);
}

const SIGNED: Readonly<Record<number, NumberArray>> = {
  8: Int8Array,
  16: Int16Array,
  32: Int32Array,
  64: BigInt64Array,
};
const UNSIGNED: typeof SIGNED = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array, 64: BigUint64Array };

function integerType(type: FlatTable): IntegerType {
  const bitWidth = type.int(0);
  const isSigned = type.byte(1) !== 0;
  const array = (isSigned ? SIGNED : UNSIGNED)[bitWidth] ?? unsupported(`An integer of ${bitWidth} bits`);
  return { kind: 'int', bitWidth, isSigned, array };
}

function decimalType(type: FlatTable): DecimalType {
  const bitWidth = type.int(2, 128);
  const array = bitWidth === 32 ? Int32Array : BigUint64Array;
  return { kind: 'decimal', precision: type.int(0), scale: type.int(1), bitWidth, array };
}

/** By Arrow's number of the precision. */
const FLOATS: readonly NumberArray[] = [Uint16Array, Float32Array, Float64Array];

const MILLISECOND = 1;

const TYPES: Readonly<Record<number, (type: FlatTable, children: readonly ArrowField[]) => TypeKind>> = {
  1: () => ({ kind: 'null' }),
  2: integerType,
  3: (type) => {
    const precision = type.short(0);
    return { kind: 'float', precision, array: FLOATS[precision] ?? unsupported('The precision of a float') };
  },
  4: () => ({ kind: 'binary', offsets: Int32Array }),
  5: () => ({ kind: 'utf8', offsets: Int32Array }),
  6: () => ({ kind: 'bool', array: Uint8Array }),
  7: decimalType,
  8: (type) => {
    const unit = type.short(0, MILLISECOND);
    return { kind: 'date', unit, array: unit === MILLISECOND ? BigInt64Array : Int32Array };
  },
  9: (type) => {
    const unit = type.short(0, MILLISECOND);
    return { kind: 'time', unit, array: unit > MILLISECOND ? BigInt64Array : Int32Array };
  },
  10: (type) => ({ kind: 'timestamp', unit: type.short(0), array: BigInt64Array }),
  11: (type) => ({ kind: 'interval', unit: type.short(0), array: Int32Array }),
  12: (_, children) => ({ kind: 'list', offsets: Int32Array, children }),
  13: (_, children) => ({ kind: 'struct', children }),
  15: (type) => ({ kind: 'fixedSizeBinary', byteWidth: type.int(0), array: Uint8Array }),
  16: (type, children) => ({ kind: 'fixedSizeList', listSize: type.int(0), children }),
  17: (_, children) => ({ kind: 'map', offsets: Int32Array, children }),
  18: (type) => ({ kind: 'duration', unit: type.short(0, MILLISECOND), array: BigInt64Array }),
  19: () => ({ kind: 'binary', offsets: BigInt64Array }),
  20: () => ({ kind: 'utf8', offsets: BigInt64Array }),
  21: (_, children) => ({ kind: 'list', offsets: BigInt64Array, children }),
  23: () => ({ kind: 'binary', offsets: undefined }),
  24: () => ({ kind: 'utf8', offsets: undefined }),
};
