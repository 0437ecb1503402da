import { open } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { MAX_COLUMNS } from '@svc/frames/internal';
import { createCsvQuotes } from './csv-quotes.ts';

/** The longest line that DuckDB reads. */
const MAX_LINE_BYTES = 2_000_000;
const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];
const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf);

/**
 * Counts the columns in the first line of a CSV file. Refuses a line that is too long or has too many columns: DuckDB
 * would take many seconds, and all of its memory, to find that out.
 */
export async function checkCsvHead(path: string, delimiter: string): Promise<number> {
  const head = await readHead(path);
  const { columns, isEnded, isQuoted } = measureLine(head, Buffer.from(delimiter));
  if (columns > MAX_COLUMNS) {
    throw new ServiceError(
      'invalid_data',
      `The CSV file has ${columns}${isEnded ? '' : ' or more'} columns; at most ${MAX_COLUMNS} are allowed.`,
      { hint: 'Send fewer columns, or set the delimiter with ?delimiter=.' },
    );
  }
  if (isEnded || head.length <= MAX_LINE_BYTES) return columns;
  const fault = isQuoted ? 'has an unterminated quote' : 'is too long';
  throw new ServiceError(
    'invalid_data',
    `Line 1 of the CSV file ${fault}: it is longer than ${MAX_LINE_BYTES} bytes.`,
    {
      hint: 'Check that its lines end with a line feed, and that every quote is closed.',
    },
  );
}

async function readHead(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, MAX_LINE_BYTES + 1)));
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

interface MeasuredLine {
  readonly columns: number;
  readonly isEnded: boolean;
  readonly isQuoted: boolean;
}

/** Counts the columns of the first line, and checks whether the line ends. */
function measureLine(text: Buffer, delimiter: Buffer): MeasuredLine {
  const isShort = delimiter.length === 1;
  const quotes = createCsvQuotes();
  const hasMark = text.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  let columns = 1;
  for (let at = hasMark ? BYTE_ORDER_MARK.length : 0; at < text.length; at++) {
    const byte = text[at];
    if (quotes.takes(byte)) continue;
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) return { columns, isEnded: true, isQuoted: false };
    if (byte === delimiter[0] && (isShort || text.subarray(at, at + delimiter.length).equals(delimiter))) {
      columns += 1;
      at += delimiter.length - 1;
      quotes.nextValue();
    }
  }
  const { isQuoted } = quotes;
  return { columns, isEnded: text.length <= MAX_LINE_BYTES && !isQuoted, isQuoted };
}
