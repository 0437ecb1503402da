/** A table of a flatbuffer. A field that is not there has its default. A read outside of the bytes is a `RangeError`. */
export interface FlatTable {
  readonly byte: (field: number) => number;
  readonly short: (field: number, fallback?: number) => number;
  readonly int: (field: number, fallback?: number) => number;
  /** A 64-bit count, size or id. */
  readonly long: (field: number) => number;
  readonly text: (field: number) => string;
  readonly table: (field: number) => FlatTable | undefined;
  readonly tables: (field: number) => readonly FlatTable[];
  /** The numbers in a vector whose items are some `long`s each. */
  readonly longs: (field: number, perItem: number) => readonly number[];
}

const DECODER = new TextDecoder();

/** Returns the table to which the offset at a place points. */
export function flatTable(view: DataView, at: number): FlatTable {
  const start = at + view.getUint32(at, true);
  const offsets = start - view.getInt32(start, true);

  function read<T>(field: number, fallback: T, value: (place: number) => T): T {
    const slot = 4 + field * 2;
    const offset = slot < view.getUint16(offsets, true) ? view.getUint16(offsets + slot, true) : 0;
    return offset === 0 ? fallback : value(start + offset);
  }

  /** Reads a vector: its bytes are those after its length. */
  function vector<T>(field: number, itemBytes: number, value: (bytes: DataView) => T): T | undefined {
    return read<T | undefined>(field, undefined, (place) => {
      const first = place + view.getUint32(place, true);
      const length = view.getUint32(first, true) * itemBytes;
      return value(new DataView(view.buffer, view.byteOffset + first + 4, length));
    });
  }

  return {
    byte: (field) => read(field, 0, (place) => view.getUint8(place)),
    short: (field, fallback = 0) => read(field, fallback, (place) => view.getInt16(place, true)),
    int: (field, fallback = 0) => read(field, fallback, (place) => view.getInt32(place, true)),
    long: (field) => read(field, 0, (place) => longAt(view, place)),
    text: (field) => vector(field, 1, (bytes) => DECODER.decode(bytes)) ?? '',
    table: (field) => read<FlatTable | undefined>(field, undefined, (place) => flatTable(view, place)),
    tables: (field) =>
      vector(field, 4, ({ byteOffset, byteLength }) =>
        Array.from({ length: byteLength / 4 }, (_, i) => flatTable(view, byteOffset - view.byteOffset + i * 4)),
      ) ?? [],
    longs: (field, perItem) =>
      vector(field, perItem * 8, (bytes) =>
        Array.from({ length: bytes.byteLength / 8 }, (_, i) => longAt(bytes, i * 8)),
      ) ?? [],
  };
}

function longAt(view: DataView, at: number): number {
  const value = Number(view.getBigInt64(at, true));
  if (value < 0 || !Number.isSafeInteger(value)) throw new RangeError(`${value} is no count or size.`);
  return value;
}
