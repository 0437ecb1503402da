import { quoted } from '@svc/errors/internal';
import { DataType, type Field, Type } from 'apache-arrow';
import { childrenOf, typeOf } from '../arrow-types.ts';
import { columnTypeName } from '../column-types.ts';

/** Describes two types that do not match, in just enough detail to show the difference. */
export function describeTypeDifference(one: Field, other: Field): readonly [one: string, other: string] {
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
