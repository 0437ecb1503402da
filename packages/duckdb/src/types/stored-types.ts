import { columnInfo } from '@svc/frames';
import { childrenOf, TYPE_METADATA_KEY, typeOf, valueTypeOf } from '@svc/frames/columns';
import { encodeArrowSchema, schemaFromUpload } from '@svc/frames/ipc';
import {
  Binary,
  Bool,
  DataType,
  DateDay,
  DateUnit,
  Decimal,
  Field,
  Float32,
  Int32,
  Int64,
  IntervalUnit as ArrowIntervalUnit,
  List,
  Map_,
  Precision,
  Schema,
  Struct,
  TimeMicrosecond,
  Timestamp,
  TimeUnit,
  Utf8,
} from 'apache-arrow';
import type { FixedType, GetPlan, IntervalUnit, PutPlan } from '../wire/column-plans.ts';
import { fileNames, NO_COLUMNS_NAME, uniqueNames } from '../wire/sql-names.ts';

/**
 * How a column is stored: the field of a read (`field`), and the plans to write it to a Parquet file and read
 * it. This is the single description of each type.
 */
export interface StoredColumn {
  readonly field: Field;
  readonly put: PutPlan;
  readonly get: GetPlan;
}

/** The schema of a frame when it is read back from its file: the same object if nothing changes. */
export function storedSchema(schema: Schema): { readonly schema: Schema; readonly columns: readonly StoredColumn[] } {
  const columns = schema.fields.map((field) => {
    columnInfo(field);
    return storedColumn(field);
  });
  const isSame = columns.every(({ field }, i) => field === schema.fields[i]);
  if (isSame) return { schema, columns };
  const fields = columns.map(({ field }) => field);
  return { schema: new Schema(fields, schema.metadata), columns };
}

/** How a field is stored. */
export function storedColumn(field: Field): StoredColumn {
  const type = typeOf(field);
  if (DataType.isDictionary(type)) return storedDictionary(field, valueTypeOf(type), type.indices);
  if (DataType.isList(type) || DataType.isLargeList(type) || DataType.isFixedSizeList(type)) return storedList(field);
  if (DataType.isMap(type)) return storedMap(field, type);
  if (DataType.isStruct(type)) return storedStruct(field, type.children);
  const { type: stored = type, put, get } = storedPlain(field);
  return { field: stored === type ? field : withType(field, stored), put, get };
}

interface StoredPlain {
  /** Omitted if the type does not change. */
  readonly type?: DataType;
  readonly put: PutPlan;
  readonly get: GetPlan;
}

function withType(field: Field, type: DataType): Field {
  return new Field(field.name, type, field.nullable, field.metadata);
}

function same(width: number, type: FixedType): StoredPlain {
  return { put: { kind: 'copy', width, type }, get: { kind: 'copy', width, type } };
}

const TEXT: Pick<StoredPlain, 'get'> & { type: DataType } = { type: new Utf8(), get: { kind: 'bytes', isText: true } };
const BYTES: Pick<StoredPlain, 'get'> & { type: DataType } = {
  type: new Binary(),
  get: { kind: 'bytes', isText: false },
};

function storedPlain(field: Field): StoredPlain {
  const { metadata } = field;
  const type = typeOf(field);
  if (DataType.isNull(type)) return { ...TEXT, put: { kind: 'null' } };
  if (DataType.isBool(type)) return { put: { kind: 'bits' }, get: { kind: 'bits' } };
  if (DataType.isInt(type)) return same(type.bitWidth / 8, INTEGERS[`${type.isSigned}${type.bitWidth}`] ?? 'BIGINT');
  if (DataType.isFloat(type)) return storedFloat(type.precision);
  if (DataType.isUtf8(type)) return { get: TEXT.get, put: { kind: 'bytes', isWide: false, isText: true } };
  if (DataType.isLargeUtf8(type)) return { ...TEXT, put: { kind: 'bytes', isWide: true, isText: true } };
  if (DataType.isUtf8View(type)) return { ...TEXT, put: { kind: 'views', isText: true } };
  if (DataType.isBinary(type)) return { get: BYTES.get, put: { kind: 'bytes', isWide: false, isText: false } };
  if (DataType.isLargeBinary(type)) return { ...BYTES, put: { kind: 'bytes', isWide: true, isText: false } };
  if (DataType.isBinaryView(type)) return { ...BYTES, put: { kind: 'views', isText: false } };
  if (DataType.isFixedSizeBinary(type)) {
    const isUuid = type.byteWidth === 16 && metadata.get('ARROW:extension:name') === 'arrow.uuid';
    if (isUuid) return { put: { kind: 'uuid' }, get: { kind: 'uuid' } };
    return { ...BYTES, put: { kind: 'fixed_bytes', width: type.byteWidth } };
  }
  if (DataType.isDecimal(type)) return storedDecimal(type, metadata.get(TYPE_METADATA_KEY) === 'LONG128');
  if (DataType.isDuration(type)) return same(8, 'BIGINT');
  if (DataType.isInterval(type)) {
    const unit = INTERVALS[type.unit];
    return { put: { kind: 'interval', unit }, get: { kind: 'interval', unit } };
  }
  return storedTime(type);
}

