import { SLOT } from './arrow-slots.ts';
import { readFlatbuffer } from './flatbuffer.ts';

/** What the header of a message of Arrow IPC says of it. */
export interface ArrowHeader {
  /** The rows of a batch; a schema and a dictionary have none. */
  readonly rows: number;
  /** How long the body is that belongs to it. */
  readonly bodyLength: number;
  /** The columns of a schema; a batch and a dictionary have none. */
  readonly columns: number;
}

/** Reads a header that came apart from its body. */
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
/** A vector of tables holds the offset of each. */
const OFFSET_BYTES = 4;
