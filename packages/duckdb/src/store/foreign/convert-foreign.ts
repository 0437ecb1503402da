import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@svc/errors';
import { type Decoders, decompressBody } from '@svc/frames';
import { unlinkIfThere } from '../../disk/durable-files.ts';
import { csvText } from '../../files/csv-text.ts';
import type { FrameFiles, SourceInfo, WriteOptions } from '../../files/frame-files.ts';
import type { ConvertedSource } from '../catalogue/stored-frame.ts';

/** What converting a foreign file needs. */
export interface ForeignConversion {
  readonly files: FrameFiles;
  readonly decoders: Decoders | undefined;
  /** The limit of a compressed file, decompressed, in bytes. Default 20 GiB. */
  readonly maxBytes: number | undefined;
}

/** The plain CSV file that a Parquet file is written from; it is removed then. */
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
