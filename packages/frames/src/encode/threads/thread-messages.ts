/** What a thread is asked: to write loaded rows. Both buffers are handed over. */
export interface ThreadRequest {
  /** The memory of the kernel that loaded the rows, in a buffer that may be longer. */
  readonly memory: ArrayBuffer;
  readonly memoryBytes: number;
  /** Where the bytes go, from OUT_START on. */
  readonly out: ArrayBuffer;
  readonly place: number;
  readonly first: number;
  readonly last: number;
  /** The most bytes a row takes beside its texts and items. */
  readonly rowBytes: number;
}

/** What came of it; both buffers come back. */
export interface ThreadReply {
  readonly memory: ArrayBuffer;
  readonly out: ArrayBuffer;
  /** The first row that is not written, because there is no room or it is broken. */
  readonly row: number;
  readonly bytes: number;
  /** Why it could not be written. */
  readonly error?: Error;
}

/** So many bytes at the start of the room are left free, for what belongs before the first row. */
export const OUT_START = 16;
