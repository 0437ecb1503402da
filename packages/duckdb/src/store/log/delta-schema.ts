import { createYield } from '@svc/frames/async';
import { childrenOf, keyAndValueOf, typeOf } from '@svc/frames/columns';
import { DataType, DateUnit, type Field, Precision, type Schema, TimeUnit } from 'apache-arrow';
import { fileField, fileSchema } from '../../types/stored-types.ts';
import { fileNames } from '../../wire/sql-names.ts';

/** A type of Delta Lake, as its protocol writes it. */
type DeltaType =
  | string
  | { readonly type: 'array'; readonly elementType: DeltaType; readonly containsNull: true }
  | {
      readonly type: 'map';
      readonly keyType: DeltaType;
      readonly valueType: DeltaType;
      readonly valueContainsNull: true;
    }
  | DeltaStruct;

/** The columns of a table. */
export interface DeltaStruct {
  readonly type: 'struct';
  readonly fields: readonly DeltaField[];
}

interface DeltaField {
  readonly name: string;
  readonly type: DeltaType;
  readonly nullable: true;
  readonly metadata: Readonly<Record<string, never>>;
}

/**
 * Returns the columns of a frame's files for readers of Delta Lake. A column whose type Delta does not have is left out, with
 * all that is around it: times, nanoseconds, UUIDs and unsigned 64-bit numbers. Such readers see the others. If there are none,
 * the table has no columns, and they refuse to scan it.
 */
export function deltaSchema(schema: Schema): DeltaStruct {
  return structOf(fileSchema(schema).fields);
}

/** Returns the same without keeping the event loop for long. */
export async function deltaColumns(schema: Schema): Promise<DeltaStruct> {
  const { fields } = schema;
  if (fields.length <= FIELDS_AT_ONCE) return deltaSchema(schema);
  const pause = createYield();
  const names = fileNames(schema);
  const known: DeltaField[] = [];
  for (let at = 0; at < fields.length; at += FIELDS_AT_ONCE) {
    await pause();
    const some = fields.slice(at, at + FIELDS_AT_ONCE).map((field, i) => fileField(field, names[at + i] ?? ''));
    known.push(...structOf(some).fields);
  }
  await pause();
  return { type: 'struct', fields: known };
}

const FIELDS_AT_ONCE = 200;

function structOf(fields: readonly Field[]): DeltaStruct {
  const known = fields.flatMap((field): DeltaField[] => {
    const type = deltaType(field);
    return type === undefined ? [] : [{ name: field.name, type, nullable: true, metadata: {} }];
  });
  return { type: 'struct', fields: known };
}

function deltaType(field: Field): DeltaType | undefined {
  const type = typeOf(field);
  if (DataType.isMap(type)) return mapOf(field);
  const children = childrenOf(field);
  const [child] = children;
  if (DataType.isStruct(type)) {
    const struct = structOf(children);
    return struct.fields.length === children.length ? struct : undefined;
  }
  if (child === undefined) return plainType(type);
  const elementType = deltaType(child);
  return elementType && { type: 'array', elementType, containsNull: true };
}

/** True if a column has, or contains, timestamps without a zone. */
export function hasLocalTimes(type: DeltaType): boolean {
  if (typeof type === 'string') return type === 'timestamp_ntz';
  if (type.type === 'array') return hasLocalTimes(type.elementType);
  if (type.type === 'map') return hasLocalTimes(type.keyType) || hasLocalTimes(type.valueType);
  return type.fields.some((field) => hasLocalTimes(field.type));
}

function mapOf(field: Field): DeltaType | undefined {
  const [keyType, valueType] = keyAndValueOf(field).map(deltaType);
  if (keyType === undefined || valueType === undefined) return undefined;
  return { type: 'map', keyType, valueType, valueContainsNull: true };
}

/** Unsigned numbers are declared as the next wider type, in which readers return them. */
const INTEGERS: Readonly<Record<string, string>> = {
  true8: 'byte',
  true16: 'short',
  true32: 'integer',
  true64: 'long',
  false8: 'short',
  false16: 'integer',
  false32: 'long',
};

function plainType(type: DataType): DeltaType | undefined {
  if (DataType.isBool(type)) return 'boolean';
  if (DataType.isInt(type)) return INTEGERS[`${type.isSigned}${type.bitWidth}`];
  if (DataType.isFloat(type)) return type.precision === Precision.DOUBLE ? 'double' : 'float';
  if (DataType.isUtf8(type)) return 'string';
  if (DataType.isBinary(type)) return 'binary';
  if (DataType.isDecimal(type)) return `decimal(${type.precision},${type.scale})`;
  if (DataType.isDate(type) && type.unit === DateUnit.DAY) return 'date';
  // A zone is a matter of display: the values are moments.
  if (!DataType.isTimestamp(type) || type.unit !== TimeUnit.MICROSECOND) return undefined;
  return type.timezone ? 'timestamp' : 'timestamp_ntz';
}
