/** The fields of a Thrift compact-protocol struct by field id, in the order of the bytes. */
export type ThriftStruct = ReadonlyMap<number, ThriftField>;

/** A field: its type and its encoded value. A boolean is encoded in its type. */
export interface ThriftField {
  readonly type: number;
  readonly bytes: Uint8Array;
}

/** Types of the compact protocol. */
export const THRIFT = {
  true: 1,
  false: 2,
  byte: 3,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  struct: 12,
};

/** The maximum nesting of structs and lists. A Parquet footer nests five deep. */
const MAX_DEPTH = 16;
/** The maximum number of fields of a struct: each takes far more memory than bytes. Parquet has up to 17. */
const MAX_FIELDS = 32;

/** A field header: the field id and the type of the value. */
export interface ThriftHead {
  readonly id: number;
  readonly type: number;
}

/** A compact-protocol reader. Throws a `RangeError` if a value runs past the end of the bytes or is beyond a limit. */
export class ThriftCursor {
  position = 0;
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Reads the header of the field after field id `before`, or returns undefined at the end of the struct. */
  fieldHead(before: number): ThriftHead | undefined {
    const head = this.byte();
    if (head === 0) return undefined;
    const type = head & 15;
    return head >> 4 === 0 ? { id: zigzag(this.size()), type } : { id: before + (head >> 4), type };
  }

  /** Reads a list header: the number and type of its elements. */
  listHead(): { readonly count: number; readonly type: number } {
    const head = this.byte();
    const count = head >> 4 === 15 ? this.size() : head >> 4;
    // Every element takes at least one byte.
    if (count > this.bytes.length - this.position) throw new RangeError('A list is longer than the bytes there are.');
    return { count, type: head & 15 };
  }

  struct(depth = 0): ThriftStruct {
    const fields = new Map<number, ThriftField>();
    for (let before = 0, count = 0; ; count++) {
      const head = this.fieldHead(before);
      if (head === undefined) return fields;
      if (count === MAX_FIELDS) throw new RangeError('A struct has too many fields.');
      const start = this.position;
      this.skip(head.type, depth);
      fields.set(head.id, { type: head.type, bytes: this.bytes.subarray(start, this.position) });
      before = head.id;
    }
  }

  /** Skips a value. */
  skip(type: number, depth = 0): void {
    if (depth > MAX_DEPTH) throw new RangeError('Values are nested too deeply.');
    if (type === THRIFT.true || type === THRIFT.false) return;
    if (type === THRIFT.byte) this.skipBytes(1);
    else if (INTEGERS.has(type)) this.skipInteger();
    else if (type === THRIFT.double) this.skipBytes(8);
    else if (type === THRIFT.binary) this.skipBytes(this.size());
    else if (type === THRIFT.struct) this.skipStruct(depth + 1);
    else if (type === THRIFT.list || type === THRIFT.set) this.skipList(depth);
    else throw new RangeError('A value has a type that Parquet does not use.');
  }

  private skipStruct(depth: number): void {
    for (let head = this.fieldHead(0); head !== undefined; head = this.fieldHead(head.id)) this.skip(head.type, depth);
  }

  private skipList(depth: number): void {
    const { count, type } = this.listHead();
    // A boolean element takes one byte.
    const isBoolean = type === THRIFT.true || type === THRIFT.false;
    for (let i = 0; i < count; i++) this.skip(isBoolean ? THRIFT.byte : type, depth + 1);
  }

  private byte(): number {
    const value = this.bytes[this.position];
    if (value === undefined) throw new RangeError('The bytes end in the middle of a value.');
    this.position += 1;
    return value;
  }

  /** Reads an unsigned varint of at most 32 bits. */
  private size(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const part = this.byte();
      value += (part & 0x7f) * 2 ** shift;
      if (part < 0x80) return value;
    }
    throw new RangeError('A number has too many bytes.');
  }

  private skipInteger(): void {
    for (let i = 0; i < MAX_INTEGER_BYTES; i++) if (this.byte() < 0x80) return;
    throw new RangeError('A number has too many bytes.');
  }

  private skipBytes(count: number): void {
    if (count > this.bytes.length - this.position) throw new RangeError('A value is longer than the bytes there are.');
    this.position += count;
  }
}

