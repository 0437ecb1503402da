// Writes one .proto file as a TypeScript module: interfaces, codecs over protobufjs' reader and writer, and service
// definitions for nice-grpc.
import protobuf from 'protobufjs';
import {
  camel,
  elementType,
  fieldType,
  hasPresence,
  isBigint,
  isMessage,
  isPackable,
  isSynthetic,
  nameOf,
  scalarName,
  tagOf,
  typeName,
  variableOf,
  wireOf,
  zeroOf,
} from './fields.js';

/** The module of a file; `files` are all there are. */
export function writeModule(file, files) {
  const services = file.declared.filter((item) => item instanceof protobuf.Service);
  const others = file.declared.filter((item) => !(item instanceof protobuf.Service));
  const body = [...others.flatMap(writeDeclared), ...services.map(writeService)].join('\n\n');
  return [
    `// Written by the script "generate" from ${file.name}: make changes there.`,
    ...writeImports(file, files, body),
    '',
  ]
    .concat(body, '')
    .join('\n');
}

function writeDeclared(item) {
  if (item instanceof protobuf.Enum) return [writeEnum(item)];
  return [...item.nestedArray.flatMap(writeDeclared), writeInterface(item), writeCodec(item)];
}

function writeImports(file, files, body) {
  const longs = ['bigintFromLong', 'longFromBigint'].filter((name) => body.includes(`${name}(`));
  const imported = files.filter(({ name }) => file.imports.includes(name));
  return [
    "import protobuf from 'protobufjs/minimal.js';",
    `import { ${[...longs, 'type Partially'].join(', ')} } from '../codec.ts';`,
    ...imported.map(({ module, declared }) => {
      return `import { ${declared.map(nameOf).join(', ')} } from './${module}.ts';`;
    }),
  ];
}

function writeEnum(item) {
  const name = nameOf(item);
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
}

function writeInterface(type) {
  const fields = type.fieldsArray.flatMap((field) => [
    ...comment(field.comment, '  '),
    `  readonly ${camel(field.name)}: ${fieldType(field)};`,
  ]);
  return [...comment(type.comment), `export interface ${nameOf(type)} {`, ...fields, '}'].join('\n');
}

function writeCodec(type) {
  const name = nameOf(type);
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
    `    return { ${type.fieldsArray.map(memberOf).join(', ')} };`,
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
  if (field.map) {
    return [
      `for (const [key, value] of ${name}) {`,
      `      writer.uint32(${tagOf(field, 2)}).fork().uint32(10).string(key);`,
      `      ${writeValue(field, 'value', (2 << 3) | wireOf(field))};`,
      '      writer.ldelim();',
      '    }',
    ].join('\n');
  }
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

function writeValue(field, value, number = tagOf(field)) {
  const tag = `writer.uint32(${number})`;
  if (isMessage(field)) return `${typeName(field)}.encode(${value}, ${tag}.fork()).ldelim()`;
  return `${tag}.${scalarName(field)}(${isBigint(field) ? `longFromBigint(${value}${field.type === 'uint64' ? ', true' : ''})` : value})`;
}

function isSet(field, name) {
  if (hasPresence(field)) return `${name} !== undefined`;
  if (field.type === 'bytes') return `${name}.length > 0`;
  return field.type === 'bool' ? name : `${name} !== ${zeroOf(field)}`;
}

function memberOf(field) {
  const [name, variable] = [camel(field.name), variableOf(field)];
  return name === variable ? name : `${name}: ${variable}`;
}

function declareField(field) {
  const name = variableOf(field);
  if (field.map) return `const ${name} = new Map<string, ${elementType(field)}>();`;
  if (field.repeated) return `const ${name}: ${elementType(field)}[] = [];`;
  if (hasPresence(field)) return `let ${name}: ${fieldType(field)};`;
  return `let ${name}${field.type === 'bytes' ? ': Uint8Array' : ''} = ${zeroOf(field)};`;
}

function readField(field) {
  const name = variableOf(field);
  const value = readValue(field);
  if (field.map) return readMapEntry(field, name, value);
  const others = (isSynthetic(field.partOf) ? [] : (field.partOf?.fieldsArray ?? [])).filter(
    (other) => other !== field,
  );
  const store = field.repeated ? `${name}.push(${value});` : `${name} = ${value};`;
  const lines = [
    `        case ${tagOf(field)}:`,
    `          ${store}`,
    ...others.map((other) => `          ${variableOf(other)} = undefined;`),
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

function readMapEntry(field, name, value) {
  const zero = isMessage(field) ? `${typeName(field)}.fromPartial({})` : zeroOf(field);
  return [
    `        case ${tagOf(field, 2)}: {`,
    '          const stop = reader.uint32() + reader.pos;',
    "          let key = '';",
    `          let value: ${elementType(field)} = ${zero};`,
    '          while (reader.pos < stop) {',
    '            const part = reader.uint32();',
    '            if (part === 10) key = reader.string();',
    `            else if (part === ${(2 << 3) | wireOf(field)}) value = ${value};`,
    '            else reader.skipType(part & 7);',
    '          }',
    `          ${name}.set(key, value);`,
    '          break;',
    '        }',
  ];
}

function readValue(field) {
  if (isMessage(field)) return `${typeName(field)}.decode(reader, reader.uint32())`;
  const value = `reader.${scalarName(field)}()`;
  return isBigint(field) ? `bigintFromLong(${value})` : value;
}

function partialField(field) {
  const name = `partial.${camel(field.name)}`;
  const build = `${typeName(field)}.fromPartial`;
  if (field.map) return `${name} ?? new Map()`;
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

function comment(text, indent = '') {
  if (!text) return [];
  const lines = text.split('\n');
  if (lines.length === 1) return [`${indent}/** ${text} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}
