import {
  Data,
  DataType,
  type Decimal,
  type Dictionary,
  type FixedSizeBinary,
  type FixedSizeList,
  type Int,
  type Interval,
  IntervalUnit,
  Vector,
} from 'apache-arrow';

/**
 * Builds a column directly in buffers: the builders of apache-arrow round or refuse some values. Null rows have garbage
 * in their buffers, to detect code that reads it.
 */
export type BuildColumn<V> = (type: DataType, values: readonly (V | null)[]) => Data;

function validityOf(values: readonly unknown[]): { validity: Uint8Array; nullCount: number } {
  const validity = new Uint8Array(Math.ceil(values.length / 8));
  let nullCount = 0;
  for (const [row, value] of values.entries()) {
    if (value === null) nullCount++;
    else validity[row >> 3] |= 1 << (row & 7);
  }
  return { validity: nullCount === 0 ? new Uint8Array(0) : validity, nullCount };
}

interface Parts {
  readonly offsets?: Int32Array | BigInt64Array;
  readonly data?: ArrayBufferView;
  readonly children?: Data[];
  readonly dictionary?: Vector;
  readonly variadic?: Uint8Array[];
}

function columnOf(type: DataType, values: readonly unknown[], parts: Parts): Data {
  const { validity, nullCount } = validityOf(values);
  const buffers = [parts.offsets, parts.data, validity] as never;
  return new Data(type, 0, values.length, nullCount, buffers, parts.children, parts.dictionary, parts.variadic);
}

/** Rows of the null type. */
export const nulls: BuildColumn<never> = (type, values) => new Data(type, 0, values.length, values.length);

/** Booleans. */
export const bits: BuildColumn<boolean> = (type, values) => {
  const data = new Uint8Array(Math.ceil(values.length / 8));
  for (const [row, value] of values.entries()) if (value ?? true) data[row >> 3] |= 1 << (row & 7);
  return columnOf(type, values, { data });
};

/** Numbers of up to 32 bits. */
export const numbers: BuildColumn<number> = (type, values) =>
  columnOf(type, values, { data: (type.ArrayType as Uint8ArrayConstructor).from(values, (value) => value ?? 77) });

/** 64-bit integers. */
export const longs: BuildColumn<bigint> = (type, values) =>
  columnOf(type, values, { data: (type.ArrayType as BigInt64ArrayConstructor).from(values.map((v) => v ?? 77n)) });

/** The unscaled values of decimals. */
export const decimals: BuildColumn<bigint> = (type, values) => {
  const words = (type as Decimal).bitWidth / 32;
  const data = new Uint32Array(values.length * words);
  for (const [row, value] of values.entries()) {
    for (let i = 0; i < words; i++)
      data[row * words + i] = Number(BigInt.asUintN(32, (value ?? -77n) >> BigInt(32 * i)));
  }
  return columnOf(type, values, { data });
};

/** Intervals as 32-bit words. */
export const intervals: BuildColumn<readonly number[]> = (type, values) => {
  const count = { [IntervalUnit.YEAR_MONTH]: 1, [IntervalUnit.DAY_TIME]: 2, [IntervalUnit.MONTH_DAY_NANO]: 4 }[
    (type as Interval).unit
  ];
  return columnOf(type, values, { data: Int32Array.from(values.flatMap((value) => value ?? Array(count).fill(77))) });
};

/** Texts, or bytes that may not be a text. */
export type Bytes = string | readonly number[];

function bytesOf(value: Bytes | null): Uint8Array {
  return Buffer.from((value ?? 'no value') as string);
}

function concatenated(values: readonly (Bytes | null)[]): { data: Uint8Array; ends: number[] } {
  const all = values.map(bytesOf);
  let end = 0;
  return { data: new Uint8Array(Buffer.concat(all)), ends: [0, ...all.map((bytes) => (end += bytes.length))] };
}

/** Texts or bytes with 32-bit offsets. */
export const bytes: BuildColumn<Bytes> = (type, values) => {
  const { data, ends } = concatenated(values);
  return columnOf(type, values, { data, offsets: Int32Array.from(ends) });
};

/** Texts or bytes with 64-bit offsets. */
export const largeBytes: BuildColumn<Bytes> = (type, values) => {
  const { data, ends } = concatenated(values);
  return columnOf(type, values, { data, offsets: BigInt64Array.from(ends, BigInt) });
};

