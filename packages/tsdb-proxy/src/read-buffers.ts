/** The size of one read. */
const BYTES = 64 * 1024;

/** The most free buffers in the pool. */
const MAX_FREE = 32;

/** Small responses are read into this buffer and copied out of it immediately. */
export const SHARED_BUFFER: Uint8Array = Buffer.allocUnsafeSlow(BYTES);

/** A pool of buffers for the readers of large responses. */
export interface ReadBuffers {
  take(): Uint8Array;
  /** Returns a buffer that is no longer in use to the pool. */
  release(buffer: Uint8Array): void;
}

export function createReadBuffers(): ReadBuffers {
  const free: Uint8Array[] = [];
  return {
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(BYTES),
    release: (buffer) => {
      if (buffer !== SHARED_BUFFER && free.length < MAX_FREE) free.push(buffer);
    },
  };
}
