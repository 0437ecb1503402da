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

/** The bounds of cells that are written one after the other, with `more` bytes around them. */
export function totalBytes(columns: readonly ColumnWriter[], more: number): Omit<ColumnWriter, 'write'> {
  const variable = columns.flatMap((column) => column.variableBytes ?? []);
  const fixedBytes = columns.reduce((bytes, column) => bytes + column.fixedBytes, more);
  if (variable.length === 0) return { fixedBytes };
  const variableBytes = (row: number): number => {
    let bytes = 0;
    // Beyond the limit the row is refused, so there is no need to know by how much.
    for (let i = 0; i < variable.length && bytes <= MAX_ROW_BYTES; i++) bytes += variable[i](row);
    return bytes;
  };
  return { fixedBytes, variableBytes };
}

/** A column whose cells stand between quotes. */
export function quotedColumn(column: ColumnWriter): ColumnWriter {
  const { write } = column;
  return {
    ...column,
    write: (out, at, row) => {
      out[at] = 34;
      const to = write(out, at + 1, row);
      out[to] = 34;
      return to + 1;
    },
    fixedBytes: column.fixedBytes + 2,
  };
}

/** Writes bytes as they are. */
export function writeBytes(out: Uint8Array, at: number, bytes: Uint8Array): number {
  const { length } = bytes;
  if (length > 64) {
    out.set(bytes, at);
    return at + length;
  }
  for (let i = 0; i < length; i++) out[at + i] = bytes[i];
  return at + length;
}

/** Writes characters that are all ASCII. */
export function writeAscii(out: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i);
  return at + text.length;
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