const INTEGERS: Readonly<Record<string, FixedType>> = {
  true8: 'TINYINT',
  true16: 'SMALLINT',
  true32: 'INTEGER',
  true64: 'BIGINT',
  false8: 'UTINYINT',
  false16: 'USMALLINT',
  false32: 'UINTEGER',
  false64: 'UBIGINT',
};

const INTERVALS: Readonly<Record<ArrowIntervalUnit, IntervalUnit>> = {
  [ArrowIntervalUnit.YEAR_MONTH]: 'months',
  [ArrowIntervalUnit.DAY_TIME]: 'days_millis',
  [ArrowIntervalUnit.MONTH_DAY_NANO]: 'months_days_nanos',
};

function storedFloat(precision: Precision): StoredPlain {
  if (precision === Precision.DOUBLE) return same(8, 'DOUBLE');
  const single = same(4, 'FLOAT');
  return precision === Precision.SINGLE ? single : { ...single, type: new Float32(), put: { kind: 'half' } };
}

/** DuckDB decimals have at most 38 digits and a scale from 0 to 38; other decimals are stored as text. */
function storedDecimal({ precision, scale, bitWidth }: Decimal, isWhole: boolean): StoredPlain {
  const width = bitWidth / 8;
  const stored = bitWidth < 128 ? { type: new Decimal(scale, precision, 128) } : {};
  if (!isWhole && bitWidth <= 128 && precision > 0 && precision <= MAX_PRECISION && scale >= 0 && scale <= precision) {
    return { ...stored, put: { kind: 'decimal', width, precision, scale }, get: { kind: 'decimal', precision, scale } };
  }
  return {
    ...stored,
    put: { kind: 'digits', width, scale: isWhole ? 0 : scale },
    get: { kind: 'digits', width: Math.max(width, 16) },
  };
}

const MAX_PRECISION = 38;

/** Times, dates and timestamps: in microseconds or finer. */
function storedTime(type: DataType): StoredPlain {
  if (DataType.isDate(type)) {
    const day = same(4, 'DATE');
    return type.unit === DateUnit.DAY ? day : { ...day, type: new DateDay(), put: { kind: 'days' } };
  }
  if (DataType.isTime(type)) {
    if (type.unit === TimeUnit.NANOSECOND) return same(8, 'BIGINT');
    const micros = same(8, 'TIME');
    if (type.unit === TimeUnit.MICROSECOND) return micros;
    const factor = MICROS[type.unit];
    return { ...micros, type: new TimeMicrosecond(), put: { kind: 'scale', width: 4, factor, type: 'TIME' } };
  }
  if (DataType.isTimestamp(type)) {
    const { unit, timezone } = type;
    if (unit === TimeUnit.NANOSECOND) return same(8, 'TIMESTAMP_NS');
    const stored = timezone ? 'TIMESTAMP_TZ' : 'TIMESTAMP';
    const micros = same(8, stored);
    if (unit === TimeUnit.MICROSECOND) return micros;
    const put: PutPlan = { kind: 'scale', width: 8, factor: MICROS[unit], type: stored };
    return { ...micros, type: new Timestamp(TimeUnit.MICROSECOND, timezone), put };
  }
  throw new Error('A column of this type cannot be stored.');
}

const MICROS: Readonly<Record<TimeUnit, number>> = {
  [TimeUnit.SECOND]: 1_000_000,
  [TimeUnit.MILLISECOND]: 1000,
  [TimeUnit.MICROSECOND]: 1,
  [TimeUnit.NANOSECOND]: 0,
};

/** Stores the values instead of the indices. The metadata remembers a dictionary of text. */
function storedDictionary(
  field: Field,
  values: DataType,
  indices: { bitWidth: number; isSigned: boolean },
): StoredColumn {
  const stored = storedColumn(withType(field, values));
  const isText = DataType.isUtf8(stored.field.type);
  const metadata = isText ? new Map([...field.metadata, [TYPE_METADATA_KEY, 'SYMBOL']]) : field.metadata;
  return {
    field: new Field(field.name, stored.field.type, field.nullable, metadata),
    put: { kind: 'dictionary', width: indices.bitWidth / 8, isSigned: indices.isSigned, values: stored.put },
    get: stored.get,
  };
}

function storedList(field: Field): StoredColumn {
  const type = typeOf(field);
  const [child = NO_FIELD] = childrenOf(field);
  const item = storedColumn(child);
  const put: PutPlan = DataType.isFixedSizeList(type)
    ? { kind: 'fixed_list', size: type.listSize, item: item.put }
    : { kind: 'list', isWide: DataType.isLargeList(type), isMap: false, item: item.put };
  return { field: withType(field, new List(item.field)), put, get: { kind: 'list', isMap: false, item: item.get } };
}

