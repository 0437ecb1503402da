import { createReadStream } from 'node:fs';
import { ServiceError } from '@svc/errors';
import type { CsvEncoding, CsvOptions } from '@svc/frames';

type Body = AsyncIterable<Uint8Array>;
type Chunks = AsyncGenerator<Uint8Array, void, undefined>;

/**
 * The text of a CSV upload in UTF-8, without the lines to skip. DuckDB can do neither: its other encodings are an
 * extension, and it takes a quote in a skipped line for the start of a value.
 */
export async function* csvText(body: Body, { encoding, skip = 0 }: CsvOptions): Chunks {
  const text = inUtf8(body, encoding);
  yield* skip === 0 ? text : withoutLines(text, skip);
}

/** The longest byte order mark. */
const MARK_BYTES = 4;

async function* inUtf8(body: Body, encoding: CsvEncoding | undefined): Chunks {
  let head: Uint8Array = new Uint8Array(0);
  let decoder: Decoder | undefined;
  for await (const chunk of body) {
    const bytes = decoder === undefined ? Buffer.concat([head, chunk]) : chunk;
    if (decoder === undefined && bytes.length < MARK_BYTES) {
      head = bytes;
      continue;
    }
    decoder ??= decoderFor(bytes, encoding);
    yield decoder.next(bytes);
  }
  if (decoder === undefined) {
    decoder = decoderFor(head, encoding);
    yield decoder.next(head);
  }
  decoder.end();
}

function decoderFor(head: Uint8Array, encoding: CsvEncoding | undefined): Decoder {
  switch (encoding) {
    case undefined:
      return detectedDecoder(head);
    case 'utf-8':
      return UTF8_DECODER;
    case 'latin-1':
      return LATIN1_DECODER;
    case 'windows-1252':
      return createWindows1252Decoder();
    case 'utf-16':
      return createUtf16Decoder(startsBigEndian(head));
    case 'utf-16le':
    case 'utf-16be':
      return createUtf16Decoder(encoding === 'utf-16be');
    default:
      return encoding satisfies never;
  }
}

function detectedDecoder(head: Uint8Array): Decoder {
  if (isUtf16(head)) return createUtf16Decoder(startsBigEndian(head));
  // A text rarely begins with NUL characters, but half of the bytes of an English text in UTF-16 are zero.
  if (!head.subarray(0, MARK_BYTES).includes(0)) return UTF8_DECODER;
  throw new ServiceError('invalid_data', 'Line 1 of the CSV file is not UTF-8 text: it has a NUL byte at its start.', {
    hint: isUtf32(head) ? 'It looks like UTF-32: save it as UTF-8.' : 'If it is UTF-16, send ?encoding=utf-16.',
  });
}

/** True if these first bytes have the byte order mark of UTF-16. */
export function isUtf16(head: Uint8Array): boolean {
  return hasUtf16Mark(head) && !isUtf32(head);
}

function isUtf32([first, second, third, fourth]: Uint8Array): boolean {
  return first === 0xff && second === 0xfe && third === 0 && fourth === 0;
}

