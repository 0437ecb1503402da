/** A piece of a zstd frame: its header, a block, or the checksum of its content. */
export interface ZstdUnit {
  readonly kind: 'header' | 'block' | 'checksum';
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether the frame ends here, except for a checksum. */
  readonly isLast: boolean;
}

const FRAME_MAGIC = 0xfd2fb528;
/** The last four bits can have any value. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const MAX_BLOCK_BYTES = 1 << 17;
/** RFC 9659 limits the window of the content coding to 8 MiB. A decoder needs that much memory. */
const MAX_WINDOW_BYTES = 1 << 23;
const CHECKSUM_BYTES = 4;

/**
 * Splits zstd frames into their pieces. Node's decompressor stops at the end of a frame and ignores the rest of its
 * chunk, and the portable one does not limit the window. Skippable frames are dropped. Throws an `Error` if the bytes end
 * within a frame, or are not zstd.
 */
export async function* zstdUnits(body: AsyncGenerator<Uint8Array, void>): AsyncGenerator<ZstdUnit, void> {
  const input = createByteReader(body);
  while (await input.hasMore()) {
    const magic = await input.take(4);
    const word = view(magic).getUint32(0, true);
    if ((word & ~15) >>> 0 === SKIPPABLE_MAGIC) {
      await input.skip(view(await input.take(4)).getUint32(0, true));
      continue;
    }
    if (word !== FRAME_MAGIC) throw new Error('there is no zstd frame where one should begin');
    const descriptor = await input.take(1);
    const rest = await input.take(headerBytes(descriptor[0]));
    checkWindow(descriptor[0], rest);
    yield { kind: 'header', bytes: joined([magic, descriptor, rest]), isLast: false };
    yield* blocks(input);
    if ((descriptor[0] & 4) !== 0) yield { kind: 'checksum', bytes: await input.take(CHECKSUM_BYTES), isLast: true };
  }
}

async function* blocks(input: ByteReader): AsyncGenerator<ZstdUnit, void> {
  for (let isLast = false; !isLast;) {
    const head = await input.take(3);
    const word = head[0] | (head[1] << 8) | (head[2] << 16);
    const isRun = ((word >> 1) & 3) === 1;
    const bytes = isRun ? 1 : word >> 3;
    if (word >> 3 > MAX_BLOCK_BYTES) throw new Error('a block is too long');
    isLast = (word & 1) !== 0;
    yield { kind: 'block', bytes: joined([head, await input.take(bytes)]), isLast };
  }
}

const DICTIONARY_ID_BYTES = [0, 1, 2, 4];

/** Returns the length of the header after its descriptor. */
function headerBytes(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6];
  return (isSingleSegment ? 0 : 1) + DICTIONARY_ID_BYTES[descriptor & 3] + sizeBytes;
}

function checkWindow(descriptor: number, rest: Uint8Array<ArrayBuffer>): void {
  if ((descriptor & 8) !== 0) throw new Error('a reserved bit is set');
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = DICTIONARY_ID_BYTES[descriptor & 3];
  const dictionary = rest.subarray(isSingleSegment ? 0 : 1).subarray(0, dictionaryBytes);
  if (dictionary.some((byte) => byte !== 0)) throw new Error('the data needs a dictionary');
  const bytes = isSingleSegment ? contentBytes(rest.slice(dictionaryBytes)) : windowBytes(rest[0]);
  if (bytes <= MAX_WINDOW_BYTES) return;
  throw new Error(
    `the data needs a window of ${bytes} bytes, and at most ${MAX_WINDOW_BYTES} are allowed; compress it without --long and --ultra`,
  );
}

function windowBytes(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function contentBytes(size: Uint8Array<ArrayBuffer>): number {
  const data = view(size);
  if (size.length === 1) return data.getUint8(0);
  if (size.length === 2) return data.getUint16(0, true) + 256;
  return size.length === 4 ? data.getUint32(0, true) : Number(data.getBigUint64(0, true));
}

interface ByteReader {
  /** Whether there are more bytes. */
  hasMore(): Promise<boolean>;
  /** Returns the next bytes, at most a block. */
  take(count: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Drops bytes. */
  skip(count: number): Promise<void>;
}

function createByteReader(body: AsyncGenerator<Uint8Array, void>): ByteReader {
  let chunk: Uint8Array = new Uint8Array(0);

  async function hasMore(): Promise<boolean> {
    while (chunk.length === 0) {
      const { done, value } = await body.next();
      if (done === true) return false;
      chunk = value;
    }
    return true;
  }
  async function* parts(count: number): AsyncGenerator<Uint8Array, void> {
    for (let left = count; left > 0;) {
      if (!(await hasMore())) throw new Error('unexpected end');
      const part = chunk.subarray(0, left);
      chunk = chunk.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }
  return {
    hasMore,
    async take(count) {
      // Most often the bytes are within one chunk.
      if (chunk.length >= count) {
        const bytes = chunk.slice(0, count);
        chunk = chunk.subarray(count);
        return bytes;
      }
      const found: Uint8Array[] = [];
      for await (const part of parts(count)) found.push(part);
      return joined(found);
    },
    async skip(count) {
      for await (const _ of parts(count));
    },
  };
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function view({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
