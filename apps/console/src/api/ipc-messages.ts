/** A whole message of an Arrow IPC stream, with its prefix, metadata and body. */
export type IpcMessage =
  | { readonly kind: 'schema' | 'rows'; readonly bytes: Uint8Array<ArrayBuffer> }
  | {
      readonly kind: 'dictionary';
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly id: bigint;
      /** Whether the values follow those of the dictionary before, instead of replacing them. */
      readonly isDelta: boolean;
    };

/** Splits an Arrow IPC stream into messages while its bytes arrive. */
export interface IpcSplitter {
  /** Returns the messages that are complete now. Throws if the bytes are not an Arrow stream. */
  push(chunk: Uint8Array): readonly IpcMessage[];
  /** Whether the mark at the end of the stream has come. A stream without it was cut off. */
  readonly isEnded: boolean;
}

const CONTINUATION = -1;
const PREFIX_BYTES = 8;
/** The metadata of a schema of 100 000 columns has a few MB; more than this is no Arrow stream. */
const MAX_METADATA_BYTES = 64 * 1024 * 1024;

/** Creates a splitter. */
export function createIpcSplitter(): IpcSplitter {
  let buffer = new Uint8Array(0);
  let start = 0;
  let end = 0;
  let isEnded = false;

  function append(chunk: Uint8Array): void {
    if (end + chunk.length > buffer.length) {
      const held = buffer.subarray(start, end);
      const size = held.length + chunk.length;
      const room = size <= buffer.length ? buffer : new Uint8Array(size * 2);
      room.set(held);
      buffer = room;
      start = 0;
      end = held.length;
    }
    buffer.set(chunk, end);
    end += chunk.length;
  }

  /** Returns the length of the message at the start; undefined if it is not known yet, 0 for the mark at the end. */
  function messageLength(): number | undefined {
    if (end - start < PREFIX_BYTES) return undefined;
    const view = new DataView(buffer.buffer, start, end - start);
    const metadataBytes = view.getInt32(4, true);
    if (view.getInt32(0, true) !== CONTINUATION || metadataBytes < 0 || metadataBytes > MAX_METADATA_BYTES) {
      throw notArrow();
    }
    if (metadataBytes === 0) return 0;
    if (view.byteLength < PREFIX_BYTES + metadataBytes) return undefined;
    const bodyBytes = readMessage(view).bodyBytes;
    if (bodyBytes < 0n || bodyBytes > BigInt(Number.MAX_SAFE_INTEGER)) throw notArrow();
    return PREFIX_BYTES + metadataBytes + Number(bodyBytes);
  }

  return {
    get isEnded() {
      return isEnded;
    },
    push(chunk) {
      append(chunk);
      const messages: IpcMessage[] = [];
      for (;;) {
        if (isEnded && end > start) throw notArrow();
        const length = isEnded ? undefined : messageLength();
        if (length === undefined || length > end - start) return messages;
        if (length === 0) {
          isEnded = true;
          start += PREFIX_BYTES;
        } else {
          // A copy begins at offset 0, so that 64-bit values are aligned.
          messages.push(messageFrom(buffer.slice(start, start + length)));
          start += length;
        }
      }
    },
  };
}

const HEADER_SCHEMA = 1;
const HEADER_DICTIONARY = 2;
const HEADER_ROWS = 3;

function messageFrom(bytes: Uint8Array<ArrayBuffer>): IpcMessage {
  const view = new DataView(bytes.buffer);
  const { kind, header } = readMessage(view);
  if (kind === HEADER_SCHEMA) return { kind: 'schema', bytes };
  if (kind === HEADER_ROWS) return { kind: 'rows', bytes };
  if (kind !== HEADER_DICTIONARY || header === undefined) throw notArrow();
  return guarded(() => {
    const table = indirect(view, header);
    const id = fieldAt(view, table, 0);
    const isDelta = fieldAt(view, table, 2);
    return {
      kind: 'dictionary',
      bytes,
      id: id === undefined ? 0n : view.getBigInt64(id, true),
      isDelta: isDelta !== undefined && view.getUint8(isDelta) !== 0,
    };
  });
}

interface MessageFields {
  readonly kind: number;
  /** Where the offset of the header's table is. */
  readonly header: number | undefined;
  readonly bodyBytes: bigint;
}

/** Reads the flatbuffer `Message` after the prefix. */
function readMessage(view: DataView): MessageFields {
  return guarded(() => {
    const table = indirect(view, PREFIX_BYTES);
    const kind = fieldAt(view, table, 1);
    const bodyLength = fieldAt(view, table, 3);
    return {
      kind: kind === undefined ? 0 : view.getUint8(kind),
      header: fieldAt(view, table, 2),
      bodyBytes: bodyLength === undefined ? 0n : view.getBigInt64(bodyLength, true),
    };
  });
}

function indirect(view: DataView, at: number): number {
  return at + view.getUint32(at, true);
}

/** Returns where a field of a flatbuffer table is; undefined if it has its default. */
function fieldAt(view: DataView, table: number, index: number): number | undefined {
  const vtable = table - view.getInt32(table, true);
  const slot = 4 + index * 2;
  if (slot >= view.getUint16(vtable, true)) return undefined;
  const offset = view.getUint16(vtable + slot, true);
  return offset === 0 ? undefined : table + offset;
}

/** Offsets that point outside of the message are a `RangeError` of the view. */
function guarded<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof RangeError ? notArrow() : error;
  }
}

function notArrow(): Error {
  return new Error('The answer is not a valid Arrow stream.');
}
