import { stat } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import type { Decoders, FrameStream } from '@svc/frames';
import { schemaBytes } from '@svc/frames/columns';
import { createCacheBudget, createPinnedLru } from '@svc/frames/streams';
import { hasCode, onceAtATime } from '@svc/objects/internal';
import { type RecordBatch, Schema } from 'apache-arrow';
import type { DamagedFrames } from './store-health.ts';
import type { FileSource, FrameFiles, FramePart, ReadPart, SourceInfo, VerifyOptions } from '../files/frame-files.ts';
import { schemaFromText } from '../types/stored-types.ts';
import { versionOfFile } from '../wire/file-layout.ts';
import { checkUnchanged, describeArrow, inspectSource, readArrow, whileUnchanged } from './foreign/read-foreign.ts';
import type { ParquetCopy } from './derived/parquet-copies.ts';
import { isDamage, missingFile, unreadableFrame } from './store-errors.ts';
import {
  contentsOf,
  contentsOfParts,
  type ForeignSource,
  type FrameContents,
  isConverted,
  type ListedRows,
  pathsOf,
  sourceOf,
  type StoredFrame,
} from './catalogue/stored-frame.ts';

/** The descriptions of frames in memory, an LRU cache: a few hundred frames of 10,000 columns would fill the process. */
export interface KeptContents {
  /** Keeps the description of a frame as the most recently used one. */
  keep(frame: StoredFrame, contents: FrameContents): void;
  /** Call this with a replaced, dropped or expired frame. */
  remove(frame: StoredFrame): void;
}

/** About half a million columns. */
const MAX_DESCRIPTION_BYTES = 256 * 1024 * 1024;

/** Creates an empty cache of descriptions. An evicted one is read from its files again. */
export function createKeptContents(maxBytes = MAX_DESCRIPTION_BYTES): KeptContents {
  const lru = createPinnedLru<StoredFrame, StoredFrame>({
    budget: createCacheBudget(maxBytes),
    onEvict(frame) {
      frame.contents = undefined;
      frame.isForgotten = true;
    },
  });
  return {
    keep(frame, contents) {
      frame.fileBytes = contents.fileBytes;
      if (frame.contents === contents && lru.get(frame) !== undefined) return;
      if (lru.set(frame, frame, schemaBytes(contents.schema))) frame.contents = contents;
      else frame.isForgotten = true;
    },
    remove: (frame) => lru.remove(frame),
  };
}

/** Reads the files of frames in any format. */
export interface ContentReader {
  /** Describes a frame. Reads its entry, or its foreign file, once for all callers. */
  describe(frame: StoredFrame): Promise<FrameContents>;
  /** Reads the rows of a frame. Errors name the frame. */
  read(frame: StoredFrame, contents: FrameContents, part: ReadPart): FrameStream;
  /** Compares the whole files of a frame with their checksums, before another process reads them. */
  verify(frame: StoredFrame, options?: VerifyFrameOptions): Promise<{ readonly isChecked: boolean }>;
}

/** How the files of a frame are verified. */
export interface VerifyFrameOptions extends VerifyOptions {
  /** Only this part. Default: all. */
  readonly part?: FramePart;
}

/** Options of `createContentReader`. */
export interface ContentReaderOptions {
  readonly files: FrameFiles;
  /** Decodes Arrow files. Default: they cannot be read. */
  readonly decoders?: Decoders | undefined;
  readonly kept: KeptContents;
  /** Records stored frames with damaged files. */
  readonly damaged: Pick<DamagedFrames, 'add'>;
  /** False if the files of a frame may be missing: it was dropped, or another process may replace it. */
  readonly isKept: (frame: StoredFrame) => boolean;
  readonly readRows: (frame: StoredFrame) => Promise<ListedRows>;
  /** Returns a copy in our format of a frame whose file cannot be read in place. */
  readonly copyOf: (frame: StoredFrame, contents?: FrameContents) => Promise<ParquetCopy>;
}

