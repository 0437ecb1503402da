import { createReadStream } from 'node:fs';
import { ServiceError } from '@svc/errors';

/** About the number of lines that DuckDB samples to detect the dialect of a file. */
const LOOKED_AT_LINES = 30_000;
const [QUOTE, LINE_FEED, CARRIAGE_RETURN] = [34, 10, 13];

/**
 * Finds the first line of a CSV file that does not match the lines before it, and returns an error about it, or undefined
 * if there is none. DuckDB says only that it cannot detect the dialect of such a file.
 */
export async function findBrokenLine(
  path: string,
  delimiter: string,
  signal?: AbortSignal,
): Promise<ServiceError | undefined> {
  const separator = delimiter.charCodeAt(0);
  let [line, start, values, columns] = [1, 1, 1, 0];
  let isQuoted = false;
  let isEmpty = true;
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Uint8Array>) {
    for (const byte of chunk) {
      if (byte === QUOTE) isQuoted = !isQuoted;
      else if (byte === separator && !isQuoted) values += 1;
      if (byte === LINE_FEED) line += 1;
      if (byte !== LINE_FEED || isQuoted) {
        isEmpty &&= byte === CARRIAGE_RETURN;
        continue;
      }
      if (columns === 0) columns = values;
      // An empty line is a null in a file of one column, and is ignored in others.
      if (values !== columns && !isEmpty)
        return broken(start, `has ${values} values, but there are ${columns} columns`);
      [start, values, isEmpty] = [line, 1, true];
      if (line > LOOKED_AT_LINES) return undefined;
    }
  }
  if (isQuoted) return broken(start, 'has an unterminated quote');
  return isEmpty || values === columns || columns === 0
    ? undefined
    : broken(start, `has ${values} values, but there are ${columns} columns`);
}

function broken(line: number, fault: string): ServiceError {
  return new ServiceError('invalid_data', `Line ${line} of the CSV file ${fault}.`, {
    hint: 'Correct the line, or set the dialect of the file with ?delimiter= and ?header=.',
  });
}
