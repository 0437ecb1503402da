import { PREFIX_BYTES, typeName } from '@svc/arrow';
import { type ArrowTable, createArrowDecoder, type MessageHead, messageHead, notArrow } from './decode-arrow.ts';
import type { ArrowField } from './ipc-schema.ts';
import type { ColumnInfo } from './api.ts';

/** The answer has Arrow data the console does not know: it must be read as a JSON table. */
export class UnknownArrow extends Error {
  override readonly name = 'UnknownArrow';
}

/** Reads an answer in the format `arrow` while its bytes arrive. */
export interface ArrowReader {
  /** Undefined until they have come. */
  readonly columns: readonly ColumnInfo[] | undefined;
  /** True once the end of the answer has come. */
  readonly isComplete: boolean;
  /** Returns the rows that are complete now. Throws an `UnknownArrow` if it cannot decode them. */
  push(chunk: Uint8Array): readonly ArrowTable[];
}

/** Creates a reader. */
export function createArrowReader(): ArrowReader {
  const splitter = createIpcSplitter();
  const decoder = createArrowDecoder();
  let columns: ArrowReader['columns'];

  function decode(bytes: Uint8Array): ArrowTable {
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw new UnknownArrow('The Arrow data is of an unknown kind.', { cause });
    }
  }

  return {
    get columns() {
      return columns;
    },
    get isComplete() {
      return splitter.isEnded;
    },
    push(chunk) {
      return splitter.push(chunk).flatMap(({ kind, bytes }) => {
        const table = decode(bytes);
        if (kind === 'schema') columns = columnsOf(table.fields);
        return kind === 'rows' ? [table] : [];
      });
    },
  };
}

/** A whole message of an Arrow IPC stream, with its prefix, metadata and body. */
export interface IpcMessage {
  readonly kind: MessageHead['kind'];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Splits an Arrow IPC stream into messages while its bytes arrive. */
export interface IpcSplitter {
  /** Returns the messages that are complete now. Throws if the bytes are not an Arrow stream. */
  push(chunk: Uint8Array): readonly IpcMessage[];
  /** True if the mark at the end of the stream has come. A stream without it was cut off. */
  readonly isEnded: boolean;
}

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

  return {
    get isEnded() {
      return isEnded;
    },
    push(chunk) {
      append(chunk);
      const messages: IpcMessage[] = [];
      for (;;) {
        if (isEnded && end > start) throw notArrow();
        const head = isEnded ? undefined : messageHead(buffer.subarray(start, end));
        if (head === undefined || (head !== 'end' && head.end > end - start)) return messages;
        if (head === 'end') {
          isEnded = true;
          start += PREFIX_BYTES;
        } else {
          // A copy begins at offset 0, so 64-bit values are aligned.
          messages.push({ kind: head.kind, bytes: buffer.slice(start, start + head.end) });
          start += head.end;
        }
      }
    },
  };
}

/** Returns the columns of an Arrow schema, with the type names of the server. */
export function columnsOf(fields: readonly ArrowField[]): readonly ColumnInfo[] {
  return fields.map((field) => ({ name: field.name, type: typeName(field) ?? 'STRING' }));
}
