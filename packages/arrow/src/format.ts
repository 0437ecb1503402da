/** The start of every message: a continuation marker, and the length of its metadata; 0 is the end of the stream. */
export interface MessagePrefix {
  readonly isMarked: boolean;
  readonly length: number;
}

/** The size of a prefix in bytes. */
export const PREFIX_BYTES = 8;

/** The maximum size of the metadata of a message, or of the footer of a file. */
export const MAX_METADATA_BYTES = 1 << 26;

const CONTINUATION = 0xffffffff;

/** Reads a prefix; undefined if there are too few bytes. */
export function prefixOf(bytes: Uint8Array): MessagePrefix | undefined {
  if (bytes.length < PREFIX_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { isMarked: view.getUint32(0, true) === CONTINUATION, length: view.getInt32(4, true) };
}

/** The types of messages. */
export const MESSAGE_TYPE = { schema: 1, dictionary: 2, batch: 3 } as const;

/** The field numbers of the Arrow flatbuffer tables, by their names in the format. */
export const SLOT = {
  message: { version: 0, headerType: 1, header: 2, bodyLength: 3, metadata: 4 },
  footer: { schema: 1, dictionaries: 2, batches: 3 },
  schema: { endianness: 0, fields: 1, metadata: 2 },
  field: { name: 0, nullable: 1, typeNumber: 2, type: 3, dictionary: 4, children: 5, metadata: 6 },
  keyValue: { key: 0, value: 1 },
  int: { bits: 0, isSigned: 1 },
  decimal: { precision: 0, scale: 1, bits: 2 },
  time: { unit: 0, bits: 1 },
  timestamp: { unit: 0, zone: 1 },
  union: { mode: 0, typeIds: 1 },
  /** The only value of the other types: a unit, a precision, a width or a flag. */
  type: { value: 0 },
  dictionaryEncoding: { id: 0, indexType: 1, isOrdered: 2 },
  dictionaryBatch: { id: 0, data: 1, isDelta: 2 },
  recordBatch: { rows: 0, nodes: 1, buffers: 2, compression: 3, partCounts: 4 },
  compression: { codec: 0, method: 1 },
} as const;

/** A block of a footer: the offset of a message, and the lengths of its metadata and its body. */
export const BLOCK = { sizes: 3, bytes: 24, offset: 0, bodyLength: 2 } as const;

/** The key of field metadata for a type Arrow does not have. */
export const TYPE_METADATA_KEY = 'svc:type';

/** The key of field metadata for an Arrow extension type. */
export const EXTENSION_METADATA_KEY = 'ARROW:extension:name';

/** The extension type for UUIDs: fixed-size binary of 16 bytes. */
export const UUID_EXTENSION = 'arrow.uuid';
