/** Counts the rows of a text format as its bytes arrive. */
export interface RowCounter {
  /** Returns the number of rows up to the end of this chunk. */
  count(chunk: Uint8Array): number;
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;

/** Creates a counter; undefined if the rows of the format cannot be counted without decoding them. */
export function createRowCounter(format: string): RowCounter | undefined {
  if (format !== 'csv' && format !== 'ndjson') return undefined;
  const isCsv = format === 'csv';
  // The first line of CSV is the header.
  let lines = isCsv ? -1 : 0;
  let isQuoted = false;
  return {
    count(chunk) {
      if (isCsv && (isQuoted || chunk.includes(QUOTE))) {
        for (const byte of chunk) {
          if (byte === QUOTE) isQuoted = !isQuoted;
          else if (byte === NEWLINE && !isQuoted) lines += 1;
        }
      } else {
        for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines += 1;
      }
      return Math.max(0, lines);
    },
  };
}
