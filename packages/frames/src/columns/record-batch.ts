import { Data, DataType, type Field, makeData, RecordBatch, Schema, Struct, Vector } from 'apache-arrow';
import { childrenOf, typeOf, valueTypeOf } from '../column-types.ts';
import type { ColumnData, Values } from './column-data.ts';

// apache-arrow declares the buffers of a column as `any`, because they depend on its type. These functions return them
// with their types.

/** The constructor of a typed array. */
export interface TypedArrayType<Elements extends Values> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): Elements;
  new (buffer: ArrayBuffer, byteOffset: number, length: number): Elements;
}

/** Returns the array type of the values of a fixed-width type. */
export function arrayTypeOf({ ArrayType }: { readonly ArrayType: TypedArrayType<Values> }): TypedArrayType<Values> {
  return ArrayType;
}

/** Returns the values of a fixed-width column, or its dictionary indices. */
export function valuesOf({ values }: { readonly values: Values }): Values {
  return values;
}

/** Returns the values of a column of bits, bytes, texts or views. */
export function valueBytes({ values }: { readonly values: Uint8Array }): Uint8Array {
  return values;
}

/** Returns the offsets of a column of variable-length values. */
export function offsetsOf({
  valueOffsets,
}: {
  readonly valueOffsets: Int32Array | BigInt64Array;
}): Int32Array | BigInt64Array {
  return valueOffsets;
}

/** Returns the chunks of a vector. */
export function chunksOf(vector: { readonly data: readonly Data[] } | undefined): readonly Data[] {
  return vector?.data ?? [];
}

const EMPTY_SCHEMA = new Schema([]);

/**
 * Creates a record batch from columns that are known to match the schema. The constructor of apache-arrow compares all
 * columns with each other and builds a new schema: half a second for 10 000 columns.
 */
export function createRecordBatch(schema: Schema, rows: number, children: Data[]): RecordBatch {
  const data = makeData({ type: new Struct(schema.fields), length: rows, nullCount: 0, children });
  return Object.assign(new RecordBatch(EMPTY_SCHEMA, makeData({ type: new Struct([]), length: 0 })), { schema, data });
}

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

// The overhead of the objects around the buffers, measured with frames of very many tiny batches.
const SCHEMA_BYTES = 1024;
const FIELD_BYTES = 512;
const BATCH_BYTES = 1024;
const COLUMN_BYTES = 512;
/** The maximum size of a character in a JavaScript string. */
const CHARACTER_BYTES = 2;

/** Counts the memory of a frame: whole buffers, each once even if batches share it, and the objects around them. */
export function createFrameBytes() {
  const seen = new Set<ArrayBufferLike>();

  function viewBytes(view: ArrayBufferView | undefined): number {
    if (view === undefined || seen.has(view.buffer)) return 0;
    seen.add(view.buffer);
    return view.buffer.byteLength;
  }

  function ownBytes({ valueOffsets, values, nullBitmap, typeIds, variadicBuffers }: DataViews): number {
    const bytes = viewBytes(valueOffsets) + viewBytes(values) + viewBytes(nullBitmap) + viewBytes(typeIds);
    return variadicBuffers.reduce((sum, view) => sum + viewBytes(view), bytes + COLUMN_BYTES);
  }

  function dataBytes(data: Data): number {
    let bytes = ownBytes(data);
    for (const part of data.children) bytes += dataBytes(part);
    for (const part of chunksOf(data.dictionary)) bytes += dataBytes(part);
    return bytes;
  }

  /** Adds a batch, and returns the bytes it adds to those before it. */
  return { add: (batch: RecordBatch): number => BATCH_BYTES + dataBytes(batch.data) };
}

interface DataViews {
  readonly valueOffsets: ArrayBufferView | undefined;
  readonly values: ArrayBufferView | undefined;
  readonly nullBitmap: ArrayBufferView | undefined;
  readonly typeIds: ArrayBufferView | undefined;
  readonly variadicBuffers: readonly ArrayBufferView[];
}

/** Returns the memory of a schema: names and metadata can be long. */
export function schemaBytes(schema: Schema): number {
  return schema.fields.reduce(
    (bytes, field) => bytes + fieldBytes(field),
    SCHEMA_BYTES + metadataBytes(schema.metadata),
  );
}

function fieldBytes(field: Field): number {
  const own = FIELD_BYTES + (field.name.length + zoneLength(field)) * CHARACTER_BYTES + metadataBytes(field.metadata);
  return childrenOf(field).reduce((bytes, child) => bytes + fieldBytes(child), own);
}

/** The name of a time zone has no length limit either. */
function zoneLength({ type }: Field): number {
  return DataType.isTimestamp(type) ? (type.timezone?.length ?? 0) : 0;
}

function metadataBytes(metadata: ReadonlyMap<string, string>): number {
  let characters = 0;
  for (const [key, value] of metadata) characters += key.length + value.length;
  return characters * CHARACTER_BYTES;
}