const NO_FIELD = new Field('item', new Utf8(), true);

function storedMap(field: Field, type: Map_): StoredColumn {
  const [entries = NO_FIELD] = type.children as readonly Field[];
  const item = storedColumn(entries);
  return {
    field: withType(field, mapType(item.field, type.keysSorted)),
    put: { kind: 'list', isWide: false, isMap: true, item: item.put },
    get: { kind: 'list', isMap: true, item: item.get },
  };
}

function storedStruct(field: Field, children: readonly Field[]): StoredColumn {
  // DuckDB has no struct without fields.
  if (children.length === 0) return { field, put: { kind: 'empty_struct' }, get: { kind: 'empty_struct' } };
  const fields = children.map((child) => storedColumn(child));
  return {
    field: withType(field, new Struct(fields.map((child) => child.field))),
    put: { kind: 'struct', names: uniqueNames(children.map(({ name }) => name)), fields: fields.map(({ put }) => put) },
    get: { kind: 'struct', fields: fields.map(({ get }) => get) },
  };
}

/** Creates the type of a map without sorted keys, as DuckDB has it. Keys are never null. */
export function mapOf(key: Field, value: Field): DataType {
  const fields = [
    new Field('key', typeOf(key), false, key.metadata),
    new Field('value', typeOf(value), true, value.metadata),
  ];
  return mapType(new Field('entries', new Struct(fields), false), false);
}

/** Creates the type of a map from the field of its entries, a struct of a key and a value. */
export function mapType(entries: Field, keysSorted: boolean): DataType {
  const pair = new Struct<{ key: DataType; value: DataType }>(childrenOf(entries).map(typedField));
  return new Map_(new Field(entries.name, pair, entries.nullable, entries.metadata), keysSorted);
}

function typedField(field: Field): Field<DataType> {
  return new Field(field.name, typeOf(field), field.nullable, field.metadata);
}

/** The key-value metadata of a Parquet file written by this store. */
export const METADATA_KEYS = {
  /** The schema of the frame: a base64-encoded Arrow schema message. */
  schema: 'svc:schema',
  rows: 'svc:rows',
  /** The size of the rows as Arrow, in bytes. */
  arrowBytes: 'svc:arrow_bytes',
} as const;

/** Encodes a schema as text. */
export function schemaText(schema: Schema): string {
  const { buffer, byteOffset, byteLength } = encodeArrowSchema(schema).header;
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/** Parses the text of a schema. The text is untrusted; throws if it is invalid. */
export function schemaFromText(text: string): Schema {
  return schemaFromUpload(Buffer.from(text, 'base64'));
}

/** Returns the columns in the Parquet files of a frame of this schema, for readers other than DuckDB. */
export function fileSchema(schema: Schema): Schema {
  if (schema.fields.length === 0) return new Schema([new Field(NO_COLUMNS_NAME, new Bool(), true)]);
  const names = fileNames(schema);
  return new Schema(schema.fields.map((field, i) => fileField(field, names[i] ?? '')));
}

/** Returns the columns of a foreign file or of its copy. */
export function foreignSchema({ schema, foreignColumns }: ForeignInfo): Schema {
  const fields = schema.fields.map((field, i) => {
    const { name = field.name } = foreignColumns?.[i] ?? {};
    return new Field(name, typeOf(field), true, field.metadata);
  });
  return new Schema(fields);
}

interface ForeignInfo {
  readonly schema: Schema;
  readonly foreignColumns?: readonly { readonly name: string }[];
}

/** Returns the field in the file. Every column is nullable there. */
export function fileField(field: Field, name: string): Field {
  return new Field(name, fileType(field), true, field.metadata);
}

function fileType(field: Field): DataType {
  const { field: stored, get } = storedColumn(field);
  const type = typeOf(stored);
  if (get.kind === 'digits') return new Utf8();
  if (get.kind === 'interval') return INTERVAL;
  if (get.kind === 'empty_struct') return new Bool();
  if (DataType.isDuration(type)) return new Int64();
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) return new Int64();
  const children = childrenOf(stored);
  const names = uniqueNames(children.map((child) => child.name));
  const fields = children.map((child, i) => fileField(child, names[i] ?? ''));
  const [first = new Field('item', new Utf8(), true)] = fields;
  if (DataType.isStruct(type)) return new Struct(fields);
  if (DataType.isMap(type)) return mapType(first, type.keysSorted);
  if (DataType.isList(type)) return new List(first);
  return type;
}

/** Intervals of all units. */
const INTERVAL = new Struct([
  new Field('months', new Int32(), true),
  new Field('days', new Int32(), true),
  new Field('nanos', new Int64(), true),
]);
