import { EXTENSION_METADATA_KEY, type FlatTable, SLOT, UUID_EXTENSION } from '@svc/arrow';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  Binary,
  BinaryView,
  Bool,
  DataType,
  Date_,
  DateUnit,
  Decimal,
  Dictionary,
  Duration,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float,
  Int,
  Int32,
  Interval,
  LargeBinary,
  LargeList,
  LargeUtf8,
  List,
  Map_,
  MessageHeader,
  Null,
  Schema,
  Struct,
  Time,
  Timestamp,
  TimeUnit,
  Type,
  Union,
  Utf8,
  Utf8View,
} from 'apache-arrow';
import { childrenOf, columnInfo, columnTypeName, typeOf, valueTypeOf } from '../../column-types.ts';
import { distinctNames } from '../../sql-names.ts';
import { MAX_COLUMNS, MAX_DEPTH } from '../limits.ts';
import { childrenByTypeId, isUnion, unionsAsStructs } from '../unions.ts';
import { readFlatbuffer } from './flatbuffer.ts';

const SCHEMA = 'The Arrow schema';
const FOOTER = 'The footer of the Arrow file';

/** Reads the schema of an untrusted schema message. It is checked before any other code reads it. */
export function schemaFromUpload(message: Uint8Array): Schema {
  return checkedSchema(uncheckedSchemaFromUpload(message));
}

/**
 * Reads the schema of a query result from an untrusted message. Unlike a frame, a result can have several columns of one
 * name: the later ones get a number.
 */
export function schemaFromResult(message: Uint8Array): Schema {
  const schema = uncheckedSchemaFromUpload(message);
  const names = distinctNames(schema.fields.map(({ name }) => name));
  const fields = schema.fields.map((field, i) => field.clone({ name: names[i] ?? field.name }));
  return checkedSchema(new Schema(fields, schema.metadata, schema.dictionaries));
}

/** Reads the same, but allows unsupported or malformed column types: only for inspection, not for storage. */
export function uncheckedSchemaFromUpload(message: Uint8Array): Schema {
  readFlatbuffer(message, SCHEMA, (root) => checkSchemaTable(root.table(SLOT.message.header)));
  return decodeSchema(message);
}

/** Returns the bytes of the names and metadata in a schema message. */
export function schemaTextBytes(message: Uint8Array): number {
  return readFlatbuffer(message, SCHEMA, (root) => checkSchemaTable(root.table(SLOT.message.header), true));
}

/** Reads the schema of the parameters of a statement from an untrusted message. Unlike a frame, it can have unions. */
export function schemaFromParameters(message: Uint8Array): Schema {
  readFlatbuffer(message, SCHEMA, (root) => checkSchemaTable(root.table(SLOT.message.header), true));
  const schema = decodeSchema(message);
  for (const field of schema.fields.filter(isUnion)) childrenByTypeId(field);
  checkedSchema(unionsAsStructs(schema));
  return schema;
}

/** Reads the schema in the footer of an untrusted Arrow file. */
export function schemaFromFooter(footer: Uint8Array): Schema {
  readFlatbuffer(footer, FOOTER, (root) => checkSchemaTable(root.table(SLOT.footer.schema)));
  return checkedSchema(readFlatbuffer(footer, FOOTER, (root) => frameSchema(root.table(SLOT.footer.schema))));
}

/** Reads the schema of a schema message that was already checked. */
export function decodeSchema(message: Uint8Array): Schema {
  return readFlatbuffer(message, SCHEMA, (root) => {
    if (root.byte(SLOT.message.headerType) !== MessageHeader.Schema.valueOf()) {
      throw new TypeError('The message is not a schema.');
    }
    return frameSchema(root.table(SLOT.message.header));
  });
}

function frameSchema(table: FlatTable | undefined): Schema {
  const schema = schemaFromTable(table);
  dropResultMetadata(schema);
  return schema;
}

function checkedSchema(schema: Schema): Schema {
  checkNames(schema.fields);
  for (const field of schema.fields) {
    columnInfo(field);
    checkFieldType(field);
  }
  return schema;
}

/** The prefix of the field metadata Flight SQL adds to the columns of results. */
const RESULT_METADATA = 'ARROW:FLIGHT:SQL:';

/** Drops what is known of the columns of a result: it is not true of the frame the result is put as. */
function dropResultMetadata({ fields }: Schema): void {
  for (const { metadata } of fields) {
    if (metadata.size === 0) continue;
    for (const key of [...metadata.keys()].filter((name) => name.startsWith(RESULT_METADATA))) metadata.delete(key);
  }
}

