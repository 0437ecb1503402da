import { type FileHandle, open } from 'node:fs/promises';
import { createCsvScanner, LINE_FEED } from './csv-scanner.ts';

/** A shorter file has no excerpts: it is soon read again. */
const MIN_FILE_BYTES = 1024 * 1024;
const EXCERPT_BYTES = 16 * 1024;
/** The number of excerpts before the end of the file. */
const EXCERPTS = 8;

/** What a line of a CSV file looks like. */
interface LineForm {
  readonly delimiter: string;
  readonly columns: number;
}

/**
 * Reads lines from the end of a CSV file and from places before it, the end first; undefined if the file is short or no
 * line is found. A value in quotes may have lines that look like rows, so the excerpts prove nothing.
 */
export async function readExcerpts(path: string, form: LineForm): Promise<Uint8Array | undefined> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size < MIN_FILE_BYTES) return undefined;
    const last = size - EXCERPT_BYTES;
    const excerpts = [await linesAt(file, last, form, true)];
    for (let i = 1; i <= EXCERPTS; i++) {
      excerpts.push(await linesAt(file, Math.floor((i * last) / (EXCERPTS + 1)), form));
    }
    const lines = Buffer.concat(excerpts);
    return lines.length === 0 ? undefined : lines;
  } finally {
    await file.close();
  }
}

/** Reads the complete lines at a position; none if one of them has another number of values. */
async function linesAt(file: FileHandle, position: number, form: LineForm, isEnd = false): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(EXCERPT_BYTES + 1), 0, EXCERPT_BYTES, position);
  let end = bytesRead;
  // The last line may have no line end.
  if (isEnd && buffer[end - 1] !== LINE_FEED) buffer[end++] = LINE_FEED;
  const first = buffer.subarray(0, end).indexOf(LINE_FEED) + 1;
  return completeLines(buffer.subarray(first, end), form);
}

const NO_LINES = new Uint8Array(0);

function completeLines(text: Uint8Array, { delimiter, columns }: LineForm): Uint8Array {
  const scanner = createCsvScanner([delimiter]);
  let values = 1;
  let end = 0;
  let isEmpty = true;
  for (const [at, byte] of text.entries()) {
    const token = scanner.next(byte);
    if (token === 'delimiter') values += 1;
    if (token !== 'line_end') isEmpty = false;
    if (token !== 'line_end' || byte !== LINE_FEED) continue;
    if (values !== columns && !isEmpty) return NO_LINES;
    end = at + 1;
    [values, isEmpty] = [1, true];
  }
  return text.subarray(0, end);
}
