import { createReadStream } from 'node:fs';

/** The role of a byte in a CSV text. */
export type CsvToken =
  /** A byte of a value. All bytes of a delimiter but its last one are text, too. */
  | 'text'
  /** A quote that opens or closes a quoted value. */
  | 'quote'
  | 'delimiter'
  /** A line feed or carriage return outside quotes. */
  | 'line_end';

/**
 * Scans a CSV text byte by byte. Only a value that starts with a quote, after spaces, is quoted: `5" pipe` is not. The
 * second quote of an escaped pair is text.
 */
export interface CsvScanner {
  /** Whether the last byte was inside quotes. */
  readonly isQuoted: boolean;
  next(byte: number): CsvToken;
  /**
   * Returns the position of the next byte, from `at` on, that `next` must see; the length if there is none. The bytes
   * before it are text. Ten times as fast as `next` for each of them.
   */
  skipText(bytes: Uint8Array, at: number): number;
}

/** The byte that ends a line, alone or after a carriage return. */
export const LINE_FEED = 10;
/** The byte that ends a line in some files, alone or before a line feed. */
export const CARRIAGE_RETURN = 13;
const [QUOTE, SPACE] = [34, 32];
const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf);

/** Creates a scanner at the start of a text, after its byte order mark. Any of the delimiters separates values. */
export function createCsvScanner(delimiters: readonly string[]): CsvScanner {
  const matchers = delimiters.flatMap((delimiter) => matcherOf(delimiter) ?? []);
  const endsText = bytesOf(QUOTE, LINE_FEED, CARRIAGE_RETURN, ...delimiters.flatMap((one) => [...Buffer.from(one)]));
  /** Whether the value has had only spaces so far. */
  let isStart = true;
  let isQuotedValue = false;
  let isQuoted = false;
  let wasClosed = false;
  /** The last bytes of the value outside quotes. */
  let recent = 0;
  let count = 0;

  function startValue(): void {
    isStart = true;
    isQuotedValue = false;
    recent = 0;
    count = 0;
  }

  function takeQuote(): CsvToken {
    isQuoted = !isQuoted;
    const isEscaped = isQuoted && wasClosed;
    wasClosed = !isQuoted;
    recent = 0;
    count = 0;
    return isEscaped ? 'text' : 'quote';
  }

  return {
    get isQuoted() {
      return isQuoted;
    },
    next(byte) {
      isQuotedValue ||= isStart && byte === QUOTE;
      isStart &&= byte === SPACE;
      if (byte === QUOTE && isQuotedValue) return takeQuote();
      wasClosed = false;
      if (isQuoted) return 'text';
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        startValue();
        return 'line_end';
      }
      recent = ((recent << 8) | byte) >>> 0;
      count += 1;
      const isDelimiter = matchers.some(
        ({ length, mask, value }) => count >= length && (recent & mask) >>> 0 === value,
      );
      if (!isDelimiter) return 'text';
      startValue();
      return 'delimiter';
    },
    skipText(bytes, from) {
      const ends = isQuoted ? ENDS_QUOTED_TEXT : endsText;
      const { length } = bytes;
      let at = from;
      if (isStart && !ends[SPACE]) while (bytes[at] === SPACE) at += 1;
      const start = at;
      while (at < length && !ends[bytes[at] ?? 0]) at += 1;
      if (at > start) isStart = false;
      if (at > from) {
        wasClosed = false;
        count = 0;
      }
      return at;
    },
  };
}

/** Returns 1 for each of the bytes. */
function bytesOf(...bytes: readonly number[]): Uint8Array {
  const found = new Uint8Array(256);
  for (const byte of bytes) found[byte] = 1;
  return found;
}

const ENDS_QUOTED_TEXT = bytesOf(QUOTE, LINE_FEED, CARRIAGE_RETURN);

/** A delimiter of at most four bytes, as one integer. */
interface Matcher {
  readonly length: number;
  readonly mask: number;
  readonly value: number;
}

/** Returns undefined for a delimiter of another length, which `csvArguments` refuses. */
function matcherOf(delimiter: string): Matcher | undefined {
  const bytes = Buffer.from(delimiter);
  const { length } = bytes;
  if (length < 1 || length > 4) return undefined;
  return { length, mask: 2 ** (8 * length) - 1, value: bytes.readUIntBE(0, length) };
}

/** Returns the bytes of a text after its byte order mark, if it has one. */
export function withoutByteOrderMark(bytes: Buffer): Buffer {
  const hasMark = BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.length));
  return hasMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
}

/** A scanner reads a chunk in about a millisecond. The event loop turns between two chunks. */
const CHUNK_BYTES = 16 * 1024;

/** Reads the text of a file in short chunks. */
export function csvChunks(path: string, signal?: AbortSignal): AsyncIterable<Buffer> {
  return createReadStream(path, { highWaterMark: CHUNK_BYTES, signal }) as AsyncIterable<Buffer>;
}
