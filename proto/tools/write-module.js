// Writes one .proto file as a TypeScript module: interfaces, codecs over protobufjs' reader and writer, and service
// definitions of the shape that nice-grpc reads.
import protobuf from 'protobufjs';

const BIGINT_TYPES = new Set(['int64', 'uint64', 'sint64', 'fixed64', 'sfixed64']);
const SCALARS = {
  string: { type: 'string', zero: "''", wire: 2 },
  bytes: { type: 'Uint8Array', zero: 'new Uint8Array(0)', wire: 2 },
  bool: { type: 'boolean', zero: 'false', wire: 0 },
  int32: { type: 'number', zero: '0', wire: 0 },
  int64: { type: 'bigint', zero: '0n', wire: 0 },
};

/** The module of a file. */
export function writeModule(file) {
  const declared = file.namespace.nestedArray;
  const types = declared.filter((item) => item instanceof protobuf.Type);
  const services = declared.filter((item) => item instanceof protobuf.Service);
  const body = [
    ...types.flatMap((type) => [...writeEnums(type), writeInterface(type), writeCodec(type)]),
    ...services.map(writeService),
  ].join('\n\n');
  return [
    `// Written by the script "generate" from ${file.name}; changes belong there.`,
    ...writeImports(file, body),
    '',
  ]
    .concat(body, '')
    .join('\n');
}

function writeImports(file, body) {
  const longs = ['bigintFromLong', 'longFromBigint'].filter((name) => body.includes(`${name}(`));
  const imported = file.imports.map((name) => ({
    module: `./${name.split('/').slice(0, -1).join('-')}.ts`,
    name: 'Timestamp',
  }));
  return [
    "import protobuf from 'protobufjs/minimal.js';",
    `import { ${[...longs, 'type Partially'].join(', ')} } from '../codec.ts';`,
    ...imported.map(({ module, name }) => `import { ${name} } from '${module}';`),
  ];
}

function writeEnums(type) {
  return type.nestedArray.map((item) => {
    const name = `${type.name}${item.name}`;
    const values = Object.entries(item.values).flatMap(([key, value]) => [
      ...comment(item.comments[key], '  '),
      `  ${key}: ${value},`,
    ]);
    return [
      ...comment(item.comment),
      `export const ${name} = {`,
      ...values,
      '} as const;',
      `/** A number of \`${name}\`, or one that a newer peer knows. */`,
      `export type ${name} = number;`,
    ].join('\n');
  });
}

function writeInterface(type) {
  const fields = type.fieldsArray.flatMap((field) => [
    ...comment(field.comment, '  '),
    `  readonly ${camel(field.name)}: ${fieldType(field)};`,
  ]);
  return [...comment(type.comment), `export interface ${type.name} {`, ...fields, '}'].join('\n');
}

function writeCodec(type) {
  const { name } = type;
  const isEmpty = type.fieldsArray.length === 0;
  return [
    ...comment(`Writes and reads \`${name}\`.`),
    `export const ${name} = {`,
    `  encode(${isEmpty ? '_message' : 'message'}: ${name}, writer: protobuf.Writer = protobuf.Writer.create()): protobuf.Writer {`,
    ...type.fieldsArray.map((field) => `    ${writeField(field)}`),
    '    return writer;',
    '  },',
    '',
    `  decode(input: Uint8Array | protobuf.Reader, length?: number): ${name} {`,
    '    const reader = input instanceof protobuf.Reader ? input : protobuf.Reader.create(input);',
    '    const end = length === undefined ? reader.len : reader.pos + length;',
    ...type.fieldsArray.map((field) => `    ${declareField(field)}`),
    '    while (reader.pos < end) {',
    '      const tag = reader.uint32();',
    ...(isEmpty
      ? ['      reader.skipType(tag & 7);']
      : [
          '      switch (tag) {',
          ...type.fieldsArray.flatMap(readField),
          '        default:',
          '          reader.skipType(tag & 7);',
          '      }',
        ]),
    '    }',
    `    if (reader.pos !== end) throw new RangeError('${name} ends inside a field.');`,
    `    return { ${type.fieldsArray.map((field) => camel(field.name)).join(', ')} };`,
    '  },',
    '',
    `  fromPartial(${isEmpty ? '_partial' : 'partial'}: Partially<${name}>): ${name} {`,
    '    return {',
    ...type.fieldsArray.map((field) => `      ${camel(field.name)}: ${partialField(field)},`),
    '    };',
    '  },',
    '};',
  ].join('\n');
}

function writeField(field) {
  const name = `message.${camel(field.name)}`;
  if (field.repeated && isPackable(field)) {
    return [
      `if (${name}.length > 0) {`,
      `      writer.uint32(${tagOf(field, 2)}).fork();`,
      `      for (const item of ${name}) writer.${scalarName(field)}(item);`,
      '      writer.ldelim();',
      '    }',
    ].join('\n');
  }
  if (field.repeated) return `for (const item of ${name}) ${writeValue(field, 'item')};`;
  return `if (${isSet(field, name)}) ${writeValue(field, name)};`;
}