function checkNames(fields: readonly Field[], parent?: string): void {
  const names = new Set<string>();
  for (const field of fields) {
    const { name } = field;
    if (names.has(name)) {
      const where = parent === undefined ? 'Two columns' : `Two fields of ${quoted(parent)}`;
      throw new ServiceError('invalid_data', `${where} have the name ${quoted(name)}.`, {
        hint: 'Give each a unique name.',
      });
    }
    names.add(name);
    checkNames(childrenOf(field), name);
  }
}

/** The maximum size of names and metadata in a schema: the entries of a flatbuffer may all point to one long text. */
const MAX_TEXT_BYTES = 1 << 26;

/** Type numbers of the format. */
const TYPE = {
  none: 0,
  timestamp: 10,
  list: 12,
  struct: 13,
  union: 14,
  fixedSizeList: 16,
  map: 17,
  largeList: 21,
} as const;

const LIST_TYPES: ReadonlySet<number> = new Set([TYPE.list, TYPE.fixedSizeList, TYPE.map, TYPE.largeList]);

/** Types of the format that are not supported, and the type to cast them to. */
const REFUSED_TYPES: ReadonlyMap<number, { readonly name: string; readonly cast: string }> = new Map([
  [TYPE.union, { name: 'union', cast: 'a struct with a field for each of its types, or to utf8' }],
  [22, { name: 'run-end encoded', cast: 'the type of its values' }],
  [25, { name: 'list view', cast: 'list' }],
  [26, { name: 'large list view', cast: 'large list' }],
]);

const LAST_TYPE = 26;

interface Tally {
  /** True if a column may be a union. */
  readonly unions: boolean;
  columns: number;
  textBytes: number;
}

/**
 * Checks the flatbuffer of a schema before `schemaFromTable` reads it: that it is complete, within the limits, and uses
 * only supported types. `unions`: true if a column may be a union. Returns the bytes of its names and metadata.
 */
function checkSchemaTable(schema: FlatTable | undefined, unions = false): number {
  if (schema === undefined) throw new RangeError('There is no schema.');
  if (schema.short(SLOT.schema.endianness) !== 0) {
    throw new ServiceError('invalid_data', 'The Arrow data is big-endian.', {
      hint: 'Write the data in little-endian byte order.',
    });
  }
  const tally = { unions, columns: 0, textBytes: 0 };
  checkMetadata(schema, SLOT.schema.metadata, tally);
  for (const column of fieldsOf(schema, SLOT.schema.fields, tally, 1)) checkField(column, column, tally, 1);
  return tally.textBytes;
}

function fieldsOf(parent: FlatTable, slot: number, tally: Tally, depth: number): readonly FlatTable[] {
  const count = parent.count(slot, 4);
  if (count === 0) return [];
  tally.columns += count;
  if (tally.columns > MAX_COLUMNS) {
    throw new ServiceError('invalid_data', `The frame has more than ${MAX_COLUMNS} columns, including nested ones.`, {
      hint: 'Split the frame, or reshape it to a long format.',
    });
  }
  if (depth > MAX_DEPTH + 1) {
    throw new ServiceError('invalid_data', `The columns are nested more than ${MAX_DEPTH} deep.`, {
      hint: 'Flatten the nested columns.',
    });
  }
  return parent.tables(slot);
}

function checkField(field: FlatTable, column: FlatTable, tally: Tally, depth: number): void {
  addText(field, SLOT.field.name, tally);
  checkMetadata(field, SLOT.field.metadata, tally);
  const number = field.byte(SLOT.field.typeNumber);
  const type = field.table(SLOT.field.type);
  if (type === undefined || number === TYPE.none) throw new RangeError('A field has no type.');
  const isAllowed = number === TYPE.union && tally.unions && depth === 1;
  if ((REFUSED_TYPES.has(number) && !isAllowed) || number > LAST_TYPE) throw notSupported(column, number, depth);
  // Throws if the vector is incomplete.
  if (isAllowed) type.count(SLOT.union.typeIds, 4);
  if (number === TYPE.timestamp) addText(type, SLOT.timestamp.zone, tally);
  // Throws if the table of a dictionary or its index is incomplete.
  field.table(SLOT.field.dictionary)?.table(SLOT.dictionaryEncoding.indexType);
  const children = fieldsOf(field, SLOT.field.children, tally, depth + 1);
  if (LIST_TYPES.has(number) && children.length !== 1) throw new RangeError('A list does not have one child.');
  if (number === TYPE.map && !isPair(children[0])) throw new RangeError('A map does not consist of pairs.');
  for (const child of children) checkField(child, column, tally, depth + 1);
}

