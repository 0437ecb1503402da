import { type Data, DataType, type Field, type RecordBatch, type Schema } from 'apache-arrow';

/** Counts the memory a frame holds: whole buffers, each once however many batches share it, and what describes them. */
export interface FrameBytes {
  /** Adds a batch and returns how many bytes it holds that none before it did. */
  add(batch: RecordBatch): number;
}

// What the objects around the buffers take, found by measuring frames of very many tiny parts.
const SCHEMA_BYTES = 1024;
const FIELD_BYTES = 512;
const BATCH_BYTES = 1024;
const COLUMN_BYTES = 512;
/** A character of a JavaScript string, at the most. */
const CHARACTER_BYTES = 2;

/** A counter that has seen no batch yet. */
export function createFrameBytes(): FrameBytes {
  const seen = new Set<ArrayBufferLike>();

  function viewBytes(view: ArrayBufferView | undefined): number {
    if (view === undefined || seen.has(view.buffer)) return 0;
    seen.add(view.buffer);
    return view.buffer.byteLength;
  }

  function dataBytes(data: Data): number {
    const views = Object.values(data.buffers).concat(data.variadicBuffers);
    const own = views.reduce((bytes, view) => bytes + viewBytes(view), COLUMN_BYTES);
    return [...data.children, ...(data.dictionary?.data ?? [])].reduce((bytes, part) => bytes + dataBytes(part), own);
  }

  return { add: (batch) => BATCH_BYTES + dataBytes(batch.data) };
}

/** What a schema takes: names and metadata can be long. */
export function schemaBytes(schema: Schema): number {
  return schema.fields.reduce(
    (bytes, field) => bytes + fieldBytes(field),
    SCHEMA_BYTES + metadataBytes(schema.metadata),
  );
}

function fieldBytes(field: Field): number {
  const own = FIELD_BYTES + (field.name.length + zoneLength(field)) * CHARACTER_BYTES + metadataBytes(field.metadata);
  const children: readonly Field[] = field.type.children ?? [];
  return children.reduce((bytes, child) => bytes + fieldBytes(child), own);
}

/** The name of a time zone can be as long as any other. */
function zoneLength({ type }: Field): number {
  return DataType.isTimestamp(type) ? (type.timezone?.length ?? 0) : 0;
}

function metadataBytes(metadata: ReadonlyMap<string, string>): number {
  let characters = 0;
  for (const [key, value] of metadata) characters += key.length + value.length;
  return characters * CHARACTER_BYTES;
}
