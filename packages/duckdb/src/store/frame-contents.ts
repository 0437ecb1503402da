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

/** Reads the files of frames, whatever their format. */
export interface ContentReader {
  /** What is in the file of a frame, read when it is first asked for. */
  describe(frame: StoredFrame): Promise<FrameContents>;
  /** The rows of a frame. A failure on the way says of which frame it is. */
  read(frame: StoredFrame, contents: FrameContents, part: ReadPart): FrameStream;
  /** Compares the whole file of a frame with its checksums, before another process reads it. */
  verify(frame: StoredFrame, options?: VerifyOptions): Promise<{ readonly isChecked: boolean }>;
}

/** What a reader works with. */
export interface ContentReaderOptions {
  readonly files: FrameFiles;
  /** Reads Arrow files. Default: they are not read. */
  readonly decoders?: Decoders | undefined;
  /** Hears of frames that were put and whose files are damaged. */
  readonly damaged: Pick<DamagedFrames, 'add'>;
  /** Whether the file of a frame has to be there: not if the frame was dropped, or if another process may replace it. */
  readonly isKept: (frame: StoredFrame) => boolean;
  /** A file of ours with the rows of a frame whose own file cannot be read as it is. */
  readonly copyOf: (frame: StoredFrame, contents: FrameContents) => Promise<ParquetFile>;
}

/** A reader of files that DuckDB knows and, with decoders, of Arrow files. */
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
        // A file of another's that was changed is another frame; one of ours may be restored, and is looked at again.
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

/** Whether there is something at a path; what cannot be looked at may be there. */
async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => !hasCode(error, 'ENOENT'),
  );
}

/** Only the values say what the type of deprecated timestamps is. */
function otherTypes(): ServiceError {
  const what = 'It has timestamps of the Parquet type INT96 with nanoseconds, which only a frame that is put keeps.';
  return new ServiceError('invalid_data', what);
}

/** Collects what is asked for at about the same moment: many files are looked at together. */
function createDescriber(files: FrameFiles): (source: FrameSource) => Promise<SourceInfo> {
  interface Asked {
    readonly source: FrameSource;
    readonly resolve: (info: SourceInfo) => void;
    readonly reject: (error: unknown) => void;
  }
  let asked: Asked[] = [];

  async function flush(): Promise<void> {
    const batch = asked;
    asked = [];
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
      if (asked.length === 0) setImmediate(() => void flush());
      asked.push({ source, resolve, reject });
    });
}

async function decodeArrow(path: string, decoders: Decoders | undefined, signal?: AbortSignal): Promise<FrameStream> {
  if (decoders === undefined) throw new ServiceError('invalid_data', 'Arrow files are not read here.');
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

/** A frame of one batch: it knows how to give a part of it. */
async function inMemory(schema: Schema, batch: RecordBatch): Promise<OpenFrame> {
  const frame = createHotFrame(schema);
  await frame.add(batch);
  return frame.finish();
}
