import type { FrameStream } from '@svc/frames';
import type { RecordBatch } from 'apache-arrow';
import type { FrameSource, ReadPart, SourceInfo } from './frame-files.ts';
import { decodeBatch } from '../types/batch-codec.ts';
import type { FileEngine } from '../engine/file-engine.ts';
import { fromChild, type Subject } from './file-errors.ts';
import { readPlan } from './source-sql.ts';

/** Reads the rows of a source that was described. Fails if the number of rows differs. */
export function readSource(engine: FileEngine, source: FrameSource, info: SourceInfo, part: ReadPart): FrameStream {
  const { schema, rows, request } = readPlan(source, info, part);
  async function* batches(): AsyncGenerator<RecordBatch> {
    part.signal?.throwIfAborted();
    if (rows === 0) return;
    try {
      const payloads = engine.read(request, part);
      let seen = 0;
      for await (const payload of payloads) {
        const batch = decodeBatch(schema, payload);
        seen += batch.numRows;
        yield batch;
      }
      if (seen !== rows) throw new Error(`A read returned ${seen} rows instead of ${rows}.`);
    } catch (error) {
      throw fromChild(error, subjectOf(source));
    }
  }
  return { schema, batches: batches() };
}

const SUBJECTS = { parquet: 'Parquet file', parts: 'Parquet file', csv: 'CSV file', table: 'table' } as const;

/** The name of a source in error messages. */
export function subjectOf(source: FrameSource): Subject {
  return SUBJECTS[source.kind];
}
