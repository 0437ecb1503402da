/** How much is read at once. */
const BYTES = 64 * 1024;

/** More than so many are not kept. */
const MAX_KEPT = 32;

/** What small answers are read into and copied out of at once. */
export const SHARED_BUFFER: Uint8Array = Buffer.allocUnsafeSlow(BYTES);

/** A pool of buffers for the readers of large responses. */
export interface ReadBuffers {
  take(): Uint8Array;
  /** Takes one back in which nobody reads any more. */
  giveBack(buffer: Uint8Array): void;
}

export function createReadBuffers(): ReadBuffers {
  const kept: Uint8Array[] = [];
  return {
    take: () => kept.pop() ?? Buffer.allocUnsafeSlow(BYTES),
    giveBack: (buffer) => {
      if (buffer !== SHARED_BUFFER && kept.length < MAX_KEPT) kept.push(buffer);
    },
  };
}
