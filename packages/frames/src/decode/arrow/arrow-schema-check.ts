import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { SLOT } from './arrow-slots.ts';
import type { FlatTable } from './flatbuffer.ts';
import { MAX_COLUMNS, MAX_DEPTH } from '../limits.ts';

/** The maximum size of names and metadata in a schema: the entries of a flatbuffer may all point to one long text. */
const MAX_TEXT_BYTES = 1 << 26;

/** Type numbers of the format. */
const TYPE = {
  none: 0,
  timestamp: 10,
  list: 12,
  struct: 13,
  union: 14,
  fixedSizeList: 16,
  map: 17,
  largeList: 21,
} as const;

const LIST_TYPES: ReadonlySet<number> = new Set([TYPE.list, TYPE.fixedSizeList, TYPE.map, TYPE.largeList]);

/** Types of the format that are not supported, and the type to cast them to. */
const REFUSED_TYPES: ReadonlyMap<number, { readonly name: string; readonly cast: string }> = new Map([
  [TYPE.union, { name: 'union', cast: 'a struct with a field for each of its types, or to utf8' }],
  [22, { name: 'run-end encoded', cast: 'the type of its values' }],
  [25, { name: 'list view', cast: 'list' }],
  [26, { name: 'large list view', cast: 'large list' }],
]);

const LAST_TYPE = 26;

interface Tally {
  /** Whether a column may be a union. */
  readonly unions: boolean;
  columns: number;
  textBytes: number;
}

/**
 * Checks the flatbuffer of a schema before `schemaFromTable` reads it: that it is complete, within the limits, and uses
 * only supported types. `unions`: whether a column may be a union. Returns the bytes of its names and metadata.
 */
export function checkSchemaTable(schema: FlatTable | undefined, unions = false): number {
  if (schema === undefined) throw new RangeError('There is no schema.');
  if (schema.short(SLOT.schema.endianness) !== 0) {
    throw new ServiceError('invalid_data', 'The Arrow data is big-endian.', {
      hint: 'Write the data in little-endian byte order.',
    });
  }
  const tally = { unions, columns: 0, textBytes: 0 };
  checkMetadata(schema, SLOT.schema.metadata, tally);
  for (const column of fieldsOf(schema, SLOT.schema.fields, tally, 1)) checkField(column, column, tally, 1);
  return tally.textBytes;
}

function fieldsOf(parent: FlatTable, slot: number, tally: Tally, depth: number): readonly FlatTable[] {
  const count = parent.count(slot, 4);
  if (count === 0) return [];
  tally.columns += count;
  if (tally.columns > MAX_COLUMNS) {
    throw new ServiceError('invalid_data', `The frame has more than ${MAX_COLUMNS} columns, including nested ones.`, {
      hint: 'Split the frame, or reshape it to a long format.',
    });
  }
  if (depth > MAX_DEPTH + 1) {
    throw new ServiceError('invalid_data', `The columns are nested more than ${MAX_DEPTH} deep.`, {
      hint: 'Flatten the nested columns.',
    });
  }
  return parent.tables(slot);
}

function checkField(field: FlatTable, column: FlatTable, tally: Tally, depth: number): void {
  addText(field, SLOT.field.name, tally);
  checkMetadata(field, SLOT.field.metadata, tally);
  const number = field.byte(SLOT.field.typeNumber);
  const type = field.table(SLOT.field.type);
  if (type === undefined || number === TYPE.none) throw new RangeError('A field has no type.');
  const isUnion = number === TYPE.union && tally.unions && depth === 1;
  if ((REFUSED_TYPES.has(number) && !isUnion) || number > LAST_TYPE) throw notSupported(column, number, depth);
  // Throws if the vector is incomplete.
  if (isUnion) type.count(SLOT.union.typeIds, 4);
  if (number === TYPE.timestamp) addText(type, SLOT.timestamp.zone, tally);
  // Throws if the table of a dictionary or its index is incomplete.
  field.table(SLOT.field.dictionary)?.table(SLOT.dictionaryEncoding.indexType);
  const children = fieldsOf(field, SLOT.field.children, tally, depth + 1);
  if (LIST_TYPES.has(number) && children.length !== 1) throw new RangeError('A list does not have one child.');
  if (number === TYPE.map && !isPair(children[0])) throw new RangeError('A map does not consist of pairs.');
  for (const child of children) checkField(child, column, tally, depth + 1);
}

function isPair(entries: FlatTable): boolean {
  return entries.byte(SLOT.field.typeNumber) === TYPE.struct && entries.count(SLOT.field.children, 4) === 2;
}

function checkMetadata(parent: FlatTable, slot: number, tally: Tally): void {
  if (parent.count(slot, 4) > MAX_COLUMNS) throw new RangeError('There are too many metadata entries.');
  for (const entry of parent.tables(slot)) {
    addText(entry, SLOT.keyValue.key, tally);
    addText(entry, SLOT.keyValue.value, tally);
  }
}

function addText(table: FlatTable, slot: number, tally: Tally): void {
  tally.textBytes += table.count(slot, 1);
  if (tally.textBytes > MAX_TEXT_BYTES) throw new RangeError('The names and metadata are too long.');
}

function notSupported(column: FlatTable, number: number, depth: number): ServiceError {
  const refused = REFUSED_TYPES.get(number);
  const type = refused ? `the Arrow type ${refused.name}` : `the unknown Arrow type ${number}`;
  const name = quoted(column.text(SLOT.field.name));
  return new ServiceError(
    'invalid_data',
    `Column ${name} ${depth === 1 ? 'has' : 'contains'} ${type}, which this server does not support.`,
    { hint: `Cast it to ${refused?.cast ?? 'a type such as int64, float64 or utf8'}.` },
  );
}
