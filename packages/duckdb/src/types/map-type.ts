import { childrenOf, typeOf } from '@svc/frames/internal';
import { type DataType, Field, Map_, Struct } from 'apache-arrow';

/** Creates the type of a map from the field of its entries, a struct of a key and a value. */
export function mapType(entries: Field, keysSorted: boolean): DataType {
  const pair = new Struct<{ key: DataType; value: DataType }>(childrenOf(entries).map(typedField));
  return new Map_(new Field(entries.name, pair, entries.nullable, entries.metadata), keysSorted);
}

function typedField(field: Field): Field<DataType> {
  return new Field(field.name, typeOf(field), field.nullable, field.metadata);
}
