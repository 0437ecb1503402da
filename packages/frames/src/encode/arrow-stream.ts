import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '@svc/errors';
import type { Schema } from 'apache-arrow';
import { type ArrowHeader, readArrowHeader } from '../decode/arrow/flatbuffer.ts';
import { encodeFooter, type FileBlock } from '../decode/arrow/write-schema.ts';
import type { FrameStream } from '../streams.ts';
import { type ArrowMessage, encodeArrowMessages } from './arrow-messages.ts';
import type { ChunkOptions } from './row-formats.ts';

/**
 * Encodes a frame as an Arrow IPC stream, in chunks of at most 256 KiB. Batches of more than about 2 MiB are split. One
 * batch is encoded at a time, and only after the earlier chunks were consumed; the event loop runs between batches.
 * With `reuseBuffers`, a batch of `source` need only be valid until the next `next()`, too.
 */
export function encodeArrowStream(
  source: FrameStream,
  options: ChunkOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  return encodeMessages(source, options, { begin: () => [], message: () => {}, end: () => [END_OF_STREAM] });
}

/** What surrounds the messages of a frame in a format. */
interface MessageFraming {
  begin(): readonly Uint8Array[];
  /** Called with each message and the length of its encapsulated header. */
  message(message: ArrowMessage, headerBytes: number): void;
  end(): readonly Uint8Array[];
}

/** Encodes the messages of a frame in chunks. */
async function* encodeMessages(
  source: FrameStream,
  { reuseBuffers = false }: ChunkOptions,
  framing: MessageFraming,
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunksOf = createChunks(reuseBuffers);
  let parts: Uint8Array[] = [];
  let bytes = 0;
  const add = (part: Uint8Array): void => {
    parts.push(part);
    bytes += part.length;
  };
  for (const part of framing.begin()) add(part);
  for await (const message of encodeArrowMessages(source)) {
    const header = encapsulate(message.header);
    framing.message(message, header.length);
    add(header);
    // Parts that are not sent before the next batch arrives must be copied.
    const isWaiting = bytes + message.bodyLength < CHUNK_BYTES;
    for (const part of message.body) add(reuseBuffers && isWaiting ? new Uint8Array(part) : part);
    if (isWaiting) continue;
    // The first chunk starts with the schema, which is not part of a batch, so it belongs to the reader.
    yield* chunksOf(parts);
    await setImmediate();
    parts = [];
    bytes = 0;
  }
  for (const part of framing.end()) add(part);
  yield* bytes <= CHUNK_BYTES ? [Buffer.concat(parts, bytes)] : chunksOf(parts);
}

/** Frames a message header for a stream: a continuation marker and its length, padded to 8 bytes. */
export function encapsulate(header: ArrowMessage['header']): Uint8Array {
  const length = (header.length + 7) & ~7;
  const bytes = new Uint8Array(PREFIX_BYTES + length);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, -1, true);
  view.setInt32(4, length, true);
  bytes.set(header, PREFIX_BYTES);
  return bytes;
}

/** The end marker of a stream. */
export const END_OF_STREAM: Uint8Array = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);

const PREFIX_BYTES = 8;
const CHUNK_BYTES = 256 * 1024;
/** Shorter parts are combined into chunks. */
const COPIED_BYTES = 32 * 1024;

/**
 * Returns a function that splits long parts into chunks without copying, and combines consecutive short ones: with
 * `reuseBuffers` all but the first in the same memory.
 */
function createChunks(reuseBuffers: boolean): (parts: readonly Uint8Array[]) => Generator<Uint8Array, void, undefined> {
  let isFirst = true;
  let reused: Buffer | undefined;

  function combine(parts: readonly Uint8Array[], bytes: number): Uint8Array {
    if (isFirst || !reuseBuffers) {
      isFirst = false;
      return Buffer.concat(parts, bytes);
    }
    reused ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
    let at = 0;
    for (const part of parts) {
      reused.set(part, at);
      at += part.length;
    }
    return reused.subarray(0, bytes);
  }

  return function* chunksOf(parts) {
    let short: Uint8Array[] = [];
    let shortBytes = 0;
    function* flush(): Generator<Uint8Array, void, undefined> {
      if (shortBytes > 0) yield combine(short, shortBytes);
      short = [];
      shortBytes = 0;
    }
    for (const part of parts) {
      const isShort = part.length < COPIED_BYTES;
      if (!isShort || shortBytes + part.length > CHUNK_BYTES) yield* flush();
      if (isShort) {
        short.push(part);
        shortBytes += part.length;
      } else {
        for (let start = 0; start < part.length; start += CHUNK_BYTES) yield part.subarray(start, start + CHUNK_BYTES);
      }
    }
    yield* flush();
  };
}

const MAGIC = Buffer.from('ARROW1');
/** The magic at the start is padded, so messages are aligned. */
const HEAD = Buffer.concat([MAGIC, Buffer.alloc(2)]);

/**
 * Encodes a frame as an Arrow IPC file: the messages of a stream, and a footer with their positions. Each column must keep
 * its dictionary for all batches, because a file cannot replace one. Chunks are as in `encodeArrowStream`.
 */
export function encodeArrowFile(
  source: FrameStream,
  options: ChunkOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const blocks = { dictionary: new Array<FileBlock>(), batch: new Array<FileBlock>() };
  let position = HEAD.length;
  return encodeMessages(source, options, {
    begin: () => [HEAD],
    message({ kind, bodyLength }, headerBytes) {
      if (kind !== 'schema') blocks[kind].push({ start: position, headerBytes, bodyBytes: bodyLength });
      position += headerBytes + bodyLength;
    },
    end: () => [END_OF_STREAM, ...footerOf(source.schema, blocks.batch, blocks.dictionary)],
  });
}

function footerOf(schema: Schema, batches: FileBlock[], dictionaries: FileBlock[]): readonly Uint8Array[] {
  const footer = encodeFooter(schema, batches, dictionaries);
  const length = Buffer.alloc(4);
  length.writeInt32LE(footer.length);
  return [footer, length, MAGIC];
}

/** An Arrow message whose header and body were sent apart, as Flight does. */
export interface SplitMessage {
  readonly dataHeader: Uint8Array;
  readonly dataBody: Uint8Array;
}

/** Joins messages to an Arrow IPC stream, without copying their bodies. Messages without a header are skipped. */
export async function* joinArrowMessages(
  messages: AsyncIterable<SplitMessage>,
  onMessage: (header: ArrowHeader) => void = () => undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { dataHeader, dataBody } of messages) {
    if (dataHeader.length === 0) continue;
    const header = readArrowHeader(dataHeader);
    // Otherwise the next message would be read as the rest of a body that is too short.
    if (dataBody.length !== header.bodyLength) throw wrongLength(dataBody.length, header.bodyLength);
    onMessage(header);
    yield encapsulate(dataHeader);
    if (dataBody.length > 0) yield dataBody;
  }
  yield END_OF_STREAM;
}

function wrongLength(bytes: number, expected: number): ServiceError {
  return new ServiceError(
    'invalid_data',
    `A message of the Arrow data has a body of ${bytes} bytes, but its header says ${expected}.`,
    { hint: 'Send the complete body of each message, including its padding.' },
  );
}
