import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Data, DataType, type Decimal, type Field, type RecordBatch, Schema, Type, util } from 'apache-arrow';
import { childrenOf, typeOf } from '../arrow-types.ts';
import { columnInfo, columnTypeName } from '../column-types.ts';
import { convertColumn, isConvertible } from './convert-column.ts';
import { createRecordBatch } from './create-record-batch.ts';

/** Converts rows of one schema to another. */
export interface ColumnMatch {
  /** The schema of the combined rows. */
  readonly schema: Schema;
  /** Whether the rows fit unchanged, except for nullability. */
  readonly isPlain: boolean;
  conform(batch: RecordBatch): RecordBatch;
}

/**
 * Matches the columns of rows to append with those of the frame, by name and in any order. An extra column, a missing
 * one, or one whose type cannot be converted is `invalid_data`.
 */
export function matchColumns(frame: Schema, added: Schema): ColumnMatch {
  const places = new Map(added.fields.map((field, place) => [field.name, place]));
  const known = new Set(frame.fields.map(({ name }) => name));
  const extra = added.fields.find(({ name }) => !known.has(name));
  if (extra) throw mismatch(frame, `The rows to append have a column ${quoted(extra.name)}, but the frame does not.`);
  const matches = frame.fields.map((field) => {
    const place = places.get(field.name);
    const from = place === undefined ? undefined : added.fields[place];
    if (place === undefined || from === undefined) {
      throw mismatch(frame, `The rows to append have no column ${quoted(field.name)}.`);
    }
    const isSame = isSameType(field, from);
    if (!isSame && !isConvertible(typeOf(from), typeOf(field))) {
      const [wants, has] = describeTypeDifference(field, from);
      throw mismatch(frame, `Column ${quoted(field.name)} is ${wants} in the frame, but ${has} in the rows to append.`);
    }
    return { field, from, place, isSame };
  });
  const fields = matches.map(({ field, from }) =>
    from.nullable && !field.nullable ? field.clone({ nullable: true }) : field,
  );
  const schema = new Schema(fields, frame.metadata);
  return {
    schema,
    isPlain: matches.every(
      ({ field, from, place, isSame }, at) => isSame && place === at && hasSameZones(typeOf(field), typeOf(from)),
    ),
    conform(batch) {
      const columns: readonly Data[] = batch.data.children;
      const children = matches.flatMap(({ field, place, isSame }) => {
        const column = columns[place];
        if (column === undefined) return [];
        return isSame ? column : convertColumn(column, field);
      });
      return createRecordBatch(schema, batch.numRows, children);
    },
  };
}

/** Returns a batch with a schema that differs only in nullability. */
export function underSchema(schema: Schema, batch: RecordBatch): RecordBatch {
  return createRecordBatch(schema, batch.numRows, batch.data.children);
}

/** Whether timestamps have the same zones, which is required to concatenate files. */
function hasSameZones(a: DataType, b: DataType): boolean {
  if (DataType.isTimestamp(a) && DataType.isTimestamp(b)) return a.timezone === b.timezone;
  const children: readonly Field[] = a.children ?? [];
  const others: readonly Field[] = b.children ?? [];
  return children.every((child, at) => hasSameZones(typeOf(child), typeOf(others[at] ?? child)));
}

/** SYMBOL is stored as text, so the two are interchangeable. */
const TEXTS: ReadonlySet<string> = new Set(['STRING', 'SYMBOL']);

/** Whether an append takes a column as it is. */
export function isSameType(field: Field, from: Field): boolean {
  if (!fits(typeOf(field), typeOf(from))) return false;
  const [wants, has] = [columnInfo(field).type, columnInfo(from).type];
  return wants === has || (TEXTS.has(wants) && TEXTS.has(has));
}

/** Whether values of `from` are values of `type` unchanged. The name of a list's item field is not significant. */
function fits(type: DataType, from: DataType): boolean {
  const isFixed = DataType.isFixedSizeList(type) && DataType.isFixedSizeList(from) && type.listSize === from.listSize;
  const isList = isFixed || (DataType.isList(type) && DataType.isList(from));
  const isMap = DataType.isMap(type) && DataType.isMap(from) && type.keysSorted === from.keysSorted;
  if (!isList && !isMap && !(DataType.isStruct(type) && DataType.isStruct(from))) {
    return isSameLeaf(type, from) && hasSameDecimals(type, from);
  }
  const children: readonly Field[] = type.children;
  const others: readonly Field[] = from.children;
  return (
    children.length === others.length &&
    children.every((child, at) => {
      const other = others[at];
      const isNamed = isList || isMap || child.name === other?.name;
      return other && isNamed && (child.nullable || !other.nullable) && fits(typeOf(child), typeOf(other));
    })
  );
}

