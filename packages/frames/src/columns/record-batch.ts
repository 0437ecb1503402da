import { Data, DataType, makeData, type RecordBatch, type Schema, Vector } from 'apache-arrow';
import { typeOf, valueTypeOf } from '../arrow-types.ts';
import { createRecordBatch } from './create-record-batch.ts';
import type { ColumnData } from './column-data.ts';

/** The dictionary values of a frame, by dictionary id. */
export type Dictionaries = Map<number, Vector>;

/** Creates a record batch from checked columns, without copying. */
export function recordBatchFrom(
  schema: Schema,
  rows: number,
  columns: readonly ColumnData[],
  dictionaries: Dictionaries,
): RecordBatch {
  const children = schema.fields.map((field, i) => dataFrom(typeOf(field), columns[i], dictionaries));
  return createRecordBatch(schema, rows, children);
}

/** Creates Arrow data from checked buffers. */
export function dataFrom(type: DataType, column: ColumnData, dictionaries: Dictionaries): Data {
  const { length, nullCount, offsets, values, validity = new Uint8Array(0), parts, children = [] } = column;
  return new Data(
    type,
    0,
    length,
    nullCount,
    [offsets, values, validity],
    children.map((child, i) => dataFrom(typeOf(type.children[i]), child, dictionaries)),
    DataType.isDictionary(type) ? dictionaryOf(type.id, valueTypeOf(type), dictionaries) : undefined,
    parts,
  );
}

/** A dictionary may be missing if no row has a value. */
function dictionaryOf(id: number, type: DataType, dictionaries: Dictionaries): Vector {
  const dictionary = dictionaries.get(id) ?? new Vector([makeData({ type })]);
  dictionaries.set(id, dictionary);
  return dictionary;
}
