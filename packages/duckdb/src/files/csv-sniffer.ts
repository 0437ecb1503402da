import { open } from 'node:fs/promises';
import { createCsvQuotes } from './csv-quotes.ts';

const DELIMITERS = [',', ';', '\t', '|'] as const;
const LOOKED_AT_BYTES = 64 * 1024;

/**
 * Detects the delimiter of a CSV file: the usual one that occurs most often in its first line. DuckDB looks for one that
 * fits all lines, and so takes a file with one broken line for a file of one column.
 */
export async function findDelimiter(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOOKED_AT_BYTES));
    // In Latin-1 a byte order mark is three characters.
    return mostUsed(buffer.toString('latin1', 0, bytesRead).replace(/^\xEF\xBB\xBF/, ''));
  } finally {
    await file.close();
  }
}

/** Returns the delimiter that occurs most often in the first line, outside quotes; a comma if there is none. */
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
