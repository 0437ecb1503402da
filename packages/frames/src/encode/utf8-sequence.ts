/** How many bytes a sequence with this first byte has; 0 where none begins with it. */
function wantedLength(lead: number): number {
  if (lead < 0xe0) return lead < 0xc2 ? 0 : 2;
  return lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
}

/**
 * The end of the UTF-8 sequence of several bytes at `i`. Where it breaks off, the end of what there is of it, at least one
 * byte: as much as one U+FFFD stands for.
 */
export function sequenceEnd(bytes: Uint8Array, i: number, end: number): number {
  const lead = bytes[i];
  const last = Math.min(i + wantedLength(lead), end);
  let next = i + 1;
  while (next < last && isContinuation(bytes[next], next === i + 1 ? lead : 0)) next++;
  return next;
}

/** Writes the sequence from `start` to the end that `sequenceEnd` gave: as it is, or as U+FFFD where it is not whole. */
export function writeSequence(out: Uint8Array, at: number, bytes: Uint8Array, start: number, end: number): number {
  if (end - start === wantedLength(bytes[start])) {
    for (let i = start; i < end; i++) out[at + i - start] = bytes[i];
    return at + end - start;
  }
  out[at] = 0xef;
  out[at + 1] = 0xbf;
  out[at + 2] = 0xbd;
  return at + 3;
}

/** Whether a byte may follow; the second byte of a sequence has a narrower range behind some leads. */
function isContinuation(byte: number, lead: number): boolean {
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  return byte >= lowest && byte <= highest;
}
