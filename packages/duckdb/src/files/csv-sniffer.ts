import { open } from 'node:fs/promises';
import { createCsvQuotes } from './csv-quotes.ts';

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
    // In this encoding a byte order mark is three characters.
    return mostUsed(buffer.toString('latin1', 0, bytesRead).replace(/^\xEF\xBB\xBF/, ''));
  } finally {
    await file.close();
  }
}

/** Of the delimiters the one that the first line has most of, outside of quotes; a comma where it has none. */
export function mostUsed(text: string): string {
  const counts = new Map<string, number>(DELIMITERS.map((delimiter) => [delimiter, 0]));
  const quotes = createCsvQuotes();
  for (const character of text) {
    if (quotes.takes(character.charCodeAt(0))) continue;
    if (character === '\n' || character === '\r') break;
    const count = counts.get(character);
    if (count === undefined) continue;
    counts.set(character, count + 1);
    quotes.nextValue();
  }
  return DELIMITERS.reduce((best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best));
}
