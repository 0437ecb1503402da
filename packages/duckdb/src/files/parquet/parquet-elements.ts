import {
  numberField,
  structField,
  THRIFT,
  type ThriftField,
  type ThriftStruct,
  thriftNumber,
  thriftStruct,
  thriftText,
} from '../../wire/thrift-compact.ts';

/** The type of a leaf column of a Parquet file, if DuckDB's type is not enough. */
export type ParquetLeaf =
  /** DuckDB reads the exact values. */
  | { readonly kind: 'plain' }
  /** A UTC timestamp in nanoseconds, which DuckDB truncates to microseconds. Read as one without a zone. */
  | { readonly kind: 'utc_nanos' }
  /** A UTC timestamp of the format before logical types. DuckDB reads it without a zone, unless the file is extended. */
  | { readonly kind: 'legacy_utc' }
  /** A decimal with more digits than DuckDB supports. Read as bytes: a big-endian integer. */
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  /** A deprecated timestamp. Read as bytes: nanoseconds of the day, then the Julian day, both little-endian. */
  | { readonly kind: 'int96' }
  /** Only nulls. */
  | { readonly kind: 'null' };

/** A schema element of a Parquet file: a leaf, or a group of the elements that follow. */
export interface ParquetElement {
  readonly name: string;
  readonly children: number;
  readonly leaf: ParquetLeaf;
  /** The element under which DuckDB reads the exact values; undefined if it is the one in the file. */
  readonly exact: ThriftStruct | undefined;
}

/** Field numbers of `SchemaElement`, `LogicalType` and the types in it. */
const ELEMENT = { type: 1, length: 2, name: 4, children: 5, converted: 6, scale: 7, precision: 8, logical: 10 };
const LOGICAL = { map: 2, decimal: 5, time: 7, timestamp: 8, unknown: 11, variant: 16, geometry: 17, geography: 18 };
const DECIMAL = { scale: 1, precision: 2 };
const TIME = { isUtc: 1, unit: 2 };
const UNIT = { millis: 1, micros: 2, nanos: 3 };
const ANNOTATIONS = [ELEMENT.converted, ELEMENT.scale, ELEMENT.precision, ELEMENT.logical];

const PHYSICAL = { int64: 2, int96: 3, bytes: 6, fixedBytes: 7 };
const INT96_BYTES = 12;
const CONVERTED = { map: 1, list: 3, decimal: 5, timestampMillis: 9, timestampMicros: 10 };

/** The most digits of a DuckDB decimal. */
const MAX_DUCKDB_PRECISION = 38;

const PLAIN: ParquetLeaf = { kind: 'plain' };

/** Returns a schema element with the substitute that makes DuckDB read exact values, if it needs one. */
export function parquetElement(fields: ThriftStruct): ParquetElement {
  const name = thriftText(fields.get(ELEMENT.name));
  const children = childrenOf(fields);
  const logical = thriftStruct(fields.get(ELEMENT.logical));
  return { name, children, ...(children > 0 ? group(fields, logical) : leaf(fields, logical)) };
}

/** Returns a map without values as the list of its keys, as other readers do. DuckDB refuses it. */
export function mapOfKeys(fields: ThriftStruct, entries: ThriftStruct | undefined): ThriftStruct | undefined {
  const logical = thriftStruct(fields.get(ELEMENT.logical));
  const isMap = logical?.has(LOGICAL.map) || thriftNumber(fields.get(ELEMENT.converted)) === CONVERTED.map;
  if (!isMap || childrenOf(fields) !== 1 || entries === undefined || childrenOf(entries) !== 1) return undefined;
  return new Map([...without(fields, [ELEMENT.logical]), [ELEMENT.converted, numberField(CONVERTED.list)]]);
}

function childrenOf(fields: ThriftStruct): number {
  return thriftNumber(fields.get(ELEMENT.children)) ?? 0;
}

type Reading = Pick<ParquetElement, 'leaf' | 'exact'>;

/** Reads a variant as its raw bytes: DuckDB would convert it to text. */
function group(fields: ThriftStruct, logical: ThriftStruct | undefined): Reading {
  return { leaf: PLAIN, exact: logical?.has(LOGICAL.variant) ? without(fields, [ELEMENT.logical]) : undefined };
}