/**
 * apache-arrow treats a unit-specific class (`TimestampMicrosecond`) as a different type than the general class. A
 * timestamp is the same instant in any zone.
 */
function isSameLeaf(a: DataType, b: DataType): boolean {
  if (DataType.isTimestamp(a) && DataType.isTimestamp(b)) return a.unit === b.unit && !a.timezone === !b.timezone;
  if (DataType.isInt(a) && DataType.isInt(b)) return a.bitWidth === b.bitWidth && a.isSigned === b.isSigned;
  if (DataType.isFloat(a) && DataType.isFloat(b)) return a.precision === b.precision;
  if (DataType.isTime(a) && DataType.isTime(b)) return a.unit === b.unit && a.bitWidth === b.bitWidth;
  if (DataType.isDate(a) && DataType.isDate(b)) return a.unit === b.unit;
  if (DataType.isDuration(a) && DataType.isDuration(b)) return a.unit === b.unit;
  if (DataType.isInterval(a) && DataType.isInterval(b)) return a.unit === b.unit;
  return util.compareTypes(a, b);
}

/** apache-arrow treats all decimals as the same type, also inside nested types. */
function hasSameDecimals(a: DataType, b: DataType): boolean {
  if (DataType.isDecimal(a) && DataType.isDecimal(b)) return keptDecimal(a) === keptDecimal(b);
  const children: readonly Field[] = a.children ?? [];
  const others: readonly Field[] = b.children ?? [];
  return children.every((child, at) => hasSameDecimals(typeOf(child), typeOf(others[at] ?? child)));
}

/** Narrow decimals are stored with 128 bits. */
function keptDecimal({ precision, scale, bitWidth }: Decimal): string {
  return `${precision},${scale},${Math.max(bitWidth, 128)}`;
}

function mismatch(frame: Schema, message: string): ServiceError {
  const columns = frame.fields.slice(0, 20).map((field) => `${quoted(field.name)} ${columnInfo(field).type}`);
  const more = frame.fields.length > columns.length ? ', …' : '';
  return new ServiceError('invalid_data', message, {
    hint: `The columns of the frame are: ${columns.join(', ')}${more}.`,
  });
}

/** Describes two types that do not match, in just enough detail to show the difference. */
function describeTypeDifference(one: Field, other: Field): readonly [one: string, other: string] {
  const [name, otherName] = hasOneZone(one, other) ? [zonedName(one), zonedName(other)] : [nameOf(one), nameOf(other)];
  if (name !== otherName) return [name, otherName];
  return nestedDifference(name, one, other) ?? [`${name} (${arrowText(one)})`, `${name} (${arrowText(other)})`];
}

/** Describes the first difference between the children. */
function nestedDifference(name: string, one: Field, other: Field): readonly [string, string] | undefined {
  const [inside, others] = [childrenOf(one), childrenOf(other)];
  if (inside.length !== others.length) return [counted(name, inside), counted(name, others)];
  for (const [at, child] of inside.entries()) {
    const otherChild = others[at] ?? child;
    const [holds, otherHolds] = [holdsText(name, one, child), holdsText(name, other, otherChild)];
    if (holds !== otherHolds) return [holds, otherHolds];
    const [has, otherHas] = describeTypeDifference(child, otherChild);
    if (has !== otherHas) return [`${holds} ${has}`, `${holds} ${otherHas}`];
  }
  return undefined;
}

/** The name of a list's item field is not significant. */
function holdsText(name: string, { type }: Field, child: Field): string {
  return DataType.isStruct(type) ? `${name} with ${quoted(child.name)}` : `${name} of`;
}

function counted(name: string, { length }: readonly Field[]): string {
  return `${name} of ${length} ${length === 1 ? 'field' : 'fields'}`;
}

/** Whether one of two timestamps has a zone and the other has none. */
function hasOneZone({ type: one }: Field, { type: other }: Field): boolean {
  return DataType.isTimestamp(one) && DataType.isTimestamp(other) && !one.timezone !== !other.timezone;
}

function zonedName(field: Field): string {
  const zone = DataType.isTimestamp(field.type) ? field.type.timezone : null;
  return `${nameOf(field)} ${zone ? `with the zone ${zone}` : 'without a zone'}`;
}

function nameOf(field: Field): string {
  return columnTypeName(field) ?? kindOf(field);
}

/** Returns the Arrow type, which is more specific than the column type. */
function arrowText(field: Field): string {
  const text = childrenOf(field).length > 0 ? kindOf(field) : leafText(field);
  return field.nullable ? text : `${text} not null`;
}

function kindOf(field: Field): string {
  return Type[typeOf(field).typeId];
}

function leafText({ type }: Field): string {
  return DataType.isDecimal(type) ? `Decimal${type.bitWidth}` : `${type}`;
}
