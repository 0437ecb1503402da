/** The first four bytes of an LZ4 frame, as a little-endian number. */
const MAGIC = 0x184d2204;

/**
 * Decompresses an LZ4 frame into a target of exactly the size of its content. Checksums are ignored; a malformed frame
 * or another size is a `RangeError`.
 */
export function decompressLz4Frame(source: Uint8Array, target: Uint8Array): void {
  const view = new DataView(source.buffer, source.byteOffset, source.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw new RangeError('This is not an LZ4 frame.');
  const flags = view.getUint8(4);
  if (flags >> 6 !== 1) throw new RangeError('This version of LZ4 frames is not supported.');
  const hasBlockChecksums = (flags & 0x10) !== 0;
  const hasContentSize = (flags & 0x08) !== 0;
  const hasDictionary = (flags & 0x01) !== 0;
  if (hasDictionary) throw new RangeError('LZ4 frames with a dictionary are not supported.');
  let position = 7 + (hasContentSize ? 8 : 0);
  let written = 0;
  for (;;) {
    const word = view.getUint32(position, true);
    position += 4;
    if (word === 0) break;
    const end = position + (word & 0x7fffffff);
    if (end > source.length) throw new RangeError('An LZ4 block is truncated.');
    const block = source.subarray(position, end);
    written = word >>> 31 === 1 ? copyBlock(block, target, written) : decompressBlock(block, target, written);
    position = end + (hasBlockChecksums ? 4 : 0);
  }
  if (written !== target.length) throw new RangeError('The content of an LZ4 frame is too short.');
}

function copyBlock(block: Uint8Array, target: Uint8Array, start: number): number {
  target.set(block, start);
  return start + block.length;
}

/** Decompresses one block. Blocks share the target, as they may refer to earlier ones. */
function decompressBlock(block: Uint8Array, target: Uint8Array, start: number): number {
  let at = 0;
  let written = start;
  while (at < block.length) {
    const token = block[at++];
    let literals = token >> 4;
    if (literals === 15) {
      let more: number;
      do {
        more = block[at++];
        literals += more;
      } while (more === 255);
    }
    if (!(at + literals <= block.length && written + literals <= target.length)) throw malformed();
    if (literals < 32) for (let i = 0; i < literals; i++) target[written + i] = block[at + i];
    else target.set(block.subarray(at, at + literals), written);
    at += literals;
    written += literals;
    if (at === block.length) return written;

    const distance = block[at] | (block[at + 1] << 8);
    at += 2;
    let matched = (token & 15) + 4;
    if (matched === 19) {
      let more: number;
      do {
        more = block[at++];
        matched += more;
      } while (more === 255);
    }
    if (!(at <= block.length && distance > 0 && distance <= written && written + matched <= target.length)) {
      throw malformed();
    }
    for (let i = 0; i < matched; i++, written++) target[written] = target[written - distance];
  }
  return written;
}

function malformed(): RangeError {
  return new RangeError('An LZ4 block is malformed.');
}