/** Creates a reader of DuckDB's formats and, with decoders, of Arrow files. */
export function createContentReader(options: ContentReaderOptions): ContentReader {
  const { files, decoders, kept, damaged, isKept, readRows, copyOf } = options;
  const describeSource = createDescriber(files);
  /** The result of the last verification of a frame, and the state of its file before. */
  const verified = new WeakMap<StoredFrame, { readonly state: string; readonly isChecked: boolean }>();

  async function failureOf(frame: StoredFrame, error: unknown): Promise<ServiceError> {
    const isMissing = !frame.isForeign && isKept(frame) && (hasCode(error, 'ENOENT') || (await isAnyMissing(frame)));
    if (isMissing || (isDamage(error) && !frame.isForeign)) damaged.add(frame, error);
    return isMissing ? missingFile(frame.handle, error) : unreadableFrame(frame.handle, frame.isForeign, error);
  }

  function readSource(frame: StoredFrame, contents: FrameContents, part: ReadPart): FrameStream {
    const source = sourceOf(frame);
    if (contents.needsCopy || isConverted(source)) return readCopy(frame, contents, part);
    const stream =
      source.kind === 'arrow' ? readArrow(source.path, contents, part, decoders) : files.read(source, contents, part);
    return frame.isForeign ? whileUnchanged(frame, stream) : stream;
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

  const describe = onceAtATime(async (frame: StoredFrame): Promise<FrameContents> => {
    if (frame.failure === undefined && frame.isForeign) await inspectSource(frame);
    if (frame.failure) throw frame.failure;
    try {
      const { source } = frame;
      const contents =
        source.kind === 'parts'
          ? await describeListed(frame, readRows)
          : await describeFile(frame, source, describeSource, options);
      kept.keep(frame, contents);
      return contents;
    } catch (error) {
      const failure = await failureOf(frame, error);
      // A changed foreign file is another frame. One of ours may be restored, so it is read again next time.
      if (frame.isForeign && (isDamage(error) || failure.code === 'payload_too_large')) frame.failure = failure;
      throw failure;
    }
  });

  return {
    async describe(frame) {
      const { contents } = frame;
      if (contents === undefined) return describe(frame);
      kept.keep(frame, contents);
      return contents;
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
    async verify(frame, { part, ...verify } = {}) {
      const source = sourceOf(frame);
      if (source.kind === 'arrow' || isConverted(source)) return { isChecked: false };
      // The file may turn out to be damaged although its state is the same.
      if (verify.again === true) verified.delete(frame);
      const state = part === undefined ? await stateOf(frame) : undefined;
      const known = verified.get(frame);
      if (known !== undefined && known.state === state) return known;
      try {
        const found = await files.verify(part === undefined ? source : { kind: 'parts', parts: [part] }, verify);
        if (state !== undefined) verified.set(frame, { state, ...found });
        return found;
      } catch (error) {
        throw verify.signal?.aborted ? error : await failureOf(frame, error);
      }
    },
  };
}

/** Describes a foreign frame by its file. */
async function describeFile(
  frame: StoredFrame,
  source: ForeignSource,
  describeSource: (source: FileSource) => Promise<SourceInfo>,
  { decoders, copyOf }: ContentReaderOptions,
): Promise<FrameContents> {
  const { path } = source;
  async function infoOfFile(): Promise<SourceInfo> {
    if (isConverted(source)) return { ...(await copyOf(frame)).info, needsCopy: true };
    return source.kind === 'arrow' ? describeArrow(path, decoders) : describeSource(source);
  }
  const [info, fileBytes] = await Promise.all([infoOfFile(), frame.fileBytes ?? stat(path).then(({ size }) => size)]);
  await checkUnchanged(frame);
  return contentsOf(info, fileBytes);
}

/** Describes a frame by its entry. Read again: it may have been restored. */
async function describeListed(frame: StoredFrame, readRows: ContentReaderOptions['readRows']): Promise<FrameContents> {
  const { parts, schema } = await readRows(frame);
  frame.source = { kind: 'parts', parts };
  return contentsOfParts(schemaFromText(schema), parts);
}

/** The state of the only file of a frame. Undefined if there are several: the child is faster at reading them all. */
async function stateOf(frame: StoredFrame): Promise<string | undefined> {
  const [path = '', ...others] = pathsOf(frame);
  if (others.length > 0) return undefined;
  return stat(path, { bigint: true }).then(
    (found) => versionOfFile(found, !frame.isForeign),
    () => undefined,
  );
}

async function isAnyMissing(frame: StoredFrame): Promise<boolean> {
  for (const path of pathsOf(frame)) {
    const isMissing = await stat(path).then(
      () => false,
      (error: unknown) => hasCode(error, 'ENOENT'),
    );
    if (isMissing) return true;
  }
  return false;
}

/** The unit of INT96 timestamps is only known once the values are read. */
function otherTypes(): ServiceError {
  const message = 'It has INT96 timestamps with nanoseconds, which are kept only if the file is put as a frame.';
  return new ServiceError('invalid_data', message, { hint: 'Put the file as a frame, with PUT /frames/{handle}.' });
}

/** Batches the requests of a tick: many files are described together. */
function createDescriber(files: FrameFiles): (source: FileSource) => Promise<SourceInfo> {
  interface Pending {
    readonly source: FileSource;
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
