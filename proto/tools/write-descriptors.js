// Writes the FileDescriptorProto of every file as TypeScript, with the names it declares.
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor.js';

const LABEL_OPTIONAL = 1;
const LABEL_REPEATED = 3;
const TYPE_MESSAGE = 11;
const TYPE_ENUM = 14;
const SCALAR_TYPES = { int64: 3, int32: 5, bool: 8, string: 9, bytes: 12 };
const IDEMPOTENCY_LEVELS = { NO_SIDE_EFFECTS: 1, IDEMPOTENT: 2 };

/** The module with the descriptors of all files. */
export function writeDescriptors(files) {
  const entries = files.flatMap((file) => [
    '  {',
    `    name: '${file.name}',`,
    `    imports: [${file.imports.map((name) => `'${name}'`).join(', ')}],`,
    '    symbols: [',
    ...symbolsOf(file.namespace).map((symbol) => `      '${symbol}',`),
    '    ],',
    `    base64:\n      '${encodeFile(file).toString('base64')}',`,
    '  },',
  ]);
  return [
    '// Written by the script "generate" from the .proto files; changes belong there.',
    '/** The files of this package: name, imports, declared names, and the serialized FileDescriptorProto in base64. */',
    'export const FILES = [',
    ...entries,
    '] as const;',
    '',
  ].join('\n');
}

function encodeFile(file) {
  const declared = file.namespace.nestedArray;
  return encode('FileDescriptorProto', {
    name: file.name,
    package: file.packageName,
    dependency: file.imports,
    messageType: declared.filter((item) => item instanceof protobuf.Type).map(messageDescriptor),
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
    enumType: type.nestedArray.map((item) => ({
      name: item.name,
      value: Object.entries(item.values).map(([name, number]) => ({ name, number })),
    })),
  };
}

function fieldDescriptor(field, oneofs) {
  const target = field.resolvedType;
  const targetType = target instanceof protobuf.Enum ? TYPE_ENUM : TYPE_MESSAGE;
  return {
    name: field.name,
    number: field.id,
    label: field.repeated ? LABEL_REPEATED : LABEL_OPTIONAL,
    type: target ? targetType : SCALAR_TYPES[field.type],
    jsonName: field.name.replaceAll(/_([a-z0-9])/g, (_match, letter) => letter.toUpperCase()),
    ...(target ? { typeName: target.fullName } : {}),
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

/** Every name a file declares: messages, fields, oneofs, enums and their values, services and methods. */
function symbolsOf(namespace) {
  return namespace.nestedArray.flatMap((item) => {
    const own = item.fullName.slice(1);
    if (item instanceof protobuf.Service)
      return [own, ...item.methodsArray.map((method) => memberName(item, method.name))];
    if (!(item instanceof protobuf.Type)) return [];
    const real = item.oneofsArray.filter((oneof) => !oneof.isProto3Optional);
    const members = [...item.fieldsArray, ...real].map((member) => memberName(item, member.name));
    const enums = item.nestedArray.flatMap((nested) => [
      nested.fullName.slice(1),
      ...Object.keys(nested.values).map((value) => memberName(item, value)),
    ]);
    return [own, ...members, ...enums];
  });
}

function memberName(parent, name) {
  return `${parent.fullName.slice(1)}.${name}`;
}
