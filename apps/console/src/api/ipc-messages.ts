import { type MessageHead, messageHead, notArrow, PREFIX_BYTES } from './ipc-message.ts';

/** A whole message of an Arrow IPC stream, with its prefix, metadata and body. */
export interface IpcMessage {
  readonly kind: MessageHead['kind'];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Splits an Arrow IPC stream into messages while its bytes arrive. */
export interface IpcSplitter {
  /** Returns the messages that are complete now. Throws if the bytes are not an Arrow stream. */
  push(chunk: Uint8Array): readonly IpcMessage[];
  /** Whether the mark at the end of the stream has come. A stream without it was cut off. */
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
          // A copy begins at offset 0, so that 64-bit values are aligned.
          messages.push({ kind: head.kind, bytes: buffer.slice(start, start + head.end) });
          start += head.end;
        }
      }
    },
  };
}
