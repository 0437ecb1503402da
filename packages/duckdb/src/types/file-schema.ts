import { childrenOf, typeOf } from '@svc/frames/internal';
import { Bool, DataType, Field, Int32, Int64, List, Schema, Struct, TimeUnit, Utf8 } from 'apache-arrow';
import { fileNames, NO_COLUMNS_NAME, uniqueNames } from '../wire/sql-names.ts';
import { mapType } from './map-type.ts';
import { storedColumn } from './stored-types.ts';

/** Returns the columns of the Parquet files that hold a frame of this schema, for readers that are not DuckDB. */
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
function fileField(field: Field, name: string): Field {
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
