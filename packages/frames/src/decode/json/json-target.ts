import { DataType, DateUnit, type Field, IntervalUnit, Precision, Schema } from 'apache-arrow';
import { childrenOf, keyAndValueOf, typeOf } from '../../arrow-types.ts';
import { type DeclaredColumn, declaredField } from '../../declared-columns.ts';
import type { DecodeOptions } from '../../encoding.ts';
import { encodeSchema } from '../arrow/arrow-schema-message.ts';
import { decodeSchema } from '../arrow/arrow-schema.ts';
import {
  type ColumnTarget,
  createJsonColumn,
  createJsonFields,
  type JsonColumn,
  type JsonFields,
} from './json-column.ts';
import type { JsonMemory } from './json-memory.ts';

/** The columns that rows must have. */
export interface JsonTarget {
  /** The names of all columns, in order. A key that is not among them is `invalid_data`. */
  readonly names: readonly string[];
  /** The columns whose type is known. The values determine the types of the others. */
  readonly fields: readonly Field[];
  /** Whether a STRING takes only strings; else it takes any value as its text. */
  readonly isStrict: boolean;
}

/** A target in the form that a worker gets. */
export interface TargetMessage {
  readonly names: readonly string[];
  /** A schema message. */
  readonly schema: Uint8Array;
  readonly isStrict: boolean;
}

/**
 * Creates the target of rows. Columns that are declared without a type have that of the frame. A type of the frame that
 * JSON has no form for is left open.
 */
export function targetMessage({ columns, addedTo }: DecodeOptions): TargetMessage | undefined {
  if (columns === undefined && addedTo === undefined) return undefined;
  const frame = new Map((addedTo?.fields ?? []).map((field) => [field.name, field]));
  const declared: readonly DeclaredColumn[] = columns ?? [...frame.keys()].map((name) => ({ name }));
  const fields = declared.flatMap(({ name, type }) => {
    const field = type !== undefined ? declaredField(name, type) : frame.get(name);
    return field && isReadable(typeOf(field)) ? [field] : [];
  });
  const names = declared.map(({ name }) => name);
  return { names, schema: encodeSchema(new Schema(fields)), isStrict: columns !== undefined };
}

/** Reads a target in a worker. */
export function targetFromMessage({ schema, ...target }: TargetMessage): JsonTarget {
  return { ...target, fields: decodeSchema(schema).fields };
}

/** Whether values of a type can be read from JSON. */
export function isReadable(type: DataType): boolean {
  if (DataType.isFloat(type)) return type.precision !== Precision.HALF;
  if (DataType.isDecimal(type)) return type.bitWidth === 128 || type.bitWidth === 256;
  if (DataType.isInterval(type)) return type.unit === IntervalUnit.MONTH_DAY_NANO;
  if (DataType.isDate(type)) return type.unit === DateUnit.DAY;
  if (isNested(type)) return childrenOf({ type }).every((child) => isReadable(typeOf(child)));
  return (
    DataType.isBool(type) ||
    DataType.isInt(type) ||
    DataType.isUtf8(type) ||
    DataType.isBinary(type) ||
    DataType.isFixedSizeBinary(type) ||
    DataType.isTimestamp(type) ||
    DataType.isTime(type) ||
    DataType.isDuration(type)
  );
}

function isNested(type: DataType): boolean {
  return DataType.isList(type) || DataType.isFixedSizeList(type) || DataType.isStruct(type) || DataType.isMap(type);
}

/** Creates the columns of rows: those of a target, which no others may join, or none yet. */
export function createRowFields(memory: JsonMemory, target?: JsonTarget): JsonFields {
  const fields = createJsonFields();
  if (target === undefined) return fields;
  const byName = new Map(target.fields.map((field) => [field.name, field]));
  for (const name of target.names) {
    const field = byName.get(name);
    addColumn(fields, field ? createTypedColumn(field, memory, target.isStrict) : createJsonColumn(name, memory));
  }
  fields.isClosed = true;
  return fields;
}

function addColumn(fields: JsonFields, column: JsonColumn): void {
  fields.list.push(column);
  fields.byName.set(column.name, column);
}

/** Creates a column for values of a type, with the columns inside it. */
function createTypedColumn(field: Field, memory: JsonMemory, isStrict: boolean): JsonColumn {
  const type = typeOf(field);
  const column = createJsonColumn(field.name, memory, targetOf(field, isStrict));
  if (DataType.isMap(type)) {
    for (const inner of keyAndValueOf({ type })) addColumn(column.fields, createTypedColumn(inner, memory, isStrict));
  } else if (DataType.isStruct(type)) {
    for (const inner of childrenOf({ type })) addColumn(column.fields, createTypedColumn(inner, memory, isStrict));
    column.fields.isClosed = true;
  } else if (isNested(type)) {
    const [item] = childrenOf({ type });
    column.items = createTypedColumn(item, memory, isStrict);
  }
  return column;
}

function targetOf(field: Field, isStrict: boolean): ColumnTarget {
  const type = typeOf(field);
  return {
    field,
    isStrict,
    keepsDigits: DataType.isInt(type) || DataType.isDecimal(type) || DataType.isUtf8(type),
    layout: DataType.isMap(type) ? 'map' : DataType.isFixedSizeList(type) ? 'fixed' : 'plain',
    size: DataType.isFixedSizeList(type) ? type.listSize : 0,
  };
}
