import { ServiceError } from '@svc/errors';
import type { CsvEncoding, CsvOptions } from '@svc/frames';
import {
  createUtf16Decoder,
  createWindows1252Decoder,
  type Decoder,
  LATIN1_DECODER,
  UTF8_DECODER,
} from './csv-decoders.ts';
import { CARRIAGE_RETURN, LINE_FEED } from './csv-scanner.ts';

type Body = AsyncIterable<Uint8Array>;
type Chunks = AsyncGenerator<Uint8Array, void, undefined>;

/**
 * Returns the text of a CSV upload as DuckDB reads it: in UTF-8, without the lines to skip. DuckDB itself can do neither:
 * its other encodings are an extension, and it takes a quote in a skipped line for the start of a value.
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
      return createUtf16Decoder(isBigEndian(head));
    case 'utf-16le':
    case 'utf-16be':
      return createUtf16Decoder(encoding === 'utf-16be');
    default:
      return encoding satisfies never;
  }
}

function detectedDecoder(head: Uint8Array): Decoder {
  if (isUtf16(head)) return createUtf16Decoder(isBigEndian(head));
  // A text rarely begins with NUL characters, but half of the bytes of an English text in UTF-16 are zero.
  if (!head.subarray(0, MARK_BYTES).includes(0)) return UTF8_DECODER;
  throw new ServiceError('invalid_data', 'Line 1 of the CSV file is not UTF-8 text: it has a NUL byte at its start.', {
    hint: isUtf32(head) ? 'It looks like UTF-32: save it as UTF-8.' : 'If it is UTF-16, send ?encoding=utf-16.',
  });
}

/** Whether a file with these first bytes is in UTF-16, by its byte order mark. */
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
function isBigEndian(head: Uint8Array): boolean {
  const [first, second] = head;
  return hasUtf16Mark(head) ? first === 0xfe : first === 0 && second !== 0;
}

/** Leaves out the first lines, which need not be CSV. */
async function* withoutLines(text: Body, skip: number): Chunks {
  let lines = 0;
  let hasRest = false;
  /** Whether the last byte was a carriage return: a line feed after it ends the same line. */
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
