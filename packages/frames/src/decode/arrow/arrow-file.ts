import type { ByteBudget } from '../../byte-budget.ts';
import { type ByteInput, MORE, readBytes, type WantsMore } from '../decode-steps.ts';
import { allocateCounted } from '../limits.ts';
import {
  type ArrowMessage,
  cut,
  invalid,
  MAX_METADATA_BYTES,
  nameAt,
  parseMetadata,
  PREFIX_BYTES,
  prefixOf,
  readBody,
  type Reading,
  readMetadata,
} from './arrow-message.ts';
import { BLOCK, SLOT } from './arrow-slots.ts';
import { readFlatbuffer } from './flatbuffer.ts';

/** A file starts with this magic and two zeros, and ends with it. */
const MAGIC = Buffer.from('ARROW1');

/** The end of a file: the length of the footer in 4 bytes, and the magic. */
const TAIL_BYTES = 4 + MAGIC.length;

const FOOTER = 'The footer of the Arrow file';
const CUT_FILE = 'The Arrow file is truncated: it does not end with its footer.';

/** Whether these bytes start a file. */
export function isFileStart(bytes: Uint8Array): boolean {
  return MAGIC.equals(bytes.subarray(0, MAGIC.length));
}

/**
 * Reads an Arrow file after its first 8 bytes. If it starts with its schema, it is read like the stream that it
 * contains. Some writers put the schema only in the footer, and dictionaries after the batches that need them: such a
 * file is buffered up to its footer.
 */
export function* readArrowFile(input: ByteInput, budget: ByteBudget): Reading<void> {
  const bytes = yield* readBytes(input, PREFIX_BYTES);
  const prefix = prefixOf(bytes);
  if (prefix === undefined) throw cut(input);
  const hasMessage = prefix.isMarked && prefix.length > 0;
  const metadata = hasMessage ? yield* readMetadata(input, prefix.length, budget) : new Uint8Array(0);
  if (hasMessage && parseMetadata(metadata, PREFIX_BYTES).head.kind === 'schema') {
    yield yield* readBody(input, metadata, budget);
    yield* readFrontToBack(input, budget);
  } else yield* readByFooter(input, Buffer.concat([MAGIC, Buffer.alloc(2), bytes, metadata]), budget);
}

/** Reads the messages from the schema to the footer, which must list the same number of batches. */
function* readFrontToBack(input: ByteInput, budget: ByteBudget): Reading<void> {
  let batches = 0;
  for (;;) {
    const bytes = yield* readBytes(input, PREFIX_BYTES);
    const prefix = prefixOf(bytes);
    if (prefix === undefined) throw cut(input);
    if (!prefix.isMarked || prefix.length <= 0) {
      // Without an end marker, these bytes start the footer.
      yield* checkFooter(input, prefix.isMarked ? new Uint8Array(0) : bytes, batches, budget);
      return;
    }
    const message = yield* readBody(input, yield* readMetadata(input, prefix.length, budget), budget);
    if (message.kind === 'batch') batches++;
    yield message;
  }
}

function* checkFooter(input: ByteInput, start: Uint8Array, batches: number, budget: ByteBudget): Reading<void> {
  const held = yield* holdBytes(input, start, budget, MAX_METADATA_BYTES);
  const footer = held === undefined ? undefined : footerOf(held, budget);
  if (held === undefined || footer?.length !== held.length - TAIL_BYTES) throw invalid(CUT_FILE);
  const expected = readFlatbuffer(footer, FOOTER, (root) => root.count(SLOT.footer.batches, BLOCK.bytes));
  if (expected !== batches) {
    throw invalid(`${FOOTER} lists ${expected} record batches, but the file has ${batches}.`);
  }
  held.dropBefore(held.length);
  budget.free(footer.length);
}

/** Reads the messages that the footer lists, dictionaries first. Bytes that no later message needs are released. */
function* readByFooter(input: ByteInput, start: Uint8Array, budget: ByteBudget): Reading<void> {
  const file = yield* holdBytes(input, start, budget);
  if (file === undefined) throw invalid(CUT_FILE);
  const footer = footerOf(file, budget);
  yield { kind: 'footer', metadata: footer };
  const blocks = readFlatbuffer(footer, FOOTER, (root) => [
    ...root.sizes(SLOT.footer.dictionaries, BLOCK.sizes),
    ...root.sizes(SLOT.footer.batches, BLOCK.sizes),
  ]);
  budget.free(footer.length);
  const needed = neededFrom(blocks, file.length);
  for (let i = 0; i < blocks.length; i += BLOCK.sizes) {
    const message = messageAt(file, blocks[i + BLOCK.offset], blocks[i + BLOCK.bodyLength], budget);
    file.dropBefore(needed[i / BLOCK.sizes + 1]);
    yield message;
  }
  file.dropBefore(file.length);
}

