import { open } from 'node:fs/promises';

const DELIMITERS = [',', ';', '\t', '|'] as const;
const LOOKED_AT_BYTES = 64 * 1024;

/**
 * What stands between the values of a CSV file: of the usual characters the one that its first line has most of. DuckDB
 * would look for one that fits all lines, and so take a file with one broken line for a file of one column.
 */
export async function findDelimiter(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOOKED_AT_BYTES));
    return mostUsed(buffer.toString('latin1', 0, bytesRead));
  } finally {
    await file.close();
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
