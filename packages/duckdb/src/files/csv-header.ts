import { open } from 'node:fs/promises';
import { createCsvQuotes } from './csv-quotes.ts';

const LOOKED_AT_BYTES = 64 * 1024;

/** Returns the values of the first line of a CSV file, or undefined if the line is longer than the head. */
export async function firstLineOf(path: string, delimiter: string): Promise<readonly string[] | undefined> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOOKED_AT_BYTES));
    const text = buffer.toString('utf8', 0, bytesRead).replace(/^\uFEFF/, '');
    return splitLine(text, delimiter, bytesRead < LOOKED_AT_BYTES);
  } finally {
    await file.close();
  }
}

/** Returns the values of the first line. Its line ending may be missing if the text is the whole file. */
function splitLine(text: string, delimiter: string, isWhole = true): readonly string[] | undefined {
  const values: string[] = [];
  let value = '';
  const quotes = createCsvQuotes();
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (quotes.isQuoted && character === '"' && text[at + 1] === '"') value += text.charAt(++at);
    else if (quotes.takes(character.charCodeAt(0))) value += character === '"' ? '' : character;
    else if (character === '\n' || character === '\r') return [...values, value];
    else if (text.startsWith(delimiter, at)) {
      values.push(value);
      value = '';
      at += delimiter.length - 1;
      quotes.nextValue();
    } else value += character;
  }
  return isWhole && !quotes.isQuoted ? [...values, value] : undefined;
}

/** Whether the columns have the names in the line. DuckDB appends a number to a duplicate name. */
export function isHeaderOf(line: readonly string[], names: readonly string[]): boolean {
  return (
    line.length === names.length &&
    line.every((value, i) => {
      const name = names[i] ?? '';
      return (
        value === '' || name === value || (name.startsWith(`${value}_`) && /^\d+$/.test(name.slice(value.length + 1)))
      );
    })
  );
}