function isPair(entries: FlatTable): boolean {
  return entries.byte(SLOT.field.typeNumber) === TYPE.struct && entries.count(SLOT.field.children, 4) === 2;
}

function checkMetadata(parent: FlatTable, slot: number, tally: Tally): void {
  if (parent.count(slot, 4) > MAX_COLUMNS) throw new RangeError('There are too many metadata entries.');
  for (const entry of parent.tables(slot)) {
    addText(entry, SLOT.keyValue.key, tally);
    addText(entry, SLOT.keyValue.value, tally);
  }
}

function addText(table: FlatTable, slot: number, tally: Tally): void {
  tally.textBytes += table.count(slot, 1);
  if (tally.textBytes > MAX_TEXT_BYTES) throw new RangeError('The names and metadata are too long.');
}

function notSupported(column: FlatTable, number: number, depth: number): ServiceError {
  const refused = REFUSED_TYPES.get(number);
  const type = refused ? `the Arrow type ${refused.name}` : `the unknown Arrow type ${number}`;
  const name = quoted(column.text(SLOT.field.name));
  return new ServiceError(
    'invalid_data',
    `Column ${name} ${depth === 1 ? 'has' : 'contains'} ${type}, which this server does not support.`,
    { hint: `Cast it to ${refused?.cast ?? 'a type such as int64, float64 or utf8'}.` },
  );
}

/**
 * Returns the schema in a table of a flatbuffer. apache-arrow takes four times as long. It also drops a U+FEFF at the start of
 * a text, so two names can become one, and reads empty texts that some writers omit as null.
 */
function schemaFromTable(table: FlatTable | undefined): Schema {
  if (table === undefined) throw new RangeError('There is no schema.');
  const dictionaries: Dictionaries = new Map();
  const fields = table.tables(SLOT.schema.fields).map((field) => fieldFrom(field, dictionaries));
  return new Schema(fields, metadataFrom(table, SLOT.schema.metadata), dictionaries);
}

/** The types of the values of dictionaries, by their ids. Columns that share a dictionary have the type of the first. */
type Dictionaries = Map<number, DataType>;

function fieldFrom(table: FlatTable, dictionaries: Dictionaries): Field {
  const type = encodedType(table, dictionaries) ?? typeFrom(table, dictionaries);
  const metadata = metadataFrom(table, SLOT.field.metadata);
  return new Field(table.text(SLOT.field.name), type, table.byte(SLOT.field.nullable) !== 0, metadata);
}

/** Returns the type of a field with a dictionary; undefined if it has none. */
function encodedType(table: FlatTable, dictionaries: Dictionaries): DataType | undefined {
  const encoding = table.table(SLOT.field.dictionary);
  if (encoding === undefined) return undefined;
  const id = encoding.size(SLOT.dictionaryEncoding.id);
  const values = dictionaries.get(id) ?? typeFrom(table, dictionaries);
  dictionaries.set(id, values);
  const index = encoding.table(SLOT.dictionaryEncoding.indexType);
  const indices = index === undefined ? new Int32() : intFrom(index);
  return new Dictionary(values, indices, id, encoding.byte(SLOT.dictionaryEncoding.isOrdered) !== 0);
}

function metadataFrom(table: FlatTable, slot: number): Map<string, string> {
  const metadata = new Map<string, string>();
  for (const entry of table.tables(slot)) {
    metadata.set(entry.text(SLOT.keyValue.key), entry.text(SLOT.keyValue.value));
  }
  return metadata;
}

/** What the format declares as a type or a number of it. An unknown one is refused later, by `checkFieldType`. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters, typescript/no-unsafe-type-assertion -- See above.
const unchecked = <Known>(value: unknown): Known => value as Known;

/** The first number of a type; `missing` is the default of the format. */
const first = <Known extends number>(table: FlatTable, missing?: Known): Known =>
  unchecked(table.short(SLOT.type.value, missing));

function intFrom(table: FlatTable): Int32 {
  const isSigned = table.byte(SLOT.int.isSigned) !== 0;
  return unchecked(new Int(unchecked(isSigned), unchecked(table.int(SLOT.int.bits))));
}

