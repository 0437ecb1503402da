import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { DataType, type Field, Message, Schema } from 'apache-arrow';
import { Footer } from 'apache-arrow/ipc/metadata/file';
import { childrenOf, typeOf } from '../../arrow-types.ts';
import { columnInfo } from '../../column-types.ts';
import { distinctNames } from '../../distinct-names.ts';
import { checkSchemaTable } from './arrow-schema-check.ts';
import { restoreTexts } from './arrow-schema-texts.ts';
import { SLOT } from './arrow-slots.ts';
import { checkFieldType } from './arrow-type-check.ts';
import { readFlatbuffer } from './flatbuffer.ts';
import { childrenByTypeId, isUnion, unionsAsStructs } from '../unions/union-schema.ts';

const SCHEMA = 'The Arrow schema';
const FOOTER = 'The footer of the Arrow file';

/** Reads the schema of an untrusted schema message. It is checked before any other code reads it. */
export function schemaFromUpload(message: Uint8Array): Schema {
  return checkedSchema(uncheckedSchemaFromUpload(message));
}

/**
 * Reads the schema of a query result from an untrusted message. Unlike a frame, a result can have several columns of one
 * name: the later ones get a number.
 */
export function schemaFromResult(message: Uint8Array): Schema {
  const schema = uncheckedSchemaFromUpload(message);
  const names = distinctNames(schema.fields.map(({ name }) => name));
  const fields = schema.fields.map((field, i) => field.clone({ name: names[i] ?? field.name }));
  return checkedSchema(new Schema(fields, schema.metadata, schema.dictionaries));
}

/** Reads the same, but allows unsupported or malformed column types: only for inspection, not for storage. */
export function uncheckedSchemaFromUpload(message: Uint8Array): Schema {
  readFlatbuffer(message, SCHEMA, (root) => checkSchemaTable(root.table(SLOT.message.header)));
  return decodeSchema(message);
}

/** Reads the schema of the parameters of a statement from an untrusted message. Unlike a frame, it can have unions. */
export function schemaFromParameters(message: Uint8Array): Schema {
  readFlatbuffer(message, SCHEMA, (root) => checkSchemaTable(root.table(SLOT.message.header), true));
  const schema = decodeSchema(message);
  for (const field of schema.fields.filter(isUnion)) childrenByTypeId(field);
  checkedSchema(unionsAsStructs(schema));
  return schema;
}

/** Reads the schema in the footer of an untrusted Arrow file. */
export function schemaFromFooter(footer: Uint8Array): Schema {
  readFlatbuffer(footer, FOOTER, (root) => checkSchemaTable(root.table(SLOT.footer.schema)));
  const schema = decoded(() => Footer.decode(footer).schema);
  readFlatbuffer(footer, FOOTER, (root) => restoreTexts(schema, root.table(SLOT.footer.schema)));
  dropResultMetadata(schema);
  return checkedSchema(schema);
}

/** Reads the schema of a schema message that was already checked. */
export function decodeSchema(message: Uint8Array): Schema {
  const schema = decoded(() => {
    const head = Message.decode(message);
    if (!head.isSchema()) throw new TypeError('The message is not a schema.');
    return head.header();
  });
  readFlatbuffer(message, SCHEMA, (root) => restoreTexts(schema, root.table(SLOT.message.header)));
  dropResultMetadata(schema);
  return schema;
}

function decoded(decode: () => Schema): Schema {
  try {
    const schema = decode();
    normaliseMaps(schema.fields);
    return schema;
  } catch (error) {
    throw new ServiceError('invalid_data', 'The Arrow schema cannot be read.', { cause: error });
  }
}

function checkedSchema(schema: Schema): Schema {
  checkNames(schema.fields);
  for (const field of schema.fields) {
    columnInfo(field);
    checkFieldType(field);
  }
  return schema;
}

/** The prefix of the field metadata that Flight SQL adds to the columns of results. */
const RESULT_METADATA = 'ARROW:FLIGHT:SQL:';

/** Drops what is known of the columns of a result: it is not true of the frame that the result is put as. */
function dropResultMetadata({ fields }: Schema): void {
  for (const { metadata } of fields) {
    for (const key of [...metadata.keys()].filter((name) => name.startsWith(RESULT_METADATA))) metadata.delete(key);
  }
}

/** Encodes a schema as an Arrow schema message. */
export function encodeSchema(schema: Schema): Uint8Array {
  return Message.encode(Message.from(schema));
}

/** The entries of a map and their keys are never null. */
function normaliseMaps(fields: readonly Field[]): void {
  for (const field of fields) {
    const type = typeOf(field);
    if (DataType.isMap(type)) {
      const [entries] = type.children;
      Object.assign(entries, { nullable: false });
      Object.assign(entries.type.children[0], { nullable: false });
    }
    normaliseMaps(childrenOf(field));
  }
}

function checkNames(fields: readonly Field[], parent?: string): void {
  const names = new Set<string>();
  for (const field of fields) {
    const { name } = field;
    if (names.has(name)) {
      const where = parent === undefined ? 'Two columns' : `Two fields of ${quoted(parent)}`;
      throw new ServiceError('invalid_data', `${where} have the name ${quoted(name)}.`, {
        hint: 'Give each a unique name.',
      });
    }
    names.add(name);
    checkNames(childrenOf(field), name);
  }
}
