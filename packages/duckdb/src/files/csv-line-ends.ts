import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@svc/errors';
import { unlinkIfThere } from '../disk/durable-files.ts';
import { CARRIAGE_RETURN, createCsvScanner, csvChunks, LINE_FEED, withoutByteOrderMark } from './csv-scanner.ts';
import { hasUnknownDialect } from './file-errors.ts';
import type { FileSource } from './frame-files.ts';
import { explainDialect, readCsvHead } from './csv-sniffer.ts';

type Text = AsyncIterable<Buffer>;
type CsvFile = Extract<FileSource, { kind: 'csv' }>;

/**
 * Runs `work` with a source whose lines end alike. DuckDB refuses a CSV file with several kinds of line ends, so such a
 * file is copied next to the new one, with line feeds, and `work` runs again.
 */
export async function withUniformLines<T>(
  from: FileSource,
  path: string,
  work: (source: FileSource) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  try {
    return await work(from);
  } catch (error) {
    if (from.kind !== 'csv' || !hasUnknownDialect(error) || !(await mayMixLineEnds(from.path, signal))) throw error;
  }
  const copy = `${path}.lines`;
  const { delimiter } = await readCsvHead(from.path, from.delimiter);
  const file = await open(copy, 'wx', 0o600);
  try {
    await pipeline(withLineFeeds(csvChunks(from.path, signal), delimiter), file.createWriteStream(), { signal });
    return await work({ ...from, path: copy });
  } finally {
    await unlinkIfThere(copy).catch(() => {});
  }
}

/** Whether a file has several kinds of line ends, in quotes or not. */
async function mayMixLineEnds(path: string, signal?: AbortSignal): Promise<boolean> {
  const kinds = new Set<number>();
  let last = 0;
  for await (const chunk of csvChunks(path, signal)) {
    // A line end that two chunks share is seen as two kinds, which only costs a copy.
    if (last === CARRIAGE_RETURN && chunk[0] !== LINE_FEED) kinds.add(CARRIAGE_RETURN);
    last = chunk.at(-1) ?? last;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) {
      kinds.add(chunk[at - 1] === CARRIAGE_RETURN ? LINE_FEED + CARRIAGE_RETURN : LINE_FEED);
    }
    for (let at = chunk.indexOf(CARRIAGE_RETURN); at >= 0; at = chunk.indexOf(CARRIAGE_RETURN, at + 1)) {
      if (at + 1 < chunk.length && chunk[at + 1] !== LINE_FEED) kinds.add(CARRIAGE_RETURN);
    }
    if (kinds.size > 1) return true;
  }
  return false;
}

/** Replaces the ends of lines by line feeds. Line breaks in quotes are part of a value, and stay. */
async function* withLineFeeds(text: Text, delimiter: string): AsyncGenerator<Uint8Array, void, undefined> {
  const scanner = createCsvScanner([delimiter]);
  let isFirst = true;
  let last = 0;
  for await (const chunk of text) {
    const bytes = isFirst ? withoutByteOrderMark(chunk) : chunk;
    const lines = Buffer.alloc(bytes.length);
    let length = 0;
    for (let from = 0; from < bytes.length;) {
      const at = scanner.skipText(bytes, from);
      length += bytes.copy(lines, length, from, at);
      if (at > from) last = 0;
      from = at + 1;
      const byte = bytes[at];
      if (byte === undefined) break;
      const isEnd = scanner.next(byte) === 'line_end';
      const isSecond = isEnd && byte === LINE_FEED && last === CARRIAGE_RETURN;
      if (!isSecond) lines[length++] = isEnd ? LINE_FEED : byte;
      last = isEnd ? byte : 0;
    }
    isFirst = false;
    yield lines.subarray(0, length);
  }
}

/** Returns the error about a CSV file that is read in place, or one that names the line at fault. */
export async function explainFile(error: Error, { path, delimiter: given }: CsvFile): Promise<Error> {
  const { delimiter } = await readCsvHead(path, given);
  return (await mixedLineEnds(path, delimiter)) ?? explainDialect(error, path, delimiter);
}

/** Returns an error about the first line that ends in another way than the first; undefined if there is none. */
async function mixedLineEnds(path: string, delimiter: string, signal?: AbortSignal): Promise<ServiceError | undefined> {
  if (!(await mayMixLineEnds(path, signal))) return undefined;
  const scanner = createCsvScanner([delimiter]);
  let [line, first, end] = [1, '', ''];
  for await (const chunk of csvChunks(path, signal)) {
    for (const byte of chunk) {
      const isEnd = scanner.next(byte) === 'line_end';
      const isSecond = byte === LINE_FEED && end === 'CR';
      if (end !== '' && !(isEnd && isSecond)) {
        first ||= end;
        if (end !== first) return mixedError(line, end, first);
        line += 1;
      }
      if (!isEnd && byte === LINE_FEED) line += 1;
      end = isEnd ? (isSecond ? 'CR LF' : byte === LINE_FEED ? 'LF' : 'CR') : '';
    }
  }
  return end === '' || first === '' || end === first ? undefined : mixedError(line, end, first);
}

function mixedError(line: number, end: string, first: string): ServiceError {
  return new ServiceError('invalid_data', `Line ${line} of the CSV file ends with ${end}, but line 1 with ${first}.`, {
    hint: 'Save the file with one kind of line end, or put it as an upload, which may have several.',
  });
}
