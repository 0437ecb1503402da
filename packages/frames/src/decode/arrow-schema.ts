import { quoted, ServiceError } from '@svc/errors';
import { DataType, type Field, Message, type Schema } from 'apache-arrow';
import { Footer } from 'apache-arrow/ipc/metadata/file';
import { columnInfo } from '../column-types.ts';
import { type FlatTable, readFlatbuffer } from './flatbuffer.ts';
import { MAX_COLUMNS, MAX_DEPTH } from './limits.ts';

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
    nameFields(schema.fields);
    return schema;
  } catch (error) {
    throw new ServiceError('invalid_data', 'The Arrow schema cannot be read.', { cause: error });
  }
}

function checkedSchema(schema: Schema): Schema {
  checkNames(schema.fields);
  for (const field of schema.fields) {
    columnInfo(field);
    checkType(field, field.type);
  }
  return schema;
}

/** A schema as an Arrow schema message. */
export function encodeSchema(schema: Schema): Uint8Array {
  return Message.encode(Message.from(schema));
}

/** An empty name is left out by some writers, and read back as null. */
function nameFields(fields: readonly Field[]): void {
  for (const field of fields) {
    if (typeof field.name !== 'string') Object.assign(field, { name: '' });
    nameFields(field.type.children ?? []);
  }
}

/** Names and metadata in a schema may have so many bytes: entries of a flatbuffer may all point to one long text. */
const MAX_TEXT_BYTES = 1 << 26;

interface Tally {
  columns: number;
  textBytes: number;
}

function checkSchemaTable(schema: FlatTable | undefined): void {
  if (schema === undefined) throw new RangeError('There is no schema.');
  if (schema.short(0) !== 0) {
    throw new ServiceError('invalid_data', 'The Arrow data is big-endian.', {
      hint: 'Write the data in little-endian byte order.',
    });
  }
  const tally = { columns: 0, textBytes: 0 };
  checkMetadata(schema, 2, tally);
  checkFields(schema, 1, tally, 1);
}

function checkFields(parent: FlatTable, slot: number, tally: Tally, depth: number): void {
  const count = parent.count(slot, 4);
  if (count === 0) return;
  tally.columns += count;
  if (tally.columns > MAX_COLUMNS) {
    throw new ServiceError('invalid_data', `The frame has more than ${MAX_COLUMNS} columns, nested ones included.`, {
      hint: 'Split the frame, or bring the columns into a long form.',
    });
  }
  if (depth > MAX_DEPTH + 1) throw tooDeep();
  for (const field of parent.tables(slot)) {
    addText(field, 0, tally);
    if (!field.has(3)) throw new RangeError('A field has no type.');
    const children = field.count(5, 4);
    if (LIST_TYPES.has(field.byte(2)) && children !== 1) throw new RangeError('A list does not have one child.');
    checkMetadata(field, 6, tally);
    checkFields(field, 5, tally, depth + 1);
  }
}

/** List, FixedSizeList, Map and LargeList, by their numbers in the format. */
const LIST_TYPES = new Set([12, 16, 17, 21]);

function checkMetadata(parent: FlatTable, slot: number, tally: Tally): void {
  if (parent.count(slot, 4) > MAX_COLUMNS) throw new RangeError('There are too many metadata entries.');
  for (const entry of parent.tables(slot)) {
    addText(entry, 0, tally);
    addText(entry, 1, tally);
  }
}

function addText(table: FlatTable, slot: number, tally: Tally): void {
  tally.textBytes += table.count(slot, 1);
  if (tally.textBytes > MAX_TEXT_BYTES) throw new RangeError('The names and metadata are too long.');
}

function tooDeep(): ServiceError {
  return new ServiceError('invalid_data', `The columns are nested more than ${MAX_DEPTH} deep.`, {
    hint: 'Flatten the nested columns.',
  });
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

/** Numbers inside of a type that the format allows and no writer should write. */
function checkType(column: Field, type: DataType): void {
  const known =
    (!DataType.isFloat(type) || [0, 1, 2].includes(type.precision)) &&
    (!DataType.isTimestamp(type) || [0, 1, 2, 3].includes(type.unit)) &&
    (!DataType.isDate(type) || [0, 1].includes(type.unit)) &&
    (!DataType.isFixedSizeList(type) || type.listSize >= 0) &&
    (!DataType.isDictionary(type) || [8, 16, 32, 64].includes(type.indices.bitWidth));
  if (!known) {
    throw new ServiceError('invalid_data', `Column ${quoted(column.name)} has a malformed Arrow type.`);
  }
  for (const child of type.children ?? []) checkType(column, child.type);
}
