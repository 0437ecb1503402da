import { Data, DataType, type RecordBatch, type Schema, type Table, Vector } from 'apache-arrow';
import { typeOf, valueTypeOf } from '../arrow-types.ts';
import { columnInfo } from '../column-types.ts';
import { arrayTypeOf, chunksOf } from '../columns/arrow-data.ts';
import type { Values } from '../columns/column-data.ts';
import { createRecordBatch } from '../columns/create-record-batch.ts';
import { type FrameStream, streamOfBatches } from '../frame-stream.ts';
import { decodeSchema } from './arrow/arrow-schema.ts';
import { encodeSchema } from './arrow/arrow-schema-message.ts';

// A program can have a second copy of apache-arrow: another version, that of a linked package, or the one that `require`
// loads. The library dispatches by `instanceof`, so it writes the columns of another copy without their buffers.

/**
 * Returns a schema of this copy of apache-arrow: the same one if it is, else an equal one. A type that the server does not
 * support is `invalid_data`.
 */
export function adoptSchema(schema: Schema): Schema {
  if (schema.fields.every(isOwn)) return schema;
  return rebuilt(schemas, schema, () => {
    schema.fields.forEach(columnInfo);
    // Our own encoder and decoder know types by their ids, which all copies share.
    return decodeSchema(encodeSchema(schema));
  });
}

/** Returns a batch of this copy of apache-arrow: the same one if it is, else one with the same buffers. */
export function adoptBatch(batch: RecordBatch): RecordBatch {
  const columns: readonly Data[] = batch.data.children;
  if (columns.every(isOwn)) return batch;
  return rebuilt(batches, batch, () => {
    const schema = adoptSchema(batch.schema);
    const children = schema.fields.map((field, i) => adoptData(typeOf(field), columns[i]));
    return createRecordBatch(schema, batch.numRows, children);
  });
}

/** Creates a stream from an apache-arrow table, for example to put it into a store. */
export function streamFromTable(table: Table): FrameStream {
  return streamOfBatches(adoptSchema(table.schema), rowsOf(table));
}

/** An empty batch created by apache-arrow has nested columns without children. */
function* rowsOf({ batches: all }: Table): Generator<RecordBatch> {
  for (const batch of all) if (batch.numRows > 0) yield adoptBatch(batch);
}

/** The classes `Schema`, `RecordBatch` and `Data` accept objects of other copies as their instances; types do not. */
function isOwn({ type }: { readonly type: unknown }): boolean {
  return type instanceof DataType;
}

// Encoders recognize what they have already sent by its identity.
const schemas = new WeakMap<Schema, Schema>();
const batches = new WeakMap<RecordBatch, RecordBatch>();
const dictionaries = new WeakMap<Vector, Vector>();
const dictionaryParts = new WeakMap<Data, Data>();

function rebuilt<T extends object>(known: WeakMap<T, T>, foreign: T, rebuild: () => T): T {
  const own = known.get(foreign) ?? rebuild();
  known.set(foreign, own);
  return own;
}

function adoptData(type: DataType, data: Data): Data {
  const { dictionary, variadicBuffers } = data;
  const parts: readonly Data[] = data.children;
  return new Data(
    type,
    data.offset,
    data.length,
    data.nullCount,
    [data.valueOffsets, adoptValues(type, data), data.nullBitmap],
    parts.map((part, i) => adoptData(typeOf(type.children[i]), part)),
    DataType.isDictionary(type) && dictionary ? adoptDictionary(valueTypeOf(type), dictionary) : undefined,
    variadicBuffers,
  );
}

function adoptDictionary(type: DataType, dictionary: Vector): Vector {
  return rebuilt(dictionaries, dictionary, () => {
    const parts = chunksOf(dictionary).map((part) => rebuilt(dictionaryParts, part, () => adoptData(type, part)));
    return new Vector(parts);
  });
}

/** Old versions have 64-bit values as pairs of 32-bit ones. Only those that are not aligned to 64 bits are copied. */
function adoptValues(type: DataType, { values }: { readonly values: Values | undefined }): Values | undefined {
  const elements = arrayTypeOf(DataType.isDictionary(type) ? type.indices : type);
  if (values === undefined || values instanceof elements) return values;
  const isAligned = values.byteOffset % elements.BYTES_PER_ELEMENT === 0;
  const { buffer, byteOffset, byteLength } = isAligned ? values : values.slice();
  return new elements(buffer, byteOffset, byteLength / elements.BYTES_PER_ELEMENT);
}
