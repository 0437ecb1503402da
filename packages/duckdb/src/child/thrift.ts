/** A value of Thrift's compact protocol, in which the footer of a Parquet file is written. */
export type ThriftValue = number | boolean | Uint8Array | readonly ThriftValue[] | ThriftStruct;

/** The fields of a struct, by their numbers. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>;

const TYPE = { stop: 0, true: 1, false: 2, byte: 3, i16: 4, i32: 5, i64: 6, double: 7, binary: 8, list: 9, set: 10 };
const STRUCT = 12;

/** Reads the struct at the start of some bytes. Bytes that are not one throw. */
export function readThrift(bytes: Uint8Array): ThriftStruct {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;

  function varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = view.getUint8(at++);
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  /** Numbers of more than 53 bits lose some: no offset in a file is that large. */
  function integer(): number {
    const value = varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  function binary(): Uint8Array {
    const length = varint();
    if (length > bytes.length - at) throw new RangeError('A text is longer than the footer.');
    at += length;
    return bytes.subarray(at - length, at);
  }

  function list(): ThriftValue[] {
    const head = view.getUint8(at++);
    const count = head >> 4 === 15 ? varint() : head >> 4;
    if (count > bytes.length - at) throw new RangeError('A list is longer than the footer.');
    const type = head & 15;
    // In a list a boolean is a byte of its own.
    const item = type === TYPE.true || type === TYPE.false ? () => view.getUint8(at++) === 1 : () => read(type);
    return Array.from({ length: count }, item);
  }

  function struct(): ThriftStruct {
    const fields = new Map<number, ThriftValue>();
    for (let id = 0; ;) {
      const head = view.getUint8(at++);
      if (head === TYPE.stop) return fields;
      id = head >> 4 === 0 ? integer() : id + (head >> 4);
      fields.set(id, read(head & 15));
    }
  }

  function read(type: number): ThriftValue {
    switch (type) {
      case TYPE.true:
      case TYPE.false:
        return type === TYPE.true;
      case TYPE.byte:
        return view.getInt8(at++);
      case TYPE.i16:
      case TYPE.i32:
      case TYPE.i64:
        return integer();
      case TYPE.double:
        at += 8;
        return view.getFloat64(at - 8, true);
      case TYPE.binary:
        return binary();
      case TYPE.list:
      case TYPE.set:
        return list();
      case STRUCT:
        return struct();
      default:
        throw new RangeError(`The footer has a value of the type ${type}, which Parquet does not use.`);
    }
  }

  return struct();
}
