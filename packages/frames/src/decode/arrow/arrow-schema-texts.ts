import { DataType, type Field, type Schema } from 'apache-arrow';
import { typeOf, valueTypeOf } from '../../arrow-types.ts';
import { SLOT } from './arrow-slots.ts';
import type { FlatTable } from './flatbuffer.ts';

/**
 * Restores the texts of the flatbuffer in the parsed schema: apache-arrow drops a U+FEFF at the start of a text, so
 * that two names can become one, and reads empty texts that some writers omit as null.
 */
export function restoreTexts(schema: Schema, table: FlatTable | undefined): void {
  if (table === undefined) throw new RangeError('There is no schema.');
  restoreMetadata(schema.metadata, table.tables(SLOT.schema.metadata));
  restoreFields(schema.fields, table.tables(SLOT.schema.fields), new Set());
}

function restoreFields(fields: readonly Field[], tables: readonly FlatTable[], restored: Set<DataType>): void {
  for (const [i, field] of fields.entries()) {
    const table = tables[i];
    const type = typeOf(field);
    Object.assign(field, { name: table.text(SLOT.field.name) });
    restoreMetadata(field.metadata, table.tables(SLOT.field.metadata));
    restoreType(DataType.isDictionary(type) ? valueTypeOf(type) : type, table, restored);
  }
}

function restoreType(type: DataType, table: FlatTable, restored: Set<DataType>): void {
  // Columns that share a dictionary share its type, from the first of them.
  if (restored.has(type)) return;
  restored.add(type);
  if (DataType.isTimestamp(type) && type.timezone) {
    Object.assign(type, { timezone: table.table(SLOT.field.type)?.text(SLOT.timestamp.zone) });
  }
  const children: readonly Field[] = type.children ?? [];
  restoreFields(children, table.tables(SLOT.field.children), restored);
}

function restoreMetadata(metadata: Map<string, string>, entries: readonly FlatTable[]): void {
  metadata.clear();
  for (const entry of entries) metadata.set(entry.text(SLOT.keyValue.key), entry.text(SLOT.keyValue.value));
}
