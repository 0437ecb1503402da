import { ServiceError } from '@svc/errors';
import { counted } from '@svc/errors/internal';
import type { FrameStream } from '@svc/frames';
import type { RecordBatch } from 'apache-arrow';
import type { DecodedFile, DecodeOptions, FrameSource, ReadPart, SourceInfo } from './frame-files.ts';
import { decodeBatch } from '../types/batch-codec.ts';
import type { FileEngine } from '../engine/file-engine.ts';
import { type DecodedFileOptions, writeDecodedFile } from './decoded-file.ts';
import { fromChild, type Subject } from './file-errors.ts';
import { createBatchReader } from '../wire/batch.ts';
import { readPlan } from './source-sql.ts';

/** Reads the rows of a source that was described. Fails if the number of rows differs. */
export function readSource(engine: FileEngine, source: FrameSource, info: SourceInfo, part: ReadPart): FrameStream {
  const { schema, payloads } = payloadsOf(engine, source, info, part);
  async function* batches(): AsyncGenerator<RecordBatch> {
    for await (const payload of payloads) yield decodeBatch(schema, payload);
  }
  return { schema, batches: batches() };
}

/** Writes all rows of a source that was described to an unnamed file, decoded. */
export function decodeSource(
  engine: FileEngine,
  source: FrameSource,
  info: SourceInfo,
  { unnamed, onSize, signal }: DecodeOptions,
): Promise<DecodedFile> {
  return writeDecodedFile({ ...payloadsOf(engine, source, info, { signal }), unnamed, onSize });
}

function payloadsOf(
  engine: FileEngine,
  source: FrameSource,
  info: SourceInfo,
  part: ReadPart,
): Pick<DecodedFileOptions, 'payloads' | 'schema'> {
  const { schema, rows, request } = readPlan(source, info, part);
  async function* payloads(): AsyncGenerator<ArrayBuffer> {
    part.signal?.throwIfAborted();
    if (rows === 0) return;
    try {
      let seen = 0;
      for await (const payload of engine.read(request(), part)) {
        seen += createBatchReader(payload).word();
        yield payload;
      }
      if (seen !== rows) throw otherRows(source, info, seen, rows);
    } catch (error) {
      throw fromChild(error, subjectOf(source));
    }
  }
  return { schema, payloads: payloads() };
}

function otherRows(source: FrameSource, { isForeign }: SourceInfo, seen: number, rows: number): Error {
  if (isForeign === undefined) return new Error(`A read returned ${seen} rows instead of ${rows}.`);
  const message = `The ${subjectOf(source)} cannot be read: it has ${counted(seen, 'row')} where it declares ${rows}.`;
  return new ServiceError('invalid_data', message, { hint: 'Write it again: its footer does not match its rows.' });
}

const SUBJECTS = { parquet: 'Parquet file', parts: 'stored file', csv: 'CSV file', table: 'table' } as const;

/** The name of a source in error messages. */
export function subjectOf(source: FrameSource): Subject {
  return source.kind === 'parquet' && source.isOwn ? 'stored file' : SUBJECTS[source.kind];
}
