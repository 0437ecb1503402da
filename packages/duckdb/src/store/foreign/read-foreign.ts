import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@svc/errors';
import { type Decoders, decompressBody, type FrameStream } from '@svc/frames';
import { sliceBatches } from '@svc/frames/columns';
import { readStart, unlinkIfThere } from '@svc/objects/internal';
import { type RecordBatch, Schema } from 'apache-arrow';
import { csvText, isUtf16 } from '../../files/csv/text.ts';
import type { FrameFiles, ReadPart, SourceInfo, WriteOptions } from '../../files/frame-files.ts';
import type { ConvertedSource, StoredFrame } from '../catalogue/stored-frame.ts';
import { changedFile, notATable } from '../store-errors.ts';
import { versionOfFile } from '../../wire/file-layout.ts';

/** Throws if a foreign file has changed since the frame was found: the rows may be of two versions. */
export async function checkUnchanged({ handle, source, version, isForeign }: StoredFrame): Promise<void> {
  if (!isForeign || source.kind === 'table' || source.kind === 'parts') return;
  const file = await stat(source.path, { bigint: true }).catch(() => undefined);
  if (file !== undefined && versionOfFile(file) === version) return;
  throw changedFile(handle);
}

/** Reads rows of a foreign file. Throws at their end, or if they cannot be read, if the file has changed meanwhile. */
export function whileUnchanged(frame: StoredFrame, { schema, batches }: FrameStream): FrameStream {
  async function* checked(): AsyncGenerator<RecordBatch> {
    try {
      yield* batches;
    } catch (error) {
      await checkUnchanged(frame);
      throw error;
    }
    await checkUnchanged(frame);
  }
  return { schema, batches: checked() };
}

async function decodeArrow(path: string, decoders: Decoders | undefined, signal?: AbortSignal): Promise<FrameStream> {
  if (decoders === undefined) throw new ServiceError('invalid_data', 'This store cannot read Arrow files.');
  const { size } = await stat(path);
  return decoders.decode('arrow', { path, grown: async () => size }, { ...(signal && { signal }) });
}

/** Describes an Arrow file by decoding it. */
export async function describeArrow(path: string, decoders: Decoders | undefined): Promise<SourceInfo> {
  const { schema, batches } = await decodeArrow(path, decoders);
  let rows = 0;
  for await (const batch of batches) rows += batch.numRows;
  return { schema, rows };
}

/** Reads rows of an Arrow file. */
export function readArrow(path: string, info: SourceInfo, part: ReadPart, decoders: Decoders | undefined): FrameStream {
  const { offset = 0, limit = Infinity, columns: indices, signal } = part;
  const chosen = (schema: Schema): Schema =>
    indices === undefined
      ? schema
      : new Schema(
          indices.flatMap((at) => schema.fields[at] ?? []),
          schema.metadata,
        );
  async function* batches(): AsyncGenerator<RecordBatch> {
    if (limit <= 0) return;
    const source = await decodeArrow(path, decoders, signal);
    yield* sliceBatches(source.batches, { schema: chosen(source.schema), indices, offset, limit, signal });
  }
  return { schema: chosen(info.schema), batches: batches() };
}

/**
 * Corrects what the name of a foreign file tells by its first bytes. DuckDB reads CSV only in UTF-8, and an object of JSON
 * is not a table.
 */
export async function inspectSource(frame: StoredFrame): Promise<void> {
  const { source, handle } = frame;
  if (source.kind !== 'csv' && source.kind !== 'json') return;
  // An unreadable file is an error when it is described.
  const head = await readStart(source.path, HEAD_BYTES).catch(() => Buffer.alloc(0));
  if (source.kind === 'csv') {
    const { path, delimiter } = source;
    if (isUtf16(head)) frame.source = { kind: 'utf16_csv', path, ...(delimiter && { delimiter }) };
  } else if (/^[^[]/.test(head.toString().replace(/^[\s\uFEFF]+/, ''))) {
    frame.isTable = false;
    frame.failure = notATable(handle);
  }
}

/** Enough for a byte order mark, or for some spaces. */
const HEAD_BYTES = 64;

/** What converting a foreign file needs. */
export interface ForeignConversion {
  readonly files: FrameFiles;
  readonly decoders: Decoders | undefined;
  /** The limit of a compressed file, decompressed, in bytes. Default 20 GiB. */
  readonly maxBytes: number | undefined;
}

/** The plain CSV file before it is converted to Parquet; it is removed then. */
export function plainCsvOf(path: string): string {
  return `${path}.csv`;
}

/** Writes the rows of a foreign file to a Parquet file of ours. */
export async function convertForeign(
  source: ConvertedSource,
  path: string,
  { files, decoders, maxBytes = 20 * 1024 ** 3 }: ForeignConversion,
  write: WriteOptions,
): Promise<SourceInfo> {
  const { path: from } = source;
  if (source.kind === 'json' || source.kind === 'ndjson') {
    if (decoders === undefined) throw new ServiceError('invalid_data', 'This store cannot read JSON files.');
    const { size } = await stat(from);
    const { signal } = write;
    const rows = await decoders.decode(
      source.kind,
      { path: from, grown: async () => size },
      { ...(signal && { signal }) },
    );
    return files.write(path, rows, write);
  }
  const plain = plainCsvOf(path);
  try {
    await writePlain(source, plain, maxBytes, write.signal);
    const { delimiter } = source;
    return await files.convert({ kind: 'csv', path: plain, ...(delimiter && { delimiter }) }, path, write);
  } finally {
    await unlinkIfThere(plain).catch(() => {});
  }
}

/** Writes CSV in UTF-8, not compressed. */
async function writePlain(
  { kind, path }: ConvertedSource,
  to: string,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const stored: AsyncIterable<Uint8Array> = createReadStream(path);
  const bytes = kind === 'gzip_csv' ? decompressBody(stored, 'gzip', { maxBytes }) : stored;
  try {
    const file = createWriteStream(to, { flags: 'wx', mode: 0o600 });
    await pipeline(csvText(bytes, {}), file, { ...(signal && { signal }) });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'payload_too_large') throw error;
    throw new ServiceError('payload_too_large', `The file decompresses to more than ${maxBytes} bytes.`, {
      hint: 'Raise storage.max_conversion_bytes, or replace the file with a Parquet file.',
      cause: error,
    });
  }
}
