import { IncomingMessage } from 'node:http';

/** A longer chunk is passed on at once. */
const SHORT_BYTES = 4096;
/** The most bytes of short chunks that wait for the end of a turn. */
const MAX_WAITING_BYTES = 64 * 1024;
/** With this many short chunks, the rest of the connection is read in a later turn. */
const MANY_CHUNKS = 256;

/**
 * A request that joins the short chunks of its body, those of one turn of the event loop. Node parses up to 64 KiB of a
 * connection at once. A client can cut them into ten thousand chunks of one byte, and each one would cost the streams
 * behind this one 30 µs, instead of the 2 µs of the parser.
 */
export class JoinedBody extends IncomingMessage {
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    if (chunk === null || chunk.length > SHORT_BYTES) {
      this.#flush();
      return super.push(chunk, encoding);
    }
    if (this.#waiting.length === 0) setImmediate(() => this.#flush());
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes >= MAX_WAITING_BYTES) return this.#flush();
    const hasRoom = this.readableLength + this.#waitingBytes < this.readableHighWaterMark;
    return hasRoom && this.#waiting.length !== MANY_CHUNKS;
  }

  /** Node calls this for a body that was not read, and would then parse megabytes of it in one turn. */
  _dump(): void {
    this.resume();
  }

  #flush(): boolean {
    if (this.#waiting.length === 0) return true;
    const chunks = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return super.push(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  }
}
