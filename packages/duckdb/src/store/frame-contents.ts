import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import type { Decoders, FrameStream, OpenFrame } from '@svc/frames';
import { type RecordBatch, Schema } from 'apache-arrow';
import type { DamagedFrames } from './damaged-frames.ts';
import type { FrameFiles, FrameSource, ReadPart, SourceInfo, VerifyOptions } from '../files/frame-files.ts';
import { hasCode } from '../disk/durable-files.ts';
import { createHotFrame } from './memory/hot-frame.ts';
import type { ParquetFile } from './parquet-copies.ts';
import { isDamage, missingFile, unreadableFrame } from './store-errors.ts';
import { contentsOf, type FrameContents, type StoredFrame } from './catalogue/stored-frame.ts';

/** Reads the files of frames in any format. */
export interface ContentReader {
  /** Describes the file of a frame. Reads it on the first call. */
  describe(frame: StoredFrame): Promise<FrameContents>;
  /** Reads the rows of a frame. Errors name the frame. */
  read(frame: StoredFrame, contents: FrameContents, part: ReadPart): FrameStream;
  /** Compares the whole file of a frame with its checksums, before another process reads it. */
  verify(frame: StoredFrame, options?: VerifyOptions): Promise<{ readonly isChecked: boolean }>;
}

/** Options of `createContentReader`. */
export interface ContentReaderOptions {
  readonly files: FrameFiles;
  /** Decodes Arrow files. Default: they cannot be read. */
  readonly decoders?: Decoders | undefined;
  /** Records frames that were put and whose files are damaged. */
  readonly damaged: Pick<DamagedFrames, 'add'>;
  /** Whether the file of a frame must exist: not if the frame was dropped, or if another process may replace it. */
  readonly isKept: (frame: StoredFrame) => boolean;
  /** Returns a copy in our format of a frame whose file cannot be read in place. */
  readonly copyOf: (frame: StoredFrame, contents: FrameContents) => Promise<ParquetFile>;
}

/** Creates a reader of files that DuckDB knows and, with decoders, of Arrow files. */
export function createContentReader({ files, decoders, damaged, isKept, copyOf }: ContentReaderOptions): ContentReader {
  const describeSource = createDescriber(files);

  async function failureOf(frame: StoredFrame, error: unknown): Promise<ServiceError> {
    const isMissing = !frame.isForeign && isKept(frame) && !(await isThere(frame.source.path));
    if (isMissing || (isDamage(error) && !frame.isForeign)) damaged.add(frame, error);
    return isMissing ? missingFile(frame.handle, error) : unreadableFrame(frame.handle, frame.isForeign, error);
  }

  function readSource(frame: StoredFrame, contents: FrameContents, part: ReadPart): FrameStream {
    const { source } = frame;
    if (source.kind === 'arrow') return readArrow(source.path, contents, part, decoders);
    return contents.needsCopy ? readCopy(frame, contents, part) : files.read(source, contents, part);
  }

  function readCopy(frame: StoredFrame, contents: FrameContents, part: ReadPart): FrameStream {
    const chosen = part.columns?.flatMap((at) => contents.schema.fields[at] ?? []) ?? contents.schema.fields;
    async function* batches(): AsyncGenerator<RecordBatch> {
      const { path, info } = await copyOf(frame, contents);
      if (String(info.schema) !== String(contents.schema)) throw otherTypes();
      yield* files.read({ kind: 'parquet', path }, info, part).batches;
    }
    return { schema: new Schema(chosen, contents.schema.metadata), batches: batches() };
  }

  return {
    async describe(frame) {
      if (frame.contents) return frame.contents;
      if (frame.failure) throw frame.failure;
      try {
        const [info, fileBytes] = await Promise.all([
          frame.source.kind === 'arrow' ? describeArrow(frame.source.path, decoders) : describeSource(frame.source),
          frame.fileBytes ?? stat(frame.source.path).then(({ size }) => size),
        ]);
        frame.fileBytes = fileBytes;
        frame.contents = contentsOf(info, fileBytes);
        return frame.contents;
      } catch (error) {
        const failure = await failureOf(frame, error);
        // A foreign file that changes becomes another frame. One of ours may be restored, so it is read again next time.
        if (frame.isForeign && isDamage(error)) frame.failure = failure;
        throw failure;
      }
    },
    read(frame, contents, part) {
      const { schema, batches } = readSource(frame, contents, part);
      async function* named(): AsyncGenerator<RecordBatch> {
        try {
          yield* batches;
        } catch (error) {
          throw part.signal?.aborted ? error : await failureOf(frame, error);
        }
      }
      return { schema, batches: named() };
    },
    async verify(frame, options) {
      if (frame.source.kind === 'arrow') return { isChecked: false };
      try {
        return await files.verify(frame.source, options);
      } catch (error) {
        throw options?.signal?.aborted ? error : await failureOf(frame, error);
      }
    },
  };
}

/** Whether a path exists. True if that cannot be determined. */
async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => !hasCode(error, 'ENOENT'),
  );
}

/** The unit of INT96 timestamps is only known once the values are read. */
function otherTypes(): ServiceError {
  const message = 'It has INT96 timestamps with nanoseconds, which are kept only if the file is put as a frame.';
  return new ServiceError('invalid_data', message);
}

/** Batches requests that are made in the same tick: many files are described together. */
function createDescriber(files: FrameFiles): (source: FrameSource) => Promise<SourceInfo> {
  interface Pending {
    readonly source: FrameSource;
    readonly resolve: (info: SourceInfo) => void;
    readonly reject: (error: unknown) => void;
  }
  let pending: Pending[] = [];

  async function flush(): Promise<void> {
    const batch = pending;
    pending = [];
    try {
      const infos = await files.describe(batch.map(({ source }) => source));
      batch.forEach(({ resolve, reject }, at) => {
        const info = infos[at] ?? new Error('A file was not described.');
        if (info instanceof Error) reject(info);
        else resolve(info);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return (source) =>
    new Promise((resolve, reject) => {
      if (pending.length === 0) setImmediate(() => void flush());
      pending.push({ source, resolve, reject });
    });
}

async function decodeArrow(path: string, decoders: Decoders | undefined, signal?: AbortSignal): Promise<FrameStream> {
  if (decoders === undefined) throw new ServiceError('invalid_data', 'This store cannot read Arrow files.');
  const { size } = await stat(path);
  return decoders.decode('arrow', { path, grown: async () => size }, { ...(signal && { signal }) });
}

async function describeArrow(path: string, decoders: Decoders | undefined): Promise<SourceInfo> {
  const { schema, batches } = await decodeArrow(path, decoders);
  let rows = 0;
  for await (const batch of batches) rows += batch.numRows;
  return { schema, rows };
}

function readArrow(path: string, info: SourceInfo, part: ReadPart, decoders: Decoders | undefined): FrameStream {
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
