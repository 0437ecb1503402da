import { SLOT } from './arrow-slots.ts';
import { readFlatbuffer } from './flatbuffer.ts';

/** What the header of a message of Arrow IPC says of it. */
export interface ArrowHeader {
  /** The rows of a batch; a schema and a dictionary have none. */
  readonly rows: number;
  /** How long the body is that belongs to it. */
  readonly bodyLength: number;
}

/** Reads a header that came apart from its body. */
export function readArrowHeader(header: Uint8Array): ArrowHeader {
  return readFlatbuffer(header, 'An Arrow message', (root) => {
    const isBatch = root.byte(SLOT.message.headerType) === RECORD_BATCH;
    const rows = isBatch ? (root.table(SLOT.message.header)?.size(SLOT.recordBatch.rows) ?? 0) : 0;
    return { rows, bodyLength: root.size(SLOT.message.bodyLength) };
  });
}

const RECORD_BATCH = 3;