/** The types by their numbers in the format. */
const TYPES: Readonly<Record<number, (table: FlatTable, children: readonly Field[]) => DataType>> = {
  [Type.Null]: () => new Null(),
  [Type.Int]: intFrom,
  [Type.Float]: (table) => new Float(first(table)),
  [Type.Binary]: () => new Binary(),
  [Type.Utf8]: () => new Utf8(),
  [Type.Bool]: () => new Bool(),
  [Type.Decimal]: (table) =>
    new Decimal(table.int(SLOT.decimal.scale), table.int(SLOT.decimal.precision), table.int(SLOT.decimal.bits, 128)),
  [Type.Date]: (table) => new Date_(first(table, DateUnit.MILLISECOND)),
  [Type.Time]: (table) => new Time(first(table, TimeUnit.MILLISECOND), unchecked(table.int(SLOT.time.bits, 32))),
  [Type.Timestamp]: (table) => new Timestamp(first(table), table.text(SLOT.timestamp.zone) || null),
  [Type.Interval]: (table) => new Interval(first(table)),
  [Type.List]: (_, [child]) => new List(child),
  [Type.Struct]: (_, children) => new Struct([...children]),
  [Type.Union]: (table, children) => new Union(first(table), [...table.ints(SLOT.union.typeIds)], [...children]),
  [Type.FixedSizeBinary]: (table) => new FixedSizeBinary(table.int(SLOT.type.value)),
  [Type.FixedSizeList]: (table, [child]) => new FixedSizeList(table.int(SLOT.type.value), child),
  [Type.Map]: (table, [entries]) => mapFrom(entries, table.byte(SLOT.type.value) !== 0),
  [Type.Duration]: (table) => new Duration(first(table, TimeUnit.MILLISECOND)),
  [Type.LargeBinary]: () => new LargeBinary(),
  [Type.LargeUtf8]: () => new LargeUtf8(),
  [Type.LargeList]: (_, [child]) => new LargeList(child),
  [Type.BinaryView]: () => new BinaryView(),
  [Type.Utf8View]: () => new Utf8View(),
};

function typeFrom(field: FlatTable, dictionaries: Dictionaries): DataType {
  const number = field.byte(SLOT.field.typeNumber);
  const read = TYPES[number];
  const table = field.table(SLOT.field.type);
  if (read === undefined || table === undefined) throw new RangeError(`The type ${number} is unknown.`);
  return read(
    table,
    field.tables(SLOT.field.children).map((child) => fieldFrom(child, dictionaries)),
  );
}

/** The entries of a map and their keys are never null. */
function mapFrom(entries: Field, keysSorted: boolean): Map_ {
  const [key, value] = childrenOf(entries);
  const pair = new Struct<{ key: DataType; value: DataType }>([
    withNulls(key, false),
    withNulls(value, value.nullable),
  ]);
  return new Map_(new Field(entries.name, pair, false, entries.metadata), keysSorted);
}

function withNulls(field: Field, nullable: boolean): Field<DataType> {
  return new Field(field.name, typeOf(field), nullable, field.metadata);
}

/** The maximum digits of a decimal, by its bits. */
const MAX_PRECISIONS: Readonly<Record<number, number>> = { 32: 9, 64: 18, 128: 38, 256: 76 };

/** The maximum digits after the decimal point, or zeros before it. */
const MAX_SCALE = 76;

/** A problem of a type, and the hint. */
interface TypeFault {
  readonly what: string;
  readonly hint: string;
}

/** Refuses invalid parameters of a type, and fixed-size binary of 0 bytes. */
function checkFieldType(column: Field, field: Field = column): void {
  const fault = faultOfField(field);
  if (fault !== undefined) {
    const message = `Column ${quoted(column.name)} has a malformed Arrow type: ${fault.what}.`;
    throw new ServiceError('invalid_data', message, { hint: fault.hint });
  }
  const type = typeOf(field);
  const valueType = DataType.isDictionary(type) ? valueTypeOf(type) : type;
  if (DataType.isFixedSizeBinary(valueType) && valueType.byteWidth === 0) {
    const name = `${quoted(column.name)} ${type === column.type ? 'has' : 'contains'}`;
    const message = `Column ${name} the Arrow type fixed-size binary of 0 bytes, which this server does not support.`;
    throw new ServiceError('invalid_data', message, { hint: 'Cast it to binary.' });
  }
  for (const child of childrenOf(field)) checkFieldType(column, child);
}

