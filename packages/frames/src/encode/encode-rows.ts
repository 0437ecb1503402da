import { setImmediate } from 'node:timers/promises';
import type { FrameStream } from '../frame-stream.ts';
import { allocate, batchRows, CHUNK_BYTES } from './batch-rows.ts';
import type { RowFormat } from './row-format.ts';
import { threadPool, type ThreadPool } from './threads/encode-threads.ts';
import { writeInThreads } from './threads/write-in-threads.ts';

/** Options of the chunks. */
export interface ChunkOptions {
  /**
   * Reuse the buffers: each chunk after the first is valid until the next `next()`. This costs far less than new memory,
   * and several threads can write a long response. Default false: each chunk belongs to the reader.
   */
  readonly reuseBuffers?: boolean;
}

/** The first chunk is small, so that a short result is one small buffer and a long one starts soon. */
const FIRST_CHUNK_BYTES = 128 * 1024;
/** Reserved for the bytes after the last row. */
const TAIL_BYTES = 64;

/**
 * Encodes a frame row by row, in chunks of 256 KiB, the first of 128 KiB; chunks from other threads have up to 2 MiB.
 * The event loop runs between chunks.
 */
export async function* encodeRows(
  source: FrameStream,
  format: RowFormat,
  { reuseBuffers = false }: ChunkOptions,
  pool: ThreadPool = threadPool,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { head, separatorBytes } = format;
  const batches = batchRows(source, format);
  const owner = {};
  let reused: Uint8Array | undefined;
  let out = allocate(head.length + FIRST_CHUNK_BYTES);
  out.set(head);
  let at = head.length;
  let count = 0;
  for await (const rows of batches) {
    const { cursor } = rows;
    count = rows.start + rows.length;
    for (;;) {
      at = cursor.write(out, at, out.length - TAIL_BYTES);
      if (cursor.row === rows.length) break;
      if (at > 0) {
        yield out.subarray(0, at);
        await setImmediate();
        out = reused ?? allocate(CHUNK_BYTES);
        if (reuseBuffers) reused = out;
        at = 0;
      } else {
        for await (const chunk of rows.writeLong(cursor.row, reuseBuffers)) {
          if (at > 0) yield out.subarray(0, at);
          out = chunk;
          at = chunk.length;
        }
        cursor.skip();
      }
      const threads = reuseBuffers && at === 0 ? pool.take(owner) : undefined;
      if (threads === undefined) continue;
      count = yield* writeInThreads({ current: rows, others: batches, separatorBytes }, threads);
      // The separator after the last row was not sent: continue as if it were still in the buffer.
      at = separatorBytes;
      break;
    }
  }
  // The separator after the last row is still in the buffer: a chunk is sent only if another row follows.
  if (count > 0) at -= separatorBytes;
  const tail = format.tail(count);
  if (at + tail.length > out.length) {
    yield out.subarray(0, at);
    out = allocate(tail.length);
    at = 0;
  }
  out.set(tail, at);
  if (at + tail.length > 0) yield out.subarray(0, at + tail.length);
}
