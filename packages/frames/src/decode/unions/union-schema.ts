import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { DataType, Field, Schema, Struct, type Union } from 'apache-arrow';
import { childrenOf, typeOf } from '../../arrow-types.ts';

/** Type ids have 7 bits. */
const MAX_TYPE_ID = 127;

/**
 * Returns the schema in which a decoder passes on unions: each is a struct with a field for each of its types, named by its
 * index. Of these, a row has a value in one, or in none if it is null.
 */
export function unionsAsStructs(schema: Schema): Schema {
  if (!schema.fields.some(isUnion)) return schema;
  return new Schema(schema.fields.map(unionAsStruct), schema.metadata, schema.dictionaries);
}

/** Returns the struct of a union; other fields stay as they are. */
export function unionAsStruct(field: Field): Field {
  if (!isUnion(field)) return field;
  const members = childrenOf(field).map((child, i) => child.clone({ name: `${i}`, nullable: true }));
  return new Field(field.name, new Struct(members), true, field.metadata);
}

/** Whether a field is a union. */
export function isUnion(field: Field): field is Field<Union> {
  return DataType.isUnion(typeOf(field));
}

/** Returns the index of the child of each type id. By default, the ids are these indices. */
export function childrenByTypeId({ name, type }: Field<Union>): ReadonlyMap<number, number> {
  const ids = type.typeIds.length === 0 ? childrenOf({ type }).map((_, i) => i) : [...type.typeIds];
  const children = new Map(ids.map((id, i) => [id, i]));
  const isValid = children.size === ids.length && ids.every((id) => id >= 0 && id <= MAX_TYPE_ID);
  if (isValid && ids.length === childrenOf({ type }).length) return children;
  throw new ServiceError(
    'invalid_data',
    `Column ${quoted(name)} has a malformed Arrow type: its union has the type ids ${ids.join(', ')}.`,
    {
      hint: `Give each type of the union an id of its own, from 0 to ${MAX_TYPE_ID}.`,
    },
  );
}
