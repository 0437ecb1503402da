/** The magic bytes at the start and the end of a Parquet file. */
export const PARQUET_MAGIC = 'PAR1';
/** A Parquet file ends with the length of its footer, then the magic bytes. */
export const PARQUET_TAIL_BYTES = 8;

/** Returns the footer length from the last bytes of a file, or undefined if they do not end a Parquet file. */
export function parseParquetTail(end: Buffer): number | undefined {
  const at = end.length - PARQUET_TAIL_BYTES;
  return at >= 0 && end.toString('latin1', at + 4) === PARQUET_MAGIC ? end.readUInt32LE(at) : undefined;
}

/** Returns the bytes that follow a footer. */
export function encodeParquetTail(footerBytes: number): Buffer {
  const tail = Buffer.alloc(PARQUET_TAIL_BYTES);
  tail.writeUInt32LE(footerBytes);
  tail.write(PARQUET_MAGIC, 4, 'latin1');
  return tail;
}
