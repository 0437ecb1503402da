import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import type { Decoders, FrameStream, OpenFrame } from '@svc/frames';
import { type RecordBatch, Schema } from 'apache-arrow';
import type { ReadPart, SourceInfo } from '../../files/frame-files.ts';
import { createHotFrame } from '../memory/hot-frame.ts';

async function decodeArrow(path: string, decoders: Decoders | undefined, signal?: AbortSignal): Promise<FrameStream> {
  if (decoders === undefined) throw new ServiceError('invalid_data', 'This store cannot read Arrow files.');
  const { size } = await stat(path);
  return decoders.decode('arrow', { path, grown: async () => size }, { ...(signal && { signal }) });
}

/** Describes an Arrow file, which is decoded for it. */
export async function describeArrow(path: string, decoders: Decoders | undefined): Promise<SourceInfo> {
  const { schema, batches } = await decodeArrow(path, decoders);
  let rows = 0;
  for await (const batch of batches) rows += batch.numRows;
  return { schema, rows };
}

/** Reads rows of an Arrow file. */
export function readArrow(path: string, info: SourceInfo, part: ReadPart, decoders: Decoders | undefined): FrameStream {
  const { offset = 0, limit = Infinity, columns, signal } = part;
  const fields = columns?.flatMap((at) => info.schema.fields[at] ?? []);
  async function* batches(): AsyncGenerator<RecordBatch> {
    if (limit <= 0) return;
    const source = await decodeArrow(path, decoders, signal);
    let skip = offset;
    let left = limit;
    for await (const batch of source.batches) {
      signal?.throwIfAborted();
      const length = Math.min(batch.numRows - skip, left);
      if (length > 0) {
        if (length === batch.numRows && fields === undefined) yield batch;
        else
          yield* (await inMemory(source.schema, batch)).read({
            offset: skip,
            limit: left,
            ...(fields && { columns: fields.map(({ name }) => name) }),
          }).batches;
        left -= length;
        if (left <= 0) return;
      }
      skip = Math.max(0, skip - batch.numRows);
    }
  }
  return { schema: fields ? new Schema(fields, info.schema.metadata) : info.schema, batches: batches() };
}

/** A frame of one batch, to read a part of the batch. */
async function inMemory(schema: Schema, batch: RecordBatch): Promise<OpenFrame> {
  const frame = createHotFrame(schema);
  await frame.add(batch);
  return frame.finish();
}
