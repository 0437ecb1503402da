/** A request to write loaded rows. Both buffers are transferred. */
export interface ThreadRequest {
  /** The memory of the kernel that loaded the rows, in a buffer that may be longer. */
  readonly memory: ArrayBuffer;
  readonly memoryBytes: number;
  /** The output buffer, used from OUT_START. */
  readonly out: ArrayBuffer;
  readonly place: number;
  readonly first: number;
  readonly last: number;
  /** The maximum bytes of a row, except for its texts and items. */
  readonly rowBytes: number;
}

/** The reply; both buffers are transferred back. */
export interface ThreadReply {
  readonly memory: ArrayBuffer;
  readonly out: ArrayBuffer;
  /** The first row that was not written, for lack of space or because it is invalid. */
  readonly row: number;
  readonly bytes: number;
  /** Why the row could not be written. */
  readonly error?: Error;
}

/** The bytes reserved at the start of the output, for a separator before the first row. */
export const OUT_START = 16;
