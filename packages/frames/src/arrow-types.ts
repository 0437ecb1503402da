import { DataType, type Field } from 'apache-arrow';

// apache-arrow declares the type of a field, and the value type of a dictionary, as `any`. These functions return them
// with their types.

/** Returns the type of a field. */
export function typeOf({ type }: { readonly type: DataType }): DataType {
  return type;
}

/** Returns the fields inside a field. */
export function childrenOf({ type }: { readonly type: DataType }): readonly Field[] {
  // Types that are not nested have null.
  return type.children ?? [];
}

/** Returns the fields of the keys and of the values of a map. */
export function keyAndValueOf(map: { readonly type: DataType }): readonly [key: Field, value: Field] {
  const [key, value] = childrenOf(map).flatMap(childrenOf);
  if (key === undefined || value === undefined) throw new TypeError('The field is not a map.');
  return [key, value];
}

/** Returns the type of the values of a dictionary. */
export function valueTypeOf({ dictionary }: { readonly dictionary: DataType }): DataType {
  return dictionary;
}

/** Whether the values of a field, or some inside them, are in a dictionary. */
export function hasDictionary(field: { readonly type: DataType }): boolean {
  return DataType.isDictionary(typeOf(field)) || childrenOf(field).some(hasDictionary);
}
