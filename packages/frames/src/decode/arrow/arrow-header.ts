import { SLOT } from './arrow-slots.ts';
import { readFlatbuffer } from './flatbuffer.ts';

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
    const kind = root.byte(SLOT.message.headerType);
    const content = root.table(SLOT.message.header);
    return {
      rows: kind === RECORD_BATCH ? (content?.size(SLOT.recordBatch.rows) ?? 0) : 0,
      bodyLength: root.size(SLOT.message.bodyLength),
      columns: kind === SCHEMA ? (content?.count(SLOT.schema.fields, OFFSET_BYTES) ?? 0) : 0,
    };
  });
}

const SCHEMA = 1;
const RECORD_BATCH = 3;
/** A vector of tables holds their offsets. */
const OFFSET_BYTES = 4;
