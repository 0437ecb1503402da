const HEX: usize = memory.data<u8>([48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 97, 98, 99, 100, 101, 102]);
/** The letter of a control character's short escape; 0 if it has none. */
const ESCAPES: usize = memory.data<u8>([0, 0, 0, 0, 0, 0, 0, 0, 98, 116, 110, 0, 102, 114, 0, 0]);

/** Copies bytes sixteen at a time, so up to fifteen too many. */
export function copyBytes(at: usize, from: usize, length: usize): usize {
  let i: usize = 0;
  do {
    v128.store(at + i, v128.load(from + i));
    i += 16;
  } while (i < length);
  return at + length;
}

/** Returns the position in 16 bytes of the first that needs an escape in a JSON string; 16 if there is none. */
function firstEscape(bytes: v128): usize {
  // As signed numbers, bytes that are not ASCII are negative.
  const low = i8x16.lt_s(bytes, i8x16.splat(32));
  const quote = i8x16.eq(bytes, i8x16.splat(34));
  const backslash = i8x16.eq(bytes, i8x16.splat(92));
  return ctz(i8x16.bitmask(v128.or(low, v128.or(quote, backslash))) | 0x1_0000);
}

/** Writes UTF-8 as a JSON string. Invalid UTF-8 becomes U+FFFD. */
export function writeJsonText(at: usize, start: usize, end: usize): usize {
  store<u8>(at, 34);
  let to = at + 1;
  let from = start;
  while (from < end) {
    const bytes = v128.load(from);
    v128.store(to, bytes);
    const length = min(firstEscape(bytes), end - from);
    to += length;
    from += length;
    if (length == 16 || from == end) continue;
    const byte = load<u8>(from);
    if (byte < 0x80) {
      to = writeEscape(to, byte);
      from++;
    } else {
      do {
        const next = sequenceEnd(from, end);
        to = writeSequence(to, from, next);
        from = next;
      } while (from < end && load<u8>(from) >= 0x80);
    }
  }
  store<u8>(to, 34);
  return to + 1;
}

function writeEscape(at: usize, byte: u32): usize {
  store<u8>(at, 92);
  const letter = byte >= 32 ? byte : byte < 16 ? load<u8>(ESCAPES + byte) : 0;
  if (letter != 0) {
    store<u8>(at, letter, 1);
    return at + 2;
  }
  store<u8>(at, 117, 1);
  store<u16>(at, 0x3030, 2);
  writeHex(at + 4, byte);
  return at + 6;
}

/** Counts the maximum bytes that `writeJsonText` writes. */
export function countJsonText(start: usize, end: usize): u64 {
  let bytes: u64 = end - start + 2;
  for (let i = start; i < end; i++) {
    const byte = load<u8>(i);
    bytes += byte < 32 ? 5 : byte == 34 || byte == 92 ? 1 : byte >= 0x80 ? 2 : 0;
  }
  return bytes;
}

/** Returns the position in 16 bytes of the first that needs attention in a CSV field; 16 if there is none. */
function firstOddity(bytes: v128): usize {
  const breaks = v128.or(i8x16.eq(bytes, i8x16.splat(10)), i8x16.eq(bytes, i8x16.splat(13)));
  const marks = v128.or(i8x16.eq(bytes, i8x16.splat(34)), i8x16.eq(bytes, i8x16.splat(44)));
  const beyond = i8x16.lt_s(bytes, i8x16.splat(0));
  return ctz(i8x16.bitmask(v128.or(beyond, v128.or(breaks, marks))) | 0x1_0000);
}

/**
 * Writes UTF-8 as a CSV field: in quotes if it contains a comma, a quote or a line break, or if it is empty, as no
 * bytes mean null. Invalid UTF-8 becomes U+FFFD. The output is never longer than the text as a JSON string.
 */
export function writeCsvText(at: usize, start: usize, end: usize): usize {
  if (start == end) return writeQuotedField(at, start, end);
  let to = at;
  let from = start;
  while (from < end) {
    const bytes = v128.load(from);
    v128.store(to, bytes);
    const length = min(firstOddity(bytes), end - from);
    to += length;
    from += length;
    if (length == 16 || from == end) continue;
    if (load<u8>(from) < 0x80) return writeQuotedField(at, start, end);
    do {
      const next = sequenceEnd(from, end);
      to = writeSequence(to, from, next);
      from = next;
    } while (from < end && load<u8>(from) >= 0x80);
  }
  return to;
}

function writeQuotedField(at: usize, start: usize, end: usize): usize {
  store<u8>(at, 34);
  let to = at + 1;
  let from = start;
  while (from < end) {
    const byte = load<u8>(from);
    if (byte < 0x80) {
      if (byte == 34) store<u8>(to++, 34);
      store<u8>(to++, byte);
      from++;
    } else {
      const next = sequenceEnd(from, end);
      to = writeSequence(to, from, next);
      from = next;
    }
  }
  store<u8>(to, 34);
  return to + 1;
}

/** Counts the quotes in the JSON from `start` to `end`; -1 if it can be a CSV field unchanged. */
export function countQuotes(start: usize, end: usize): i32 {
  let quotes = 0;
  let commas = 0;
  for (let i = start; i < end; i++) {
    const byte = load<u8>(i);
    if (byte == 34) quotes++;
    else if (byte == 44) commas++;
  }
  return quotes + commas == 0 ? -1 : quotes;
}

/** Puts the bytes from `start` to `end`, which contain `quotes` quotes, in quotes. */
export function quoteField(start: usize, end: usize, quotes: usize): usize {
  // From the end, so that no byte is overwritten before it has moved.
  let to = end + quotes + 1;
  store<u8>(to, 34);
  for (let i = end; i > start;) {
    const byte = load<u8>(--i);
    store<u8>(--to, byte);
    if (byte == 34) store<u8>(--to, 34);
  }
  store<u8>(start, 34);
  return end + quotes + 2;
}

/** Returns the length of a sequence with this first byte; 0 if the byte is invalid. */
function wantedLength(lead: u32): usize {
  if (lead < 0xe0) return lead < 0xc2 ? 0 : 2;
  return lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

/**
 * Returns the end of the multi-byte sequence at `from`. If it is incomplete, returns the end of its valid part, at
 * least one byte: the part that one U+FFFD replaces.
 */
function sequenceEnd(from: usize, end: usize): usize {
  const lead: u32 = load<u8>(from);
  const last = min(from + wantedLength(lead), end);
  let next = from + 1;
  if (next >= last) return next;
  // The second byte has a narrower range after some lead bytes.
  const second: u32 = load<u8>(next);
  const lowest: u32 = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const highest: u32 = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return next;
  next++;
  while (next < last && load<u8>(next) >> 6 == 2) next++;
  return next;
}

/** Writes the sequence up to the end that `sequenceEnd` returned: unchanged, or as U+FFFD if it is incomplete. */
function writeSequence(at: usize, start: usize, end: usize): usize {
  const length = end - start;
  if (length == wantedLength(load<u8>(start))) {
    store<u32>(at, load<u32>(start));
    return at + length;
  }
  store<u32>(at, 0xbd_bfef);
  return at + 3;
}

/** Writes a byte as two hexadecimal digits. */
export function writeHex(at: usize, byte: u32): void {
  store<u8>(at, load<u8>(HEX + (byte >> 4)));
  store<u8>(at, load<u8>(HEX + (byte & 15)), 1);
}