function faultOfField(field: Field): TypeFault | undefined {
  const { metadata } = field;
  const type = typeOf(field);
  if (!DataType.isDictionary(type)) return faultOfType(type, metadata);
  const { bitWidth } = type.indices;
  if (![8, 16, 32, 64].includes(bitWidth)) {
    return {
      what: `the index of a dictionary has ${bitWidth} bits`,
      hint: 'Write the index as an integer of 8, 16, 32 or 64 bits.',
    };
  }
  return faultOfType(valueTypeOf(type), metadata);
}

function faultOfType(type: DataType, metadata: Field['metadata']): TypeFault | undefined {
  const isBytes = DataType.isFixedSizeBinary(type);
  if (metadata.get(EXTENSION_METADATA_KEY) === UUID_EXTENSION && !(isBytes && type.byteWidth === 16)) {
    const found = isBytes ? `of ${type.byteWidth}` : columnTypeName(new Field('', type));
    return {
      what: `a UUID is a fixed-size binary of 16 bytes, not ${found}`,
      hint: `Cast the column to fixed-size binary of 16 bytes, or remove "${UUID_EXTENSION}" from its metadata.`,
    };
  }
  if (isBytes && type.byteWidth < 0) {
    return {
      what: `a fixed-size binary has ${type.byteWidth} bytes`,
      hint: 'Give it a width of at least 1 byte, or write it as binary.',
    };
  }
  if (DataType.isFixedSizeList(type) && type.listSize < 0) {
    return {
      what: `a fixed-size list has ${type.listSize} items`,
      hint: 'Give it a size of at least 0, or write it as list.',
    };
  }
  if (DataType.isDecimal(type)) return faultOfDecimal(type);
  return DataType.isTime(type) ? faultOfTime(type) : faultOfUnit(type);
}

function faultOfUnit(type: DataType): TypeFault | undefined {
  if (DataType.isFloat(type) && ![0, 1, 2].includes(type.precision)) {
    return { what: 'a float of unknown precision', hint: 'Write it as float16, float32 or float64.' };
  }
  if (DataType.isDate(type) && ![0, 1].includes(type.unit)) {
    return { what: 'a date of an unknown unit', hint: 'Write it as date32 (days) or date64 (milliseconds).' };
  }
  if (DataType.isInterval(type) && ![0, 1, 2].includes(type.unit)) {
    return {
      what: 'an interval of an unknown unit',
      hint: 'Write it as months, as days and milliseconds, or as months, days and nanoseconds.',
    };
  }
  if ((DataType.isTimestamp(type) || DataType.isDuration(type)) && ![0, 1, 2, 3].includes(type.unit)) {
    return {
      what: 'a timestamp or duration of an unknown unit',
      hint: 'Write it in seconds, milliseconds, microseconds or nanoseconds.',
    };
  }
  return undefined;
}

function faultOfDecimal({ bitWidth, precision, scale }: Decimal): TypeFault | undefined {
  const digits = MAX_PRECISIONS[bitWidth];
  if (digits === undefined) {
    return {
      what: `a decimal has ${bitWidth} bits`,
      hint: `Write it as a decimal of ${Object.keys(MAX_PRECISIONS).join(', ')} bits.`,
    };
  }
  if (!(precision >= 1 && precision <= digits)) {
    return {
      what: `a decimal of ${bitWidth} bits has 1 to ${digits} digits, not ${precision}`,
      hint: precision > digits ? 'Write it as a decimal of more bits or fewer digits.' : 'Give it at least 1 digit.',
    };
  }
  if (Math.abs(scale) <= MAX_SCALE) return undefined;
  return {
    what: `a decimal has a scale of -${MAX_SCALE} to ${MAX_SCALE}, not ${scale}`,
    hint: 'Cast the column to a decimal with another scale, or to float64.',
  };
}

/** The seconds and milliseconds of a day fit in 32 bits; smaller units do not. */
function faultOfTime({ bitWidth, unit }: Time): TypeFault | undefined {
  const units = bitWidth === 32 ? [0, 1] : bitWidth === 64 ? [2, 3] : [];
  if (units.includes(unit)) return undefined;
  return {
    what: `a time of ${bitWidth} bits has the unit ${unit}`,
    hint: 'Write seconds and milliseconds (units 0 and 1) as time32, microseconds and nanoseconds (2 and 3) as time64.',
  };
}
