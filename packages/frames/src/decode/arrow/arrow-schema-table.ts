import {
  Binary,
  BinaryView,
  Bool,
  type DataType,
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
import { childrenOf, typeOf } from '../../arrow-types.ts';
import { SLOT } from './arrow-slots.ts';
import type { FlatTable } from './flatbuffer.ts';

/**
 * Returns the schema in a table of a flatbuffer. apache-arrow takes four times as long. It also drops a U+FEFF at the start of
 * a text, so that two names can become one, and reads empty texts that some writers omit as null.
 */
export function schemaFromTable(table: FlatTable | undefined): Schema {
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
