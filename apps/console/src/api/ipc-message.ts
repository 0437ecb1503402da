import { type FlatTable, flatTable } from './flatbuffer.ts';

/** What a message of an Arrow stream says of itself. */
export interface MessageHead {
  readonly kind: 'schema' | 'dictionary' | 'rows';
  readonly header: FlatTable;
  /** Where the body is: counted from the place of the message. */
  readonly bodyStart: number;
  readonly end: number;
}

/** The length of the mark at the end of a stream, and of what is before the metadata of a message. */
export const PREFIX_BYTES = 8;
const CONTINUATION = -1;
/** The metadata of a schema of 100 000 columns has a few MB; more than this is no Arrow stream. */
const MAX_METADATA_BYTES = 64 * 1024 * 1024;

const KINDS = [undefined, 'schema', 'dictionary', 'rows'] as const;

/**
 * Reads the head of the message at a place. Returns undefined if it is not all there, and `end` for the mark at the end of the
 * stream. Throws if the bytes are not an Arrow stream.
 */
export function messageHead(bytes: Uint8Array): MessageHead | 'end' | undefined {
  if (bytes.length < PREFIX_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const metadataBytes = view.getInt32(4, true);
  if (view.getInt32(0, true) !== CONTINUATION || metadataBytes < 0 || metadataBytes > MAX_METADATA_BYTES) {
    throw notArrow();
  }
  if (metadataBytes === 0) return 'end';
  const bodyStart = PREFIX_BYTES + metadataBytes;
  if (bytes.length < bodyStart) return undefined;
  try {
    const message = flatTable(view, PREFIX_BYTES);
    const kind = KINDS[message.byte(1)];
    const header = message.table(2);
    if (kind === undefined || header === undefined) throw notArrow();
    return { kind, header, bodyStart, end: bodyStart + message.long(3) };
  } catch (error) {
    throw error instanceof RangeError ? notArrow() : error;
  }
}

/** The error of bytes that are not an Arrow stream. */
export function notArrow(): Error {
  return new Error('The answer is not a valid Arrow stream.');
}