/** Fixed-size texts or bytes. */
export const fixedBytes: BuildColumn<Bytes> = (type, values) => {
  const { byteWidth } = type as FixedSizeBinary;
  const data = new Uint8Array(byteWidth * values.length).fill(77);
  for (const [row, value] of values.entries()) if (value !== null) data.set(bytesOf(value), row * byteWidth);
  return columnOf(type, values, { data });
};

/** Texts or bytes as views, with the long ones in two buffers. */
export const views: BuildColumn<Bytes> = (type, values) => {
  const data = new Uint8Array(16 * values.length);
  const words = new DataView(data.buffer);
  const long: Uint8Array[][] = [[], []];
  for (const [row, value] of values.entries()) {
    const content = bytesOf(value);
    words.setInt32(16 * row, content.length, true);
    data.set(content.subarray(0, content.length <= 12 ? 12 : 4), 16 * row + 4);
    if (content.length <= 12) continue;
    const buffer = long[row % 2];
    words.setInt32(16 * row + 8, row % 2, true);
    words.setInt32(
      16 * row + 12,
      buffer.reduce((sum, part) => sum + part.length, 0),
      true,
    );
    buffer.push(content);
  }
  return columnOf(type, values, { data, variadic: long.map((parts) => new Uint8Array(Buffer.concat(parts))) });
};

/** A dictionary of the values that occur, created by `build`. */
export const dictionaryOf =
  <V>(build: BuildColumn<V>): BuildColumn<V> =>
  (type, values) => {
    const { dictionary } = type as Dictionary;
    const indices: Int = (type as Dictionary).indices;
    const distinct = [...new Set(values.filter((value) => value !== null))];
    const places = values.map((value) =>
      value === null ? 100 : distinct.findIndex((other) => Object.is(other, value)),
    );
    const ArrayType = indices.ArrayType as Uint8ArrayConstructor;
    const data =
      indices.bitWidth === 64
        ? (indices.ArrayType as BigInt64ArrayConstructor).from(places.map(BigInt))
        : ArrayType.from(places);
    return columnOf(type, values, { data, dictionary: new Vector([build(dictionary, distinct)]) });
  };

const childType = (type: DataType, i = 0): DataType => type.children[i].type;

/** Replaces nulls by other values: what lies below a null row need not be null. */
function withoutGaps<V>(values: readonly (V | null)[]): readonly (V | null)[] {
  const filler = values.find((value) => value !== null && !isEmpty(value)) ?? null;
  return values.map((value) => value ?? filler);
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Lists of items created by `build`. */
export const listsOf =
  <V>(build: BuildColumn<V>): BuildColumn<readonly (V | null)[]> =>
  (type, values) => {
    let end = 0;
    const lists = withoutGaps(values);
    const ends = [0, ...lists.map((value) => (end += value?.length ?? 0))];
    return columnOf(type, values, {
      offsets: DataType.isLargeList(type) ? BigInt64Array.from(ends, BigInt) : Int32Array.from(ends),
      children: [
        build(
          childType(type),
          lists.flatMap((value) => value ?? []),
        ),
      ],
    });
  };

/** Fixed-size lists. */
export const fixedListsOf =
  <V>(build: BuildColumn<V>): BuildColumn<readonly (V | null)[]> =>
  (type, values) => {
    const { listSize } = type as FixedSizeList;
    const items = withoutGaps(values).flatMap((value) => value ?? Array<V | null>(listSize).fill(null));
    return columnOf(type, values, { children: [build(childType(type), items)] });
  };

/** Structs, given as the values of their fields in order. */
export const structsOf =
  (...builds: readonly BuildColumn<never>[]): BuildColumn<readonly unknown[]> =>
  (type, values) => {
    const rows = withoutGaps(values);
    return columnOf(type, values, {
      children: builds.map((build, i) =>
        build(childType(type, i), rows.map((value) => (value === null ? null : value[i])) as readonly null[]),
      ),
    });
  };

/** Maps, given as their entries. */
export const mapsOf = <K, V>(
  buildKey: BuildColumn<K>,
  buildValue: BuildColumn<V>,
): BuildColumn<readonly (readonly [K, V | null])[]> =>
  listsOf(structsOf(buildKey as BuildColumn<never>, buildValue as BuildColumn<never>)) as BuildColumn<
    readonly (readonly [K, V | null])[]
  >;
