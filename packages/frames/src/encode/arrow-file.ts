import type { Schema } from 'apache-arrow';
import { encodeFooter, type FileBlock } from '../decode/arrow/arrow-schema-message.ts';
import type { FrameStream } from '../frame-stream.ts';
import { encodeMessages, END_OF_STREAM } from './arrow-stream.ts';
import type { ChunkOptions } from './encode-rows.ts';

const MAGIC = Buffer.from('ARROW1');
/** The magic at the start is padded, so that messages are aligned. */
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
