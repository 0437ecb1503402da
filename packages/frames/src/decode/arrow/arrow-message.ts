import { ServiceError } from '@svc/errors';
import type { ByteBudget } from '../../byte-budget.ts';
import { type ArrowBatchHead, codecOfMetadata, readBatchHead } from './arrow-batch.ts';
import { SLOT } from './arrow-slots.ts';
import { type ByteInput, readBytes, type WantsMore } from '../decode-steps.ts';
import { type FlatTable, readFlatbuffer } from './flatbuffer.ts';

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

/** The maximum size of the metadata of a message, or of the footer of a file. */
export const MAX_METADATA_BYTES = 1 << 26;

/** The prefix of every message: a continuation marker, and the length of its metadata; 0 is the end of the stream. */
export interface MessagePrefix {
  readonly isMarked: boolean;
  readonly length: number;
}

/** The size of a prefix in bytes. */
export const PREFIX_BYTES = 8;

const CONTINUATION = 0xffffffff;

/** Reads a prefix; undefined if there are too few bytes. */
export function prefixOf(bytes: Uint8Array): MessagePrefix | undefined {
  if (bytes.length < PREFIX_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { isMarked: view.getUint32(0, true) === CONTINUATION, length: view.getInt32(4, true) };
}

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
export function parseMetadata(metadata: Uint8Array, place: number) {
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
export function nameAt(place: number): string {
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
    case 1:
      return { kind: 'schema' } as const;
    case 2: {
      const data = header.table(SLOT.dictionaryBatch.data);
      if (data === undefined) throw invalid(`${what} is a dictionary without values.`);
      const id = header.size(SLOT.dictionaryBatch.id);
      const isDelta = header.byte(SLOT.dictionaryBatch.isDelta) !== 0;
      return { kind: 'dictionary', id, isDelta, head: readBatchHead(data, oldCodec, isV4) } as const;
    }
    case 3:
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