/** Integers of 16, 32 and 64 bits. */
const INTEGERS: ReadonlySet<number> = new Set([4, THRIFT.i32, THRIFT.i64]);
const MAX_INTEGER_BYTES = 10;

/** Decodes a zigzag-encoded number. */
function zigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** The value of an i32 field; undefined for any other field. */
export function thriftNumber(field: ThriftField | undefined): number | undefined {
  return field?.type === THRIFT.i32 ? integerOf(field) : undefined;
}

/** The value of an i64 field, exact up to 53 bits; undefined for any other field. */
export function thriftLong(field: ThriftField | undefined): number | undefined {
  return field?.type === THRIFT.i64 ? integerOf(field) : undefined;
}

function integerOf({ bytes }: ThriftField): number {
  let value = 0;
  for (const [i, part] of bytes.entries()) value += (part & 0x7f) * 2 ** (7 * i);
  return zigzag(value);
}

/** The fields of a struct field; undefined for any other field. */
export function thriftStruct(field: ThriftField | undefined): ThriftStruct | undefined {
  return field?.type === THRIFT.struct ? new ThriftCursor(field.bytes).struct() : undefined;
}

/** The elements of a list of structs; empty for any other field. */
export function thriftStructs(field: ThriftField | undefined): ThriftStruct[] {
  if (field?.type !== THRIFT.list) return [];
  const cursor = new ThriftCursor(field.bytes);
  const { count, type } = cursor.listHead();
  return type === THRIFT.struct ? Array.from({ length: count }, () => cursor.struct()) : [];
}

/** The text of a binary field; empty for any other field. */
export function thriftText(field: ThriftField | undefined): string {
  if (field?.type !== THRIFT.binary) return '';
  const start = field.bytes.findIndex((part) => part < 0x80) + 1;
  return Buffer.from(field.bytes.buffer, field.bytes.byteOffset + start, field.bytes.length - start).toString();
}

/** Encodes an i32 field. */
export function numberField(value: number): ThriftField {
  return { type: THRIFT.i32, bytes: sizeBytes(value < 0 ? -2 * value - 1 : 2 * value) };
}

/** Encodes an i64 field, exact up to 53 bits. */
export function longField(value: number): ThriftField {
  return { type: THRIFT.i64, bytes: sizeBytes(value < 0 ? -2 * value - 1 : 2 * value) };
}

/** Encodes a list of structs, each encoded already. */
export function structsField(structs: readonly Uint8Array[]): ThriftField {
  const { length } = structs;
  const head =
    length < 15
      ? Uint8Array.of((length << 4) | THRIFT.struct)
      : Buffer.concat([Uint8Array.of(0xf0 | THRIFT.struct), sizeBytes(length)]);
  return { type: THRIFT.list, bytes: Buffer.concat([head, ...structs]) };
}

/** Encodes a struct field. */
export function structField(fields: ThriftStruct): ThriftField {
  return { type: THRIFT.struct, bytes: encodeStruct(fields) };
}

/** Encodes an unsigned varint of at most 53 bits. */
function sizeBytes(value: number): Uint8Array {
  const parts: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) parts.push((rest % 0x80) + 0x80);
  return Uint8Array.from([...parts, rest]);
}

/** Encodes a struct, with its fields ordered by id. */
export function encodeStruct(fields: ThriftStruct): Uint8Array {
  const parts: Uint8Array[] = [];
  let before = 0;
  for (const [id, { type, bytes }] of [...fields].toSorted(([a], [b]) => a - b)) {
    const delta = id - before;
    parts.push(delta > 0 && delta < 16 ? Uint8Array.of((delta << 4) | type) : longHead(id, type), bytes);
    before = id;
  }
  return Buffer.concat([...parts, Uint8Array.of(0)]);
}

function longHead(id: number, type: number): Uint8Array {
  return Buffer.concat([Uint8Array.of(type), numberField(id).bytes]);
}