function hasUtf16Mark([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

/** Without a byte order mark the first character decides: the header of most files starts with a letter of ASCII. */
function startsBigEndian(head: Uint8Array): boolean {
  const [first, second] = head;
  return hasUtf16Mark(head) ? first === 0xfe : first === 0 && second !== 0;
}

/** Leaves out the first lines. They need not be CSV. */
async function* withoutLines(text: Body, skip: number): Chunks {
  let lines = 0;
  let hasRest = false;
  /** After a carriage return, a line feed ends the same line. */
  let isReturn = false;
  for await (const chunk of text) {
    let at = 0;
    for (; at < chunk.length && (lines < skip || isReturn); at++) {
      const byte = chunk[at];
      if (isReturn && byte !== LINE_FEED && lines === skip) break;
      if (byte === CARRIAGE_RETURN || (byte === LINE_FEED && !isReturn)) lines += 1;
      isReturn = byte === CARRIAGE_RETURN;
    }
    if (lines < skip || at === chunk.length) continue;
    isReturn = false;
    hasRest = true;
    yield chunk.subarray(at);
  }
  if (hasRest) return;
  throw new ServiceError('invalid_data', `The CSV file has no line after the ${skip} lines to skip.`, {
    hint: 'Skip only the lines before the header; skip counts lines, also empty ones.',
  });
}

/** Converts the chunks of a text to UTF-8. A chunk may end inside a character. */
interface Decoder {
  next(bytes: Uint8Array): Uint8Array;
  /** Fails if the text ends inside a character. */
  end(): void;
}

const nothing = (): void => undefined;

/** DuckDB checks UTF-8 itself. */
const UTF8_DECODER: Decoder = { next: (bytes) => bytes, end: nothing };

/** In ISO 8859-1 every byte is the code point of a character. */
const LATIN1_DECODER: Decoder = {
  next: ({ buffer, byteOffset, byteLength }) =>
    Buffer.from(Buffer.from(buffer, byteOffset, byteLength).toString('latin1')),
  end: nothing,
};

/** The characters of the bytes 80 to 9F in Windows-1252; a space for a byte without one. */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';
const NO_CHARACTER = 0xffff;
/** The character of each byte. */
const WINDOWS_1252_UNITS = Uint16Array.from({ length: 256 }, (_, byte) => {
  const known = WINDOWS_1252[byte - 0x80] ?? String.fromCharCode(byte);
  return known === ' ' && byte !== 0x20 ? NO_CHARACTER : known.charCodeAt(0);
});

/** Creates a decoder of Windows-1252. Node's own decoders differ between versions in the bytes 80 to 9F. */
function createWindows1252Decoder(): Decoder {
  const position = createPosition(1);
  return {
    next(bytes) {
      const units = new Uint16Array(bytes.length);
      for (let at = 0; at < bytes.length; at++) units[at] = WINDOWS_1252_UNITS[bytes[at] ?? 0] ?? NO_CHARACTER;
      const text = Buffer.from(units.buffer).toString('utf16le');
      const at = units.indexOf(NO_CHARACTER);
      if (at >= 0) {
        const byte = bytes[at] ?? 0;
        throw position.fault(text, at, `the byte ${byte.toString(16).toUpperCase()} is not Windows-1252`);
      }
      position.pass(text);
      return Buffer.from(text);
    },
    end: nothing,
  };
}

const UTF16_MARK = '\uFEFF';
/** Surrogates outside a pair. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const HIGH_SURROGATE_END = /[\uD800-\uDBFF]$/;

/** Creates a decoder of UTF-16, with or without a byte order mark. */
function createUtf16Decoder(isBigEndian: boolean): Decoder {
  const position = createPosition(2);
  /** The bytes of an incomplete character. */
  let rest: Uint8Array = new Uint8Array(0);
  let isStart = true;

  function take(bytes: Uint8Array): string {
    const all = Buffer.concat([rest, bytes]);
    const units = all.subarray(0, all.length - (all.length % 2));
    const text = (isBigEndian ? units.swap16() : units).toString('utf16le');
    const kept = HIGH_SURROGATE_END.test(text) ? 2 : 0;
    if (isBigEndian) units.subarray(units.length - kept).swap16();
    rest = all.subarray(units.length - kept);
    return kept === 0 ? text : text.slice(0, -1);
  }

  return {
    next(bytes) {
      const text = take(bytes);
      const lone = text.search(LONE_SURROGATE);
      if (lone >= 0) throw position.fault(text, lone, 'half of a surrogate pair is not UTF-16');
      position.pass(text);
      const hasMark = isStart && text.startsWith(UTF16_MARK);
      isStart &&= text === '';
      return Buffer.from(hasMark ? text.slice(1) : text);
    },
    end() {
      if (rest.length > 0) throw position.fault('', 0, 'the file ends inside a character of UTF-16');
    },
  };
}

/** The position in a file, for errors. */
interface Position {
  /** Moves past a text. */
  pass(text: string): void;
  /** Returns the error of a fault at an index of the next text. */
  fault(text: string, at: number, what: string): ServiceError;
}

function createPosition(characterBytes: number): Position {
  let line = 1;
  let bytes = 0;
  return {
    pass(text) {
      line += lineFeedsIn(text);
      bytes += characterBytes * text.length;
    },
    fault(text, at, what) {
      const place = `Line ${line + lineFeedsIn(text.slice(0, at))} of the CSV file, byte ${bytes + characterBytes * at}`;
      return new ServiceError('invalid_data', `${place}: ${what}.`, {
        hint: 'Send the encoding of the file as ?encoding=, or save the file as UTF-8.',
      });
    },
  };
}

function lineFeedsIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** The role of a byte in a CSV text. */
type CsvToken =
  /** A byte of a value. All bytes of a delimiter but its last one are text, too. */
  | 'text'
  /** A quote at the start or end of a quoted value. */
  | 'quote'
  | 'delimiter'
  /** A line feed or carriage return outside quotes. */
  | 'line_end';

/**
 * Scans a CSV text byte by byte. Only a quote at the start of a value, after spaces, quotes it: `5" pipe` is text. The
 * second quote of an escaped pair is text.
 */
interface CsvScanner {
  /** True if the last byte was inside quotes. */
  readonly isQuoted: boolean;
  next(byte: number): CsvToken;
  /** Skips text from `at` on. Returns the position of the next byte for `next`. Ten times as fast as `next` per byte. */
  skipText(bytes: Uint8Array, at: number): number;
}

export const LINE_FEED = 10;
export const CARRIAGE_RETURN = 13;
const [QUOTE, SPACE] = [34, 32];
const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf);

/** Creates a scanner at the start of a text, after its byte order mark. Any of the delimiters separates values. */
export function createCsvScanner(delimiters: readonly string[]): CsvScanner {
  const matchers = delimiters.flatMap((delimiter) => matcherOf(delimiter) ?? []);
  const endsText = bytesOf(QUOTE, LINE_FEED, CARRIAGE_RETURN, ...delimiters.flatMap((one) => [...Buffer.from(one)]));
  /** The value has had only spaces so far. */
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

/** Returns undefined for a delimiter of another length: `checkedDelimiter` refuses it. */
function matcherOf(delimiter: string): Matcher | undefined {
  const bytes = Buffer.from(delimiter);
  const { length } = bytes;
  if (length < 1 || length > 4) return undefined;
  return { length, mask: 2 ** (8 * length) - 1, value: bytes.readUIntBE(0, length) };
}

/** Returns the bytes of a text after its byte order mark. */
export function withoutByteOrderMark(bytes: Buffer): Buffer {
  const hasMark = BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.length));
  return hasMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
}