function leaf(fields: ThriftStruct, logical: ThriftStruct | undefined): Reading {
  const physical = thriftNumber(fields.get(ELEMENT.type));
  if (physical === PHYSICAL.int96) {
    const bytes = new Map([
      ...without(fields, ANNOTATIONS),
      [ELEMENT.type, numberField(PHYSICAL.fixedBytes)],
      [ELEMENT.length, numberField(INT96_BYTES)],
    ]);
    return { leaf: { kind: 'int96' }, exact: bytes };
  }
  if (logical?.has(LOGICAL.unknown)) return { leaf: { kind: 'null' }, exact: undefined };
  // Geometries stay bytes, as they are in the file.
  if (logical?.has(LOGICAL.geometry) || logical?.has(LOGICAL.geography)) {
    return { leaf: PLAIN, exact: without(fields, [ELEMENT.logical]) };
  }
  const other = longDecimal(fields, logical, physical) ?? timeOfUtc(fields, logical);
  return other ?? legacyTimestamp(fields, logical, physical) ?? { leaf: PLAIN, exact: undefined };
}

function longDecimal(
  fields: ThriftStruct,
  logical: ThriftStruct | undefined,
  physical: number | undefined,
): Reading | undefined {
  const type = thriftStruct(logical?.get(LOGICAL.decimal));
  if (type === undefined && thriftNumber(fields.get(ELEMENT.converted)) !== CONVERTED.decimal) return undefined;
  const precision = thriftNumber(type?.get(DECIMAL.precision) ?? fields.get(ELEMENT.precision)) ?? 0;
  const scale = thriftNumber(type?.get(DECIMAL.scale) ?? fields.get(ELEMENT.scale)) ?? 0;
  if (precision <= MAX_DUCKDB_PRECISION) return undefined;
  const isBytes = physical === PHYSICAL.bytes || physical === PHYSICAL.fixedBytes;
  return {
    leaf: { kind: 'decimal', precision, scale },
    exact: isBytes ? without(fields, ANNOTATIONS) : undefined,
  };
}

/** Reads UTC times as times without a zone: DuckDB has no nanoseconds with a zone. */
function timeOfUtc(fields: ThriftStruct, logical: ThriftStruct | undefined): Reading | undefined {
  const field = [LOGICAL.time, LOGICAL.timestamp].find((one) => logical?.has(one));
  if (logical === undefined || field === undefined) return undefined;
  const type = thriftStruct(logical.get(field));
  if (type?.get(TIME.isUtc)?.type !== THRIFT.true) return undefined;
  const isNanos = thriftStruct(type.get(TIME.unit))?.has(UNIT.nanos) === true;
  const isTimestamp = field === LOGICAL.timestamp;
  if (isTimestamp && !isNanos) return undefined;
  const local: ThriftStruct = new Map([...type, [TIME.isUtc, FALSE]]);
  const exact = new Map([
    ...without(fields, [ELEMENT.converted]),
    [ELEMENT.logical, structField(new Map([[field, structField(local)]]))],
  ]);
  return { leaf: isTimestamp ? { kind: 'utc_nanos' } : PLAIN, exact };
}

/** By the format, a converted type without a logical one is in UTC. */
function legacyTimestamp(
  fields: ThriftStruct,
  logical: ThriftStruct | undefined,
  physical: number | undefined,
): Reading | undefined {
  const converted = thriftNumber(fields.get(ELEMENT.converted));
  const isMillis = converted === CONVERTED.timestampMillis;
  if (!isMillis && converted !== CONVERTED.timestampMicros) return undefined;
  if (logical !== undefined || physical !== PHYSICAL.int64) return undefined;
  const type: ThriftStruct = new Map([
    [TIME.isUtc, TRUE],
    [TIME.unit, structField(new Map([[isMillis ? UNIT.millis : UNIT.micros, structField(new Map())]]))],
  ]);
  const exact = new Map([...fields, [ELEMENT.logical, structField(new Map([[LOGICAL.timestamp, structField(type)]]))]]);
  return { leaf: { kind: 'legacy_utc' }, exact };
}

const TRUE: ThriftField = { type: THRIFT.true, bytes: new Uint8Array(0) };
const FALSE: ThriftField = { type: THRIFT.false, bytes: new Uint8Array(0) };

function without(fields: ThriftStruct, numbers: readonly number[]): ThriftStruct {
  return new Map([...fields].filter(([number]) => !numbers.includes(number)));
}