/** Returns the first byte that each block or a later one needs, and the end of the file for the last. */
function neededFrom(blocks: readonly number[], end: number): Float64Array {
  const count = blocks.length / BLOCK.sizes;
  const needed = new Float64Array(count + 1).fill(end);
  for (let i = count - 1; i >= 0; i--) needed[i] = Math.min(needed[i + 1], blocks[i * BLOCK.sizes + BLOCK.offset]);
  return needed;
}

function messageAt(file: HeldBytes, offset: number, bodyLength: number, budget: ByteBudget): ArrowMessage {
  const prefix = offset + PREFIX_BYTES <= file.length ? prefixOf(bytesAt(file, offset, PREFIX_BYTES)) : undefined;
  const length = prefix?.isMarked === true ? prefix.length : 0;
  const start = offset + PREFIX_BYTES + length;
  if (length <= 0 || length > MAX_METADATA_BYTES || start + bodyLength > file.length) {
    throw invalid(`${nameAt(offset)} is not where the footer says.`);
  }
  budget.take(length);
  const { head, ...claim } = parseMetadata(bytesAt(file, start - length, length), offset);
  budget.free(length);
  if (head.kind === 'schema' || claim.bodyLength !== bodyLength) {
    throw invalid(`${nameAt(offset)} does not match the footer.`);
  }
  const body = allocateCounted(budget, bodyLength);
  file.read(start, body);
  return { ...head, body };
}

function bytesAt(file: HeldBytes, start: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  file.read(start, bytes);
  return bytes;
}

/** Returns the footer at the end of a file, counted. */
function footerOf(file: HeldBytes, budget: ByteBudget): Uint8Array {
  const end = file.length - TAIL_BYTES;
  const tail = end < 0 ? Buffer.alloc(TAIL_BYTES) : Buffer.from(bytesAt(file, end, TAIL_BYTES));
  const length = MAGIC.equals(tail.subarray(4)) ? tail.readInt32LE() : -1;
  if (length < 0 || length > Math.min(end, MAX_METADATA_BYTES)) throw invalid(CUT_FILE);
  const footer = allocateCounted(budget, length);
  file.read(end - length, footer);
  return footer;
}

/** The bytes of an input from its start, in the chunks they arrived in: counted, but not copied. */
interface HeldBytes {
  readonly length: number;
  /** Fills `target` with the bytes from `start`, which must be held. */
  read(start: number, target: Uint8Array): void;
  /** Releases the chunks before `place`. */
  dropBefore(place: number): void;
}

interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/** Buffers the bytes already read and the rest of the input; returns undefined if they exceed `maxBytes`. */
function* holdBytes(
  input: ByteInput,
  first: Uint8Array,
  budget: ByteBudget,
  maxBytes = Infinity,
): Generator<WantsMore, HeldBytes | undefined, void> {
  const chunks: Chunk[] = [];
  let length = 0;
  for (let bytes: Uint8Array | undefined = first; bytes !== undefined || !input.ended; bytes = input.next()) {
    if (bytes === undefined) yield MORE;
    else {
      budget.take(bytes.length);
      chunks.push({ start: length, bytes });
      length += bytes.length;
    }
    if (length > maxBytes) return undefined;
  }
  return heldBytesOf(chunks, length, budget);
}

function heldBytesOf(chunks: readonly Chunk[], length: number, budget: ByteBudget): HeldBytes {
  let held: readonly Chunk[] = chunks;

  /** Returns the index of the chunk that contains the byte at `place`. */
  function indexAt(place: number): number {
    let low = 0;
    let high = held.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (held[middle].start <= place) low = middle;
      else high = middle;
    }
    return low;
  }
  return {
    length,
    read(start, target) {
      let filled = 0;
      for (let index = indexAt(start); filled < target.length; index++) {
        const { start: chunkStart, bytes } = held[index];
        const from = start + filled - chunkStart;
        const part = bytes.subarray(from, from + target.length - filled);
        target.set(part, filled);
        filled += part.length;
      }
    },
    dropBefore(place) {
      const kept = place >= length ? held.length : indexAt(place);
      for (const { bytes } of held.slice(0, kept)) budget.free(bytes.length);
      held = held.slice(kept);
    },
  };
}
