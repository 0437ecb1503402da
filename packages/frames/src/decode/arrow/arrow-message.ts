import { ServiceError } from '@svc/errors';
import type { ByteBudget } from '../../byte-budget.ts';
import { type ArrowBatchHead, readBatchHead } from './arrow-batch.ts';
import { SLOT } from './arrow-slots.ts';
import { type ByteInput, readBytes, type WantsMore } from '../decode-steps.ts';
import { type FlatTable, readFlatbuffer } from './flatbuffer.ts';

/** A message of Arrow data, or the footer of an Arrow file. `metadata` is the flatbuffer it came in. */
export type ArrowMessage =
  | { readonly kind: 'schema'; readonly metadata: Uint8Array }
  | { readonly kind: 'footer'; readonly metadata: Uint8Array }
  | ({ readonly kind: 'batch' } & ArrowBody)
  | ({ readonly kind: 'dictionary'; readonly id: number; readonly isDelta: boolean } & ArrowBody);

/** What a batch and a dictionary have in common: columns. */
export interface ArrowBody {
  readonly head: ArrowBatchHead;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Reads messages as their bytes come in. */
export type Reading<Result> = Generator<WantsMore | ArrowMessage, Result, void>;

/** What the metadata of one message, or the footer of a file, may take. */
export const MAX_METADATA_BYTES = 1 << 26;

/** What every message begins with: a mark, and the length of its metadata; 0 is the end of the stream. */
export interface MessagePrefix {
  readonly isMarked: boolean;
  readonly length: number;
}

/** How many bytes a prefix has. */
export const PREFIX_BYTES = 8;

const CONTINUATION = 0xffffffff;

/** The prefix in these bytes; undefined where they are too few. */
export function prefixOf(bytes: Uint8Array): MessagePrefix | undefined {
  if (bytes.length < PREFIX_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { isMarked: view.getUint32(0, true) === CONTINUATION, length: view.getInt32(4, true) };
}

/** Reads the metadata that follows a prefix; it is counted while it is read. */
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

/** Reads the body of a message whose metadata was read. */
export function* readBody(input: ByteInput, metadata: Uint8Array, budget: ByteBudget): Reading<ArrowMessage> {
  const { head, bodyLength } = parseMetadata(metadata, input.position - metadata.length - PREFIX_BYTES);
  budget.take(bodyLength);
  const body = yield* readBytes(input, bodyLength);
  if (body.length < bodyLength) throw cut(input);
  return head.kind === 'schema' ? { kind: 'schema', metadata } : { ...head, body };
}

/** The head and the length of the body of the message at a place. */
export function parseMetadata(metadata: Uint8Array, place: number) {
  const what = nameAt(place);
  return readFlatbuffer(metadata, what, (root) => {
    const head = readHead(root, what);
    const bodyLength = root.size(SLOT.message.bodyLength);
    const usedBytes = head.kind === 'schema' ? 0 : endOfBuffers(head.head);
    // Before memory is asked for: what contradicts itself is not a question of memory.
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

/** Names a message in errors. */
export function nameAt(place: number): string {
  return `The Arrow message at byte ${place}`;
}

function readHead(root: FlatTable, what: string) {
  const version = root.short(SLOT.message.version);
  if (version < 3 || version > 4) {
    throw new ServiceError('invalid_data', `${what} is of version V${version + 1} of the Arrow format.`, {
      hint: 'Write the data with a newer Arrow library: versions V4 and V5 are read.',
    });
  }
  const header = root.table(SLOT.message.header);
  if (header === undefined) throw invalid(`${what} has no header.`);
  const type = root.byte(SLOT.message.headerType);
  switch (type) {
    case 1:
      return { kind: 'schema' } as const;
    case 2: {
      const data = header.table(SLOT.dictionaryBatch.data);
      if (data === undefined) throw invalid(`${what} is a dictionary without values.`);
      const id = header.size(SLOT.dictionaryBatch.id);
      const isDelta = header.byte(SLOT.dictionaryBatch.isDelta) !== 0;
      return { kind: 'dictionary', id, isDelta, head: readBatchHead(data) } as const;
    }
    case 3:
      return { kind: 'batch', head: readBatchHead(header) } as const;
    default:
      throw invalid(`${what} is of type ${type}: neither a schema, nor a dictionary, nor a batch.`);
  }
}

/** Data that ends too early. */
export function cut(input: ByteInput): ServiceError {
  return invalid(`The Arrow data is cut: it ends inside of a message, at byte ${input.position}.`);
}

/** Data that is not as it should be. */
export function invalid(message: string): ServiceError {
  return new ServiceError('invalid_data', message);
}
