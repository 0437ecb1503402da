import { ServiceError } from '@svc/errors';
import type { ByteBudget } from '../byte-budget.ts';
import { type ArrowBatchHead, readBatchHead } from './arrow-batch.ts';
import { type ByteInput, MORE, readBytes, type WantsMore } from './decode-steps.ts';
import { type FlatTable, readFlatbuffer } from './flatbuffer.ts';
import { allocateCounted } from './limits.ts';

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

type Reading<Result> = Generator<WantsMore | ArrowMessage, Result, void>;

/** What the metadata of one message, or the footer of a file, may take. */
const MAX_METADATA_BYTES = 1 << 26;

const CONTINUATION = 0xffffffff;
const END_OF_FILE = 'ARROW1';
const CUT = 'The Arrow data is cut: it ends inside of a message';
const CUT_FILE = 'The Arrow file is cut: it does not end with its footer.';
const FOOTER = 'The footer of the Arrow file';

/**
 * Reads an Arrow stream, or the stream inside of an Arrow file, message by message. A stream may end without its end
 * marker, but not inside of a message; nothing may follow the end marker of a stream.
 */
export function* readArrowMessages(input: ByteInput, budget: ByteBudget): Reading<void> {
  let prefix = yield* readBytes(input, 8);
  const isFile = textOf(prefix.subarray(0, 6)) === END_OF_FILE;
  if (isFile) {
    prefix = yield* readBytes(input, 8);
    if (prefix.length === 8 && viewOf(prefix).getUint32(0, true) !== CONTINUATION) {
      yield* readByFooter(input, Buffer.concat([Buffer.from('ARROW1\0\0'), prefix]), budget);
      return;
    }
  } else if (prefix.length < 8 || viewOf(prefix).getUint32(0, true) !== CONTINUATION) throw notArrow(prefix);
  let batches = 0;
  for (let isFirst = !isFile; ; isFirst = false) {
    if (prefix.length === 0 && !isFile) return;
    if (prefix.length < 8) throw invalid(`${CUT}, at byte ${input.position}.`);
    const isMessage = viewOf(prefix).getUint32(0, true) === CONTINUATION;
    const length = viewOf(prefix).getInt32(4, true);
    if (isFile && !(isMessage && length > 0)) {
      yield { kind: 'footer', metadata: yield* readFooter(input, isMessage ? new Uint8Array(0) : prefix, batches) };
      return;
    }
    if (!isMessage) throw invalid(`The Arrow data has no message at byte ${input.position - 8}.`);
    if (length === 0) break;
    const message = yield* readMessage(input, length, budget);
    if (isFirst && message.kind !== 'schema') throw invalid('The Arrow stream does not begin with a schema.');
    if (message.kind === 'batch') batches++;
    yield message;
    prefix = yield* readBytes(input, 8);
  }
  const rest = yield* readBytes(input, 1);
  if (rest.length > 0) {
    throw new ServiceError('invalid_data', `Bytes follow the end of the Arrow stream, at byte ${input.position - 1}.`, {
      hint: 'Send one stream only; to put several into one frame, write their batches as one stream.',
    });
  }
}

function* readMessage(input: ByteInput, length: number, budget: ByteBudget): Reading<ArrowMessage> {
  const what = `The Arrow message at byte ${input.position - 8}`;
  if (length < 0 || length > MAX_METADATA_BYTES) throw invalid(`${what} claims ${length} bytes of metadata.`);
  const metadata = yield* readBytes(input, length);
  if (metadata.length < length) throw invalid(`${CUT}, at byte ${input.position}.`);
  const { message, bodyLength } = parseMetadata(metadata, what);
  budget.take(bodyLength);
  const body = yield* readBytes(input, bodyLength);
  if (body.length < bodyLength) throw invalid(`${CUT}, at byte ${input.position}.`);
  return message.kind === 'schema' ? { kind: 'schema', metadata } : { ...message, body };
}

function parseMetadata(metadata: Uint8Array, what: string) {
  return readFlatbuffer(metadata, what, (root) => ({ message: readHead(root, what), bodyLength: root.size(3) }));
}

/**
 * Reads a file whose schema has no message of its own in front, as polars writes it: where the next message begins is
 * then known only from the footer. So all of the file is held, and its dictionaries come before the batches.
 */
