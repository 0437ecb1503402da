import type { FrameStream } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import type { RecordBatch } from 'apache-arrow';
import type { FileSource, SourceInfo } from '../src/files/frame-files.ts';
import type { FilesFixture } from '../src/testing/files-fixture.ts';

/** The rows of a long file. */
export const ROWS = 1_000_000;

/** Writes a file whose column `id` counts its rows. */
export async function writeLongFile(fixture: FilesFixture): Promise<{ source: FileSource; info: SourceInfo }> {
  const path = fixture.path();
  const info = await fixture.files.write(path, longFrame(ROWS, { batchRows: 100_000 }), { compression: 'zstd' });
  return { source: { kind: 'parquet', path }, info };
}

/** The values of the first column. */
export async function idsOf(frame: FrameStream): Promise<bigint[]> {
  const ids: bigint[] = [];
  for await (const batch of frame.batches) ids.push(...(batch.getChildAt(0)!.toArray() as BigInt64Array));
  return ids;
}

/** A stream that does not end before `until` resolves. */
export function slowFrame(until: Promise<unknown>): FrameStream {
  const { schema, batches } = longFrame(10);
  return {
    schema,
    batches: (async function* (): AsyncGenerator<RecordBatch> {
      yield* batches;
      await until;
    })(),
  };
}
