/**
 * Writes the value of one row at `at` and returns the position behind it. The caller has made room: a column says with
 * `fixedBytes` and `variableBytes` how much its cell can take.
 */
export type CellWriter = (out: Uint8Array, at: number, row: number) => number;

/** One column of a batch, ready to be written cell by cell. */
export interface ColumnWriter {
  readonly write: CellWriter;
  /** The most bytes a cell takes, beside what `variableBytes` says. */
  readonly fixedBytes: number;
  /** The most bytes the variable part of this row's cell takes; absent where every cell fits `fixedBytes`. */
  readonly variableBytes?: (row: number) => number;
}

/** Writes bytes that are JSON already. */
export function writeBytes(out: Uint8Array, at: number, bytes: Uint8Array): number {
  const { length } = bytes;
  if (length > 64) {
    out.set(bytes, at);
    return at + length;
  }
  for (let i = 0; i < length; i++) out[at + i] = bytes[i];
  return at + length;
}

/** Writes `null`. */
export function writeNull(out: Uint8Array, at: number): number {
  out[at] = 110;
  out[at + 1] = 117;
  out[at + 2] = 108;
  out[at + 3] = 108;
  return at + 4;
}

/** The bytes of `null`. */
export const NULL_BYTES = 4;

/** A row is written in one go. Values that share their bytes can make it far longer than the frame itself. */
export const MAX_ROW_BYTES = 128 * 1024 * 1024;
