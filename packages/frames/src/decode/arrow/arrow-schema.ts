import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Field, MessageHeader, Schema } from 'apache-arrow';
import { childrenOf } from '../../arrow-types.ts';
import { columnInfo } from '../../column-types.ts';
import { distinctNames } from '../../distinct-names.ts';
import { checkSchemaTable } from './arrow-schema-check.ts';
import { schemaFromTable } from './arrow-schema-table.ts';
import { SLOT } from './arrow-slots.ts';
import { checkFieldType } from './arrow-type-check.ts';
import { type FlatTable, readFlatbuffer } from './flatbuffer.ts';
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

/** Returns the bytes of the names and metadata in a schema message. */
export function schemaTextBytes(message: Uint8Array): number {
  return readFlatbuffer(message, SCHEMA, (root) => checkSchemaTable(root.table(SLOT.message.header), true));
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
  return checkedSchema(readFlatbuffer(footer, FOOTER, (root) => frameSchema(root.table(SLOT.footer.schema))));
}

/** Reads the schema of a schema message that was already checked. */
export function decodeSchema(message: Uint8Array): Schema {
  return readFlatbuffer(message, SCHEMA, (root) => {
    if (root.byte(SLOT.message.headerType) !== MessageHeader.Schema.valueOf()) {
      throw new TypeError('The message is not a schema.');
    }
    return frameSchema(root.table(SLOT.message.header));
  });
}

function frameSchema(table: FlatTable | undefined): Schema {
  const schema = schemaFromTable(table);
  dropResultMetadata(schema);
  return schema;
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
    if (metadata.size === 0) continue;
    for (const key of [...metadata.keys()].filter((name) => name.startsWith(RESULT_METADATA))) metadata.delete(key);
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
