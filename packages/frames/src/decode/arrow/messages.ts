import { BLOCK, type FlatTable, MAX_METADATA_BYTES, MESSAGE_TYPE, PREFIX_BYTES, prefixOf, SLOT } from '@svc/arrow';
import { ServiceError } from '@svc/errors';
import type { ByteBudget } from '../../byte-budget.ts';
import { type ByteInput, MORE, readBytes, type WantsMore } from '../decode-steps.ts';
import { allocateCounted } from '../limits.ts';
import { type ArrowBatchHead, codecOfMetadata, readBatchHead } from './batch-buffers.ts';
import { readFlatbuffer } from './flatbuffer.ts';

/** A message of Arrow data, or the footer of an Arrow file. `metadata` is its flatbuffer. */
export type ArrowMessage =
  | { readonly kind: 'schema'; readonly metadata: Uint8Array }
  | { readonly kind: 'footer'; readonly metadata: Uint8Array }
  | ({ readonly kind: 'batch' } & ArrowBody)
  | ({ readonly kind: 'dictionary'; readonly id: number; readonly isDelta: boolean } & ArrowBody);

/** The columns of a batch or a dictionary. */
export interface ArrowBody {
  readonly head: ArrowBatchHead;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** An incremental reader of messages. */
export type Reading<Result> = Generator<WantsMore | ArrowMessage, Result, void>;

/** Reads the metadata after a prefix; counted while it is read. */
export function* readMetadata(input: ByteInput, length: number, budget: ByteBudget): Reading<Uint8Array> {
  if (length < 0 || length > MAX_METADATA_BYTES) {
    throw invalid(`${nameAt(input.position - PREFIX_BYTES)} claims ${length} bytes of metadata.`);
  }
  budget.take(length);
  const metadata = yield* readBytes(input, length);
  if (metadata.length < length) throw cut(input);
  budget.free(length);
  return metadata;
}

/** Reads the body of a message after its metadata. */
export function* readBody(input: ByteInput, metadata: Uint8Array, budget: ByteBudget): Reading<ArrowMessage> {
  const { head, bodyLength } = parseMetadata(metadata, input.position - metadata.length - PREFIX_BYTES);
  budget.take(bodyLength);
  const body = yield* readBytes(input, bodyLength);
  if (body.length < bodyLength) throw cut(input);
  return head.kind === 'schema' ? { kind: 'schema', metadata } : { ...head, body };
}

/** Parses the header and the body length of the message at `place`. */
function parseMetadata(metadata: Uint8Array, place: number) {
  const what = nameAt(place);
  return readFlatbuffer(metadata, what, (root) => {
    const head = readHead(root, what);
    const bodyLength = root.size(SLOT.message.bodyLength);
    const usedBytes = head.kind === 'schema' ? 0 : endOfBuffers(head.head);
    // Check before allocating: a contradiction is `invalid_data`, not `out_of_memory`.
    if (bodyLength > usedBytes + MAX_PADDING) {
      throw invalid(`${what} claims a body of ${bodyLength} bytes, but its buffers end at byte ${usedBytes}.`);
    }
    return { head, bodyLength };
  });
}

/** Writers pad a body to 8 or 64 bytes. */
const MAX_PADDING = 4096;

function endOfBuffers({ buffers }: ArrowBatchHead): number {
  let end = 0;
  for (let i = 0; i < buffers.length; i += 2) end = Math.max(end, buffers[i] + buffers[i + 1]);
  return end;
}

/** Returns the name of a message for errors. */
function nameAt(place: number): string {
  return `The Arrow message at byte ${place}`;
}

/** The versions of the format as messages number them. */
const V4 = 3;
const V5 = 4;

function readHead(root: FlatTable, what: string) {
  const version = root.short(SLOT.message.version);
  if (version < V4 || version > V5) {
    throw new ServiceError('invalid_data', `${what} has version V${version + 1} of the Arrow format.`, {
      hint: 'Write the data with a newer Arrow library: versions V4 and V5 are read.',
    });
  }
  const header = root.table(SLOT.message.header);
  if (header === undefined) throw invalid(`${what} has no header.`);
  const type = root.byte(SLOT.message.headerType);
  const isV4 = version === V4;
  const oldCodec = isV4 ? codecOfMetadata(root) : undefined;
  switch (type) {
    case MESSAGE_TYPE.schema:
      return { kind: 'schema' } as const;
    case MESSAGE_TYPE.dictionary: {
      const data = header.table(SLOT.dictionaryBatch.data);
      if (data === undefined) throw invalid(`${what} is a dictionary without values.`);
      const id = header.size(SLOT.dictionaryBatch.id);
      const isDelta = header.byte(SLOT.dictionaryBatch.isDelta) !== 0;
      return { kind: 'dictionary', id, isDelta, head: readBatchHead(data, oldCodec, isV4) } as const;
    }
    case MESSAGE_TYPE.batch:
      return { kind: 'batch', head: readBatchHead(header, oldCodec, isV4) } as const;
    default:
      throw invalid(`${what} has type ${type}, which is neither a schema, nor a dictionary, nor a batch.`);
  }
}

/** Returns the error for truncated data. */
export function cut(input: ByteInput): ServiceError {
  return invalid(`The Arrow data is truncated: it ends inside a message, at byte ${input.position}.`);
}

/** Returns the error for invalid data. */
export function invalid(message: string): ServiceError {
  return new ServiceError('invalid_data', message);
}

/** A file starts with this magic and two zeros, and ends with it. */
const MAGIC = Buffer.from('ARROW1');

/** The end of a file: the length of the footer in 4 bytes, and the magic. */
const TAIL_BYTES = 4 + MAGIC.length;

const FOOTER = 'The footer of the Arrow file';
const CUT_FILE = 'The Arrow file is truncated: it does not end with its footer.';

/** True if these bytes start a file. */
export function isFileStart(bytes: Uint8Array): boolean {
  return MAGIC.equals(bytes.subarray(0, MAGIC.length));
}

/**
 * Reads an Arrow file after its first 8 bytes. If it starts with its schema, it is read like the stream it
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

/** Reads the messages the footer lists, dictionaries first. Bytes no later message needs are released. */
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

/** Returns the first byte each block or a later one needs, and the end of the file for the last. */
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
type HeldBytes = ReturnType<typeof heldBytesOf>;

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

function heldBytesOf(chunks: readonly Chunk[], length: number, budget: ByteBudget) {
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
    /** Fills `target` with the bytes from `start`, which must be held. */
    read(start: number, target: Uint8Array): void {
      let filled = 0;
      for (let index = indexAt(start); filled < target.length; index++) {
        const { start: chunkStart, bytes } = held[index];
        const from = start + filled - chunkStart;
        const part = bytes.subarray(from, from + target.length - filled);
        target.set(part, filled);
        filled += part.length;
      }
    },
    /** Releases the chunks before `place`. */
    dropBefore(place: number): void {
      const kept = place >= length ? held.length : indexAt(place);
      for (const { bytes } of held.slice(0, kept)) budget.free(bytes.length);
      held = held.slice(kept);
    },
  };
}
