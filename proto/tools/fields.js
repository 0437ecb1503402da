// The properties of fields that the generated code needs.
import protobuf from 'protobufjs';

const BIGINT_TYPES = new Set(['int64', 'uint64', 'sfixed64']);
const SCALARS = {
  string: { type: 'string', zero: "''", wire: 2 },
  bytes: { type: 'Uint8Array', zero: 'new Uint8Array(0)', wire: 2 },
  bool: { type: 'boolean', zero: 'false', wire: 0 },
  int32: { type: 'number', zero: '0', wire: 0 },
  uint32: { type: 'number', zero: '0', wire: 0 },
  double: { type: 'number', zero: '0', wire: 1 },
  float: { type: 'number', zero: '0', wire: 5 },
  int64: { type: 'bigint', zero: '0n', wire: 0 },
  uint64: { type: 'bigint', zero: '0n', wire: 0 },
  sfixed64: { type: 'bigint', zero: '0n', wire: 1 },
};

/** What a message or enum is called here: one that stands inside another has that one's name before its own. */
export function nameOf(item) {
  return item.parent instanceof protobuf.Type ? `${nameOf(item.parent)}${item.name}` : item.name;
}

/** Whether a value is a 64-bit integer. */
export function isBigint(field) {
  return BIGINT_TYPES.has(field.type);
}

/** The TypeScript type of a field. */
export function fieldType(field) {
  if (field.map) return `ReadonlyMap<string, ${elementType(field)}>`;
  if (field.repeated) return `readonly ${elementType(field)}[]`;
  return hasPresence(field) ? `${elementType(field)} | undefined` : elementType(field);
}

/** The TypeScript type of one value of a field. */
export function elementType(field) {
  return SCALARS[field.type]?.type ?? typeName(field);
}

/** What the message or enum of a field is called here. */
export function typeName(field) {
  return field.resolvedType ? nameOf(field.resolvedType) : undefined;
}

/** Whether a field can be absent. */
export function hasPresence(field) {
  return isMessage(field) || field.partOf !== null;
}

/** Whether a oneof only stands for `optional`. */
export function isSynthetic(oneof) {
  return oneof?.isProto3Optional === true;
}

/** Whether a field, or the values of a map, are messages. */
export function isMessage(field) {
  return field.resolvedType instanceof protobuf.Type;
}

/** Whether a repeated field travels as one run of numbers. */
export function isPackable(field) {
  return wireOf(field) !== 2;
}

/** The method of protobufjs that reads or writes a value. */
export function scalarName(field) {
  return field.resolvedType instanceof protobuf.Enum ? 'int32' : field.type;
}

/** The value that does not travel. */
export function zeroOf(field) {
  return SCALARS[field.type]?.zero ?? '0';
}

/** How a value travels. */
export function wireOf(field) {
  return isMessage(field) ? 2 : (SCALARS[field.type]?.wire ?? 0);
}

/** What stands before a value on the wire. */
export function tagOf(field, wire = wireOf(field)) {
  return ((field.id << 3) | wire) >>> 0;
}

/** A name as TypeScript writes it. */
export function camel(name) {
  return name.replaceAll(/_([a-z0-9])/g, (_match, letter) => letter.toUpperCase());
}

/** The variable of a field in a decoder, which has variables of its own. */
export function variableOf(field) {
  const name = camel(field.name);
  return TAKEN_NAMES.has(name) ? `${name}Field` : name;
}

const TAKEN_NAMES = new Set(['end', 'input', 'length', 'null', 'reader', 'tag']);
