import { quoted, ServiceError } from '@svc/errors';
import { DataType, type Field, Message, type Schema } from 'apache-arrow';
import { Footer } from 'apache-arrow/ipc/metadata/file';
import { columnInfo } from '../column-types.ts';
import { checkSchemaTable } from './arrow-schema-check.ts';
import { checkFieldType } from './arrow-type-check.ts';
import { readFlatbuffer } from './flatbuffer.ts';

/** The schema in an Arrow schema message that comes from outside: checked before anything else looks at it. */
export function schemaFromUpload(message: Uint8Array): Schema {
  readFlatbuffer(message, 'The Arrow schema', (root) => checkSchemaTable(root.table(2)));
  return checkedSchema(decodeSchema(message));
}

/** The schema in the footer of an Arrow file that comes from outside. */
export function schemaFromFooter(footer: Uint8Array): Schema {
  readFlatbuffer(footer, 'The footer of the Arrow file', (root) => checkSchemaTable(root.table(1)));
  return checkedSchema(decoded(() => Footer.decode(footer).schema));
}

/** The schema in an Arrow schema message that was checked before. */
export function decodeSchema(message: Uint8Array): Schema {
  return decoded(() => {
    const head = Message.decode(message);
    if (!head.isSchema()) throw new TypeError('The message is not a schema.');
    return head.header();
  });
}

function decoded(decode: () => Schema): Schema {
  try {
    const schema = decode();
    fillMetadata(schema.metadata);
    normaliseFields(schema.fields);
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

/** A schema as an Arrow schema message. */
export function encodeSchema(schema: Schema): Uint8Array {
  return Message.encode(Message.from(schema));
}

/** An empty text is left out by some writers, and read back as null. The entries of a map and their keys are never null. */
function normaliseFields(fields: readonly Field[]): void {
  for (const field of fields) {
    if (typeof field.name !== 'string') Object.assign(field, { name: '' });
    fillMetadata(field.metadata);
    const { type } = field;
    if (DataType.isMap(type)) {
      const [entries] = type.children;
      Object.assign(entries, { nullable: false });
      Object.assign(entries.type.children[0], { nullable: false });
    }
    normaliseFields(type.children ?? []);
  }
}

function fillMetadata(metadata: Map<string, string | null>): void {
  for (const [key, value] of metadata) if (value === null) metadata.set(key, '');
}

function checkNames(fields: readonly Field[], parent?: string): void {
  const names = new Set<string>();
  for (const { name, type } of fields) {
    if (names.has(name)) {
      const where = parent === undefined ? 'Two columns' : `Two fields of ${quoted(parent)}`;
      throw new ServiceError('invalid_data', `${where} have the name ${quoted(name)}.`, {
        hint: 'Give each of them a name of its own.',
      });
    }
    names.add(name);
    checkNames(type.children ?? [], name);
  }
}
