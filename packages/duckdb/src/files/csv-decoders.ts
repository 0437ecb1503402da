import { ServiceError } from '@svc/errors';

/** Converts the chunks of a text to UTF-8. A chunk may end inside a character. */
export interface Decoder {
  next(bytes: Uint8Array): Uint8Array;
  /** Fails if the text ends inside a character. */
  end(): void;
}

const nothing = (): void => undefined;

/** Leaves UTF-8 as it is: DuckDB checks it. */
export const UTF8_DECODER: Decoder = { next: (bytes) => bytes, end: nothing };

/** In ISO 8859-1 every byte is the code point of a character. */
export const LATIN1_DECODER: Decoder = { next: (bytes) => Buffer.from(latin1Text(bytes)), end: nothing };

function latin1Text(bytes: Uint8Array): string {
  return viewOf(bytes).toString('latin1');
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The characters of the bytes 80 to 9F in Windows-1252; a space for those that have none. */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';
const NO_CHARACTER = 0xffff;
/** The character of each byte. */
const WINDOWS_1252_UNITS = Uint16Array.from({ length: 256 }, (_, byte) => {
  const known = WINDOWS_1252[byte - 0x80] ?? String.fromCharCode(byte);
  return known === ' ' && byte !== 0x20 ? NO_CHARACTER : known.charCodeAt(0);
});

/** Creates a decoder of Windows-1252. Node's own decoders differ between versions in the bytes 80 to 9F. */
export function createWindows1252Decoder(): Decoder {
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

const BYTE_ORDER_MARK = '\uFEFF';
/** Surrogates that are not part of a pair. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const HIGH_SURROGATE_END = /[\uD800-\uDBFF]$/;

/** Creates a decoder of UTF-16, with or without a byte order mark. */
export function createUtf16Decoder(isBigEndian: boolean): Decoder {
  const position = createPosition(2);
  /** The bytes of a character that is not complete. */
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
      const hasMark = isStart && text.startsWith(BYTE_ORDER_MARK);
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
  /** Returns the error of a fault at an index of the text that follows. */
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
