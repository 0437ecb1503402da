import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { Data, DataType, type RecordBatch, type Schema, type Table, Vector } from 'apache-arrow';
import { columnInfo, typeOf, valueTypeOf } from '../column-types.ts';
import { arrayTypeOf, chunksOf, createRecordBatch, offsetsOf, valuesOf } from '../columns/record-batch.ts';
import { isListWithOffsets, type Values } from '../columns/column-data.ts';
import { type FrameStream, streamOfBatches } from '../streams.ts';
import { areWholeDays, DATE_HINT, isDate64, isWholeDay } from './arrow/batch-columns.ts';
import { decodeSchema } from './arrow/read-schema.ts';
import { encodeSchema } from './arrow/write-schema.ts';

// A program can have a second copy of apache-arrow: another version, that of a linked package, or the one `require`
// loads. The library dispatches by `instanceof`, so it writes the columns of another copy without their buffers.

/**
 * Returns a schema of this copy of apache-arrow: the same one if it is, else an equal one. A type the server does not
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

/**
 * Returns a batch of this copy of apache-arrow: the same one if it is, else one with the same buffers. A date64 value that
 * is not a whole day is `invalid_data`.
 */
export function adoptBatch(batch: RecordBatch): RecordBatch {
  const adopted = ownBatch(batch);
  if (checked.has(adopted)) return adopted;
  for (const [i, field] of adopted.schema.fields.entries()) checkDates(field.name, adopted.data.children[i]);
  checked.add(adopted);
  return adopted;
}

function ownBatch(batch: RecordBatch): RecordBatch {
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
/** Batches whose dates are whole days. */
const checked = new WeakSet<RecordBatch>();
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

function checkDates(column: string, data: Data | undefined): void {
  if (data === undefined || !hasBrokenDate(data)) return;
  for (let row = 0; row < data.length; row++) {
    const millis = brokenDate(data, row);
    if (millis === undefined) continue;
    const fault = `row ${row} has the date64 value ${millis}, which is not a whole day`;
    throw new ServiceError('invalid_data', `Column ${quoted(column)} of a batch: ${fault}.`, { hint: DATE_HINT });
  }
}

/** True if a column contains a date64 value that is not a whole day; perhaps only the unused value of a null. */
function hasBrokenDate(data: Data): boolean {
  const type = typeOf(data);
  if (isDate64(type)) return !areWholeDays(datesOf(data));
  const parts: readonly Data[] = DataType.isDictionary(type) ? chunksOf(data.dictionary) : data.children;
  return parts.some(hasBrokenDate);
}

/** Returns the first date64 value of a row that is not a whole day. */
function brokenDate(data: Data, row: number): bigint | undefined {
  if (!data.getValid(row)) return undefined;
  const type = typeOf(data);
  if (isDate64(type))
    return datesOf(data)
      .subarray(row, row + 1)
      .find((millis) => !isWholeDay(millis));
  for (const [part, from, to] of insideOf(type, data, row)) {
    for (let at = from; at < to; at++) {
      const found = brokenDate(part, at);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function datesOf(data: Data): BigInt64Array {
  const { buffer, byteOffset, byteLength } = valuesOf(data);
  return new BigInt64Array(buffer, byteOffset, byteLength / 8);
}

type Inside = readonly (readonly [part: Data, from: number, to: number])[];

/** Returns the children of a row, or the chunk of its dictionary, and where its values are in them. */
function insideOf(type: DataType, data: Data, row: number): Inside {
  const parts: readonly Data[] = data.children;
  if (DataType.isDictionary(type)) return inDictionary(chunksOf(data.dictionary), Number(valuesOf(data)[row]));
  const offsets = isListWithOffsets(type) ? offsetsOf(data) : undefined;
  const perRow = DataType.isFixedSizeList(type) ? type.listSize : 1;
  const startOf = (at: number): number => (offsets ? Number(offsets[at]) : at * perRow);
  return parts.map((part) => [part, startOf(row), startOf(row + 1)]);
}

function inDictionary(chunks: readonly Data[], index: number): Inside {
  let start = 0;
  for (const chunk of chunks) {
    if (index < start + chunk.length) return [[chunk, index - start, index - start + 1]];
    start += chunk.length;
  }
  return [];
}