function writeValue(field, value) {
  const tag = `writer.uint32(${tagOf(field)})`;
  if (isMessage(field)) return `${typeName(field)}.encode(${value}, ${tag}.fork()).ldelim()`;
  return `${tag}.${scalarName(field)}(${BIGINT_TYPES.has(field.type) ? `longFromBigint(${value})` : value})`;
}

function isSet(field, name) {
  if (hasPresence(field)) return `${name} !== undefined`;
  if (field.type === 'bytes') return `${name}.length > 0`;
  return field.type === 'bool' ? name : `${name} !== ${zeroOf(field)}`;
}

function declareField(field) {
  const name = camel(field.name);
  if (field.repeated) return `const ${name}: ${elementType(field)}[] = [];`;
  if (hasPresence(field)) return `let ${name}: ${fieldType(field)};`;
  return `let ${name}${field.type === 'bytes' ? ': Uint8Array' : ''} = ${zeroOf(field)};`;
}

function readField(field) {
  const name = camel(field.name);
  const value = readValue(field);
  const others = (isSynthetic(field.partOf) ? [] : (field.partOf?.fieldsArray ?? [])).filter(
    (other) => other !== field,
  );
  const store = field.repeated ? `${name}.push(${value});` : `${name} = ${value};`;
  const lines = [
    `        case ${tagOf(field)}:`,
    `          ${store}`,
    ...others.map((other) => `          ${camel(other.name)} = undefined;`),
    '          break;',
  ];
  if (!field.repeated || !isPackable(field)) return lines;
  return [
    ...lines,
    `        case ${tagOf(field, 2)}:`,
    `          for (const stop = reader.uint32() + reader.pos; reader.pos < stop; ) ${store}`,
    '          break;',
  ];
}

function readValue(field) {
  if (isMessage(field)) return `${typeName(field)}.decode(reader, reader.uint32())`;
  const value = `reader.${scalarName(field)}()`;
  return BIGINT_TYPES.has(field.type) ? `bigintFromLong(${value})` : value;
}

function partialField(field) {
  const name = `partial.${camel(field.name)}`;
  const build = `${typeName(field)}.fromPartial`;
  if (field.repeated) return isMessage(field) ? `${name}?.map((item) => ${build}(item)) ?? []` : `${name} ?? []`;
  if (isMessage(field)) return `${name} === undefined ? undefined : ${build}(${name})`;
  return hasPresence(field) ? name : `${name} ?? ${zeroOf(field)}`;
}

function writeService(service) {
  const methods = service.methodsArray.flatMap((method) => {
    const level = method.options?.idempotency_level;
    return [
      ...comment(method.comment, '    '),
      `    ${camel(method.name.replace(/^[A-Z]/, (letter) => letter.toLowerCase()))}: {`,
      `      name: '${method.name}',`,
      `      requestType: ${method.requestType},`,
      `      requestStream: ${method.requestStream === true},`,
      `      responseType: ${method.responseType},`,
      `      responseStream: ${method.responseStream === true},`,
      `      options: {${level ? ` idempotencyLevel: '${level}' ` : ''}},`,
      '    },',
    ];
  });
  return [
    ...comment(service.comment),
    `export const ${service.name}Definition = {`,
    `  name: '${service.name}',`,
    `  fullName: '${service.fullName.slice(1)}',`,
    '  methods: {',
    ...methods,
    '  },',
    '} as const;',
  ].join('\n');
}

function fieldType(field) {
  if (field.repeated) return `readonly ${elementType(field)}[]`;
  return hasPresence(field) ? `${elementType(field)} | undefined` : elementType(field);
}

function elementType(field) {
  return SCALARS[field.type]?.type ?? typeName(field);
}

function typeName(field) {
  const type = field.resolvedType;
  if (type instanceof protobuf.Enum) return `${type.parent.name}${type.name}`;
  return type?.name;
}

function hasPresence(field) {
  return isMessage(field) || field.partOf !== null;
}

function isSynthetic(oneof) {
  return oneof?.isProto3Optional === true;
}

function isMessage(field) {
  return field.resolvedType instanceof protobuf.Type;
}

function isPackable(field) {
  return !isMessage(field) && (SCALARS[field.type]?.wire ?? 0) === 0;
}

function scalarName(field) {
  return field.resolvedType instanceof protobuf.Enum ? 'int32' : field.type;
}

function zeroOf(field) {
  return SCALARS[field.type]?.zero ?? '0';
}

function tagOf(field, wire = isMessage(field) ? 2 : (SCALARS[field.type]?.wire ?? 0)) {
  return ((field.id << 3) | wire) >>> 0;
}

function camel(name) {
  return name.replaceAll(/_([a-z0-9])/g, (_match, letter) => letter.toUpperCase());
}

function comment(text, indent = '') {
  if (!text) return [];
  const lines = text.split('\n');
  if (lines.length === 1) return [`${indent}/** ${text} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}
