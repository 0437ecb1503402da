import { closeSync, openSync, readSync } from 'node:fs';

const DELIMITERS = [',', ';', '\t', '|'] as const;
const LOOKED_AT_BYTES = 64 * 1024;

/**
 * What stands between the values of a CSV file: of the usual characters the one that its first line has most of. DuckDB
 * would look for one that fits all lines, and so take a file with one broken line for a file of one column.
 */
export function findDelimiter(path: string): string {
  return mostUsed(firstBytes(path));
}

function firstBytes(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(LOOKED_AT_BYTES);
    return bytes.toString('latin1', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/** Of the delimiters the one that the first line has most of, outside of quotes; a comma where it has none. */
export function mostUsed(text: string): string {
  const counts = new Map<string, number>();
  let isQuoted = false;
  for (const character of text) {
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === '\n' || character === '\r') break;
    else counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  return DELIMITERS.reduce((best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best));
}