function* readByFooter(input: ByteInput, start: Uint8Array, budget: ByteBudget): Reading<void> {
  const parts = [start];
  let heldBytes = 0;
  for (let part = input.next(); part !== undefined || !input.ended; part = input.next()) {
    if (part === undefined) yield MORE;
    else {
      budget.take(part.length);
      heldBytes += part.length;
      parts.push(part);
    }
  }
  const file = Buffer.concat(parts);
  const footer = footerOf(file);
  yield { kind: 'footer', metadata: footer };
  const blocks = readFlatbuffer(footer, FOOTER, (root) => [...root.sizes(2, 3), ...root.sizes(3, 3)]);
  for (let i = 0; i < blocks.length; i += 3) yield messageAt(file, blocks[i], blocks[i + 2], budget);
  budget.free(heldBytes);
}

function messageAt(file: Uint8Array, offset: number, bodyLength: number, budget: ByteBudget): ArrowMessage {
  const what = `The Arrow message at byte ${offset}`;
  const isThere = offset + 8 <= file.length && viewOf(file).getUint32(offset, true) === CONTINUATION;
  const length = isThere ? viewOf(file).getInt32(offset + 4, true) : -1;
  const start = offset + 8 + length;
  if (length <= 0 || start + bodyLength > file.length) throw invalid(`${what} is not where the footer says.`);
  const { message, ...claim } = parseMetadata(file.subarray(offset + 8, start), what);
  if (message.kind === 'schema' || claim.bodyLength !== bodyLength)
    throw invalid(`${what} is not what the footer says.`);
  const body = allocateCounted(budget, bodyLength);
  body.set(file.subarray(start, start + bodyLength));
  return { ...message, body };
}

function readHead(root: FlatTable, what: string) {
  const version = root.short(0);
  if (version < 3 || version > 4) {
    throw new ServiceError('invalid_data', `${what} is of version V${version + 1} of the Arrow format.`, {
      hint: 'Write the data with a newer Arrow library: versions V4 and V5 are read.',
    });
  }
  const header = root.table(2);
  if (header === undefined) throw invalid(`${what} has no header.`);
  const type = root.byte(1);
  switch (type) {
    case 1:
      return { kind: 'schema' } as const;
    case 2: {
      const data = header.table(1);
      if (data === undefined) throw invalid(`${what} is a dictionary without values.`);
      const isDelta = header.byte(2) !== 0;
      return { kind: 'dictionary', id: header.size(0), isDelta, head: readBatchHead(data) } as const;
    }
    case 3:
      return { kind: 'batch', head: readBatchHead(header) } as const;
    default:
      throw invalid(`${what} is of type ${type}: neither a schema, nor a dictionary, nor a batch.`);
  }
}

/** The footer behind the messages. It must know as many batches as there were. */
function* readFooter(input: ByteInput, start: Uint8Array, batches: number): Reading<Uint8Array> {
  const rest = yield* readBytes(input, MAX_METADATA_BYTES);
  const tail = Buffer.concat([start, rest]);
  const footer = footerOf(tail);
  if (footer.length + 10 !== tail.length) throw invalid(CUT_FILE);
  const expected = readFlatbuffer(footer, FOOTER, (root) => root.count(3, 24));
  if (expected !== batches) {
    throw invalid(`The footer of the Arrow file names ${expected} record batches, the file has ${batches}.`);
  }
  return footer;
}

/** A file ends with a footer, its length and a magic word. */
function footerOf(tail: Uint8Array): Uint8Array {
  const end = tail.length - 10;
  const isWhole = end >= 0 && textOf(tail.subarray(end + 4)) === END_OF_FILE;
  const length = isWhole ? viewOf(tail).getInt32(end, true) : -1;
  if (length < 0 || length > end) throw invalid(CUT_FILE);
  return tail.subarray(end - length, end);
}

function textOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function invalid(message: string): ServiceError {
  return new ServiceError('invalid_data', message);
}

function notArrow(prefix: Uint8Array): ServiceError {
  const found =
    prefix.length === 0 ? 'The body is empty' : 'The body is neither an Arrow IPC stream nor an Arrow IPC file';
  return new ServiceError('invalid_data', `${found}.`, {
    hint: 'Write it with an IPC stream or file writer of Arrow 0.15 or newer; a stream begins with the bytes ff ff ff ff, a file with "ARROW1".',
  });
}
