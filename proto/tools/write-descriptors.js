// Writes the FileDescriptorProto of every served file as TypeScript, with the names it declares.
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor.js';

const LABEL_OPTIONAL = 1;
const LABEL_REPEATED = 3;
const TYPE_MESSAGE = 11;
const TYPE_ENUM = 14;
const SCALAR_TYPES = {
  double: 1,
  int64: 3,
  uint64: 4,
  int32: 5,
  bool: 8,
  string: 9,
  bytes: 12,
  uint32: 13,
  sfixed64: 16,
};
const IDEMPOTENCY_LEVELS = { NO_SIDE_EFFECTS: 1, IDEMPOTENT: 2 };

/** The module with the descriptors of these files. */
export function writeDescriptors(files) {
  const entries = files.flatMap((file) => [
    '  {',
    `    name: '${file.name}',`,
    `    imports: [${file.imports.map((name) => `'${name}'`).join(', ')}],`,
    '    symbols: [',
    ...file.declared.flatMap(symbolsOf).map((symbol) => `      '${symbol}',`),
    '    ],',
    `    base64:\n      '${encodeFile(file).toString('base64')}',`,
    '  },',
  ]);
  return [
    '// Written by the script "generate" from the .proto files: make changes there.',
    '/** The served files: name, imports, declared names, and the serialized FileDescriptorProto in base64. */',
    'export const FILES = [',
    ...entries,
    '] as const;',
    '',
  ].join('\n');
}

function encodeFile({ name, packageName, imports, declared }) {
  return encode('FileDescriptorProto', {
    name,
    package: packageName,
    dependency: imports,
    messageType: declared.filter((item) => item instanceof protobuf.Type).map(messageDescriptor),
    enumType: declared.filter((item) => item instanceof protobuf.Enum).map(enumDescriptor),
    service: declared.filter((item) => item instanceof protobuf.Service).map(serviceDescriptor),
    syntax: 'proto3',
  });
}

function messageDescriptor(type) {
  const real = type.oneofsArray.filter((oneof) => !oneof.isProto3Optional);
  const oneofs = [...real, ...type.oneofsArray.filter((oneof) => oneof.isProto3Optional)];
  return {
    name: type.name,
    field: type.fieldsArray.map((field) => fieldDescriptor(field, oneofs)),
    oneofDecl: oneofs.map((oneof) => ({ name: oneof.name })),
    nestedType: [
      ...type.nestedArray.filter((item) => item instanceof protobuf.Type).map(messageDescriptor),
      ...type.fieldsArray.filter((field) => field.map).map(entryDescriptor),
    ],
    enumType: type.nestedArray.filter((item) => item instanceof protobuf.Enum).map(enumDescriptor),
  };
}

/** A map travels as a repeated message of keys and values. */
function entryDescriptor(field) {
  const key = { name: 'key', number: 1, label: LABEL_OPTIONAL, type: SCALAR_TYPES[field.keyType], jsonName: 'key' };
  const value = { name: 'value', number: 2, label: LABEL_OPTIONAL, ...fieldType(field), jsonName: 'value' };
  return { name: entryName(field), field: [key, value], options: { mapEntry: true } };
}

function entryName(field) {
  return `${field.name.replaceAll(/(?:^|_)([a-z0-9])/g, (_match, letter) => letter.toUpperCase())}Entry`;
}

function enumDescriptor(item) {
  return { name: item.name, value: Object.entries(item.values).map(([name, number]) => ({ name, number })) };
}

function fieldType(field) {
  const target = field.resolvedType;
  if (!target) return { type: SCALAR_TYPES[field.type] };
  return { type: target instanceof protobuf.Enum ? TYPE_ENUM : TYPE_MESSAGE, typeName: target.fullName };
}

function fieldDescriptor(field, oneofs) {
  const entry = { type: TYPE_MESSAGE, typeName: `${field.parent.fullName}.${entryName(field)}` };
  return {
    name: field.name,
    number: field.id,
    label: field.repeated || field.map ? LABEL_REPEATED : LABEL_OPTIONAL,
    ...(field.map ? entry : fieldType(field)),
    jsonName: field.name.replaceAll(/_([a-z0-9])/g, (_match, letter) => letter.toUpperCase()),
    ...(field.partOf ? { oneofIndex: oneofs.indexOf(field.partOf) } : {}),
    ...(field.partOf?.isProto3Optional ? { proto3Optional: true } : {}),
  };
}

function serviceDescriptor(service) {
  return {
    name: service.name,
    method: service.methodsArray.map((method) => {
      const level = method.options?.idempotency_level;
      return {
        name: method.name,
        inputType: method.resolvedRequestType.fullName,
        outputType: method.resolvedResponseType.fullName,
        ...(level ? { options: { idempotencyLevel: IDEMPOTENCY_LEVELS[level] } } : {}),
        ...(method.requestStream ? { clientStreaming: true } : {}),
        ...(method.responseStream ? { serverStreaming: true } : {}),
      };
    }),
  };
}

function encode(name, message) {
  const type = descriptor[name];
  return Buffer.from(type.encode(type.fromObject(message)).finish());
}

/** Every name that comes with a declaration: messages, fields, oneofs, enums and their values, services and methods. */
function symbolsOf(item) {
  const own = item.fullName.slice(1);
  if (item instanceof protobuf.Service)
    return [own, ...item.methodsArray.map((method) => memberName(item, method.name))];
  if (item instanceof protobuf.Enum)
    return [own, ...Object.keys(item.values).map((value) => memberName(item.parent, value))];
  const real = item.oneofsArray.filter((oneof) => !oneof.isProto3Optional);
  const members = [...item.fieldsArray, ...real].map((member) => memberName(item, member.name));
  return [own, ...members, ...item.nestedArray.flatMap(symbolsOf)];
}

function memberName(parent, name) {
  return `${parent.fullName.slice(1)}.${name}`;
}
