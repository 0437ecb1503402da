import { type Data, DataType, type Field, type RecordBatch, type Schema } from 'apache-arrow';
import { childrenOf } from '../arrow-types.ts';
import { chunksOf } from './arrow-data.ts';

/** Counts the memory of a frame: whole buffers, each once even if batches share it, and the objects around them. */
export interface FrameBytes {
  /** Adds a batch, and returns the bytes it adds to those before it. */
  add(batch: RecordBatch): number;
}

// The overhead of the objects around the buffers, measured with frames of very many tiny batches.
const SCHEMA_BYTES = 1024;
const FIELD_BYTES = 512;
const BATCH_BYTES = 1024;
const COLUMN_BYTES = 512;
/** The maximum size of a character in a JavaScript string. */
const CHARACTER_BYTES = 2;

/** Creates a counter. */
export function createFrameBytes(): FrameBytes {
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

  return { add: (batch) => BATCH_BYTES + dataBytes(batch.data) };
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
