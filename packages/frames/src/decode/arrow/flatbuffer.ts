import { type FlatTable, MESSAGE_TYPE, readFlatbuffer as readRoot, SLOT } from '@svc/arrow';
import { ServiceError } from '@svc/errors';

/** Reads a root table with the given function; malformed bytes are `invalid_data` about `what`. */
export function readFlatbuffer<Result>(bytes: Uint8Array, what: string, read: (root: FlatTable) => Result): Result {
  // A buffer decodes short texts faster than a TextDecoder.
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return read(readRoot(bytes, (start, end) => buffer.toString('utf8', start, end)));
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('invalid_data', `${what} cannot be read: its bytes are not a valid Arrow message.`, {
      cause: error,
    });
  }
}

/** A summary of an Arrow IPC message header. */
export interface ArrowHeader {
  /** The rows of a batch; 0 for a schema or a dictionary. */
  readonly rows: number;
  /** The length of the message body. */
  readonly bodyLength: number;
  /** The columns of a schema; 0 for a batch or a dictionary. */
  readonly columns: number;
}

/** Reads a header that is separate from its body. */
export function readArrowHeader(header: Uint8Array): ArrowHeader {
  return readFlatbuffer(header, 'An Arrow message', (root) => {
    const type = root.byte(SLOT.message.headerType);
    const content = root.table(SLOT.message.header);
    return {
      rows: type === MESSAGE_TYPE.batch ? (content?.size(SLOT.recordBatch.rows) ?? 0) : 0,
      bodyLength: root.size(SLOT.message.bodyLength),
      columns: type === MESSAGE_TYPE.schema ? (content?.count(SLOT.schema.fields, OFFSET_BYTES) ?? 0) : 0,
    };
  });
}

/** A vector of tables holds their offsets. */
const OFFSET_BYTES = 4;