/** A scanner reads a chunk in about a millisecond. The event loop turns between two chunks. */
const CHUNK_BYTES = 16 * 1024;

/** Reads the text of a file in short chunks, without its byte order mark. */
export async function* csvChunks(path: string, signal?: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  const chunks = createReadStream(path, { highWaterMark: CHUNK_BYTES, signal }) as AsyncIterable<Buffer>;
  let isFirst = true;
  for await (const chunk of chunks) {
    yield isFirst ? withoutByteOrderMark(chunk) : chunk;
    isFirst = false;
  }
}

/** How a file ends. */
interface CsvEnd {
  readonly isQuoted: boolean;
  /** True if text follows the last token. */
  readonly hasText: boolean;
}

/** Passes the tokens of a file to `take` until it returns true. `hasText`: text precedes the token. */
export async function scanCsv(
  path: string,
  delimiter: string,
  take: (token: CsvToken, byte: number, hasText: boolean) => boolean,
  signal?: AbortSignal,
): Promise<CsvEnd> {
  const scanner = createCsvScanner([delimiter]);
  let hasText = false;
  for await (const text of csvChunks(path, signal)) {
    for (let from = 0; from < text.length;) {
      const at = scanner.skipText(text, from);
      hasText ||= at > from;
      from = at + 1;
      const byte = text[at];
      if (byte === undefined) break;
      if (take(scanner.next(byte), byte, hasText)) return { isQuoted: scanner.isQuoted, hasText: false };
      hasText = false;
    }
  }
  return { isQuoted: scanner.isQuoted, hasText };
}
