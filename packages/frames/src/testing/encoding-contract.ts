import type { Data, RecordBatch } from 'apache-arrow';
import { describe, expect, test, type TestOptions } from 'vitest';
import { createRecordBatch } from '../columns/record-batch.ts';
import type { ResultFormat } from '../encoding.ts';
import { type FrameStream, streamOfBatches } from '../streams.ts';
import { bytesOf, chunksOf } from './bytes-of.ts';
import { type EncodingCheck, ENCODING_CHECKS } from './encoding-checks.ts';
import { type SampleFrame, streamOfSample } from './sample-frame.ts';
import { longFrame, SAMPLE_FRAMES } from './sample-frames.ts';

type Encode = (source: FrameStream) => AsyncIterable<Uint8Array>;

/** Options of `encodingContract`. */
export interface EncodingContractOptions {
  /** Default: the check of this package, which has none for Parquet. */
  readonly check?: EncodingCheck;
  /** The frames the format supports. Default: all. */
  readonly samples?: readonly SampleFrame[];
  /** The options of the tests that give each sample in other forms, as slices or many batches; they take the longest. */
  readonly otherForms?: TestOptions;
}

/** The contract of all encoders; a JSON table is written for the query `q`. */
export function encodingContract(format: ResultFormat, encode: Encode, options: EncodingContractOptions = {}): void {
  const { check: checkBytes = checkOf(format), samples = SAMPLE_FRAMES, otherForms = {} } = options;
  const check = async (sample: SampleFrame): Promise<void> => {
    await checkBytes(await bytesOf(encode(streamOfSample(sample))), sample);
  };

  describe(`${format} keeps the encoding contract`, () => {
    test.each(samples)('$name: every cell of the whole frame', check);
    test.each(samples)('$name: every cell of slices at odd offsets', otherForms, async (sample) => {
      for (const [start, end] of SLICES) await check(sliceOf(sample, start, end));
    });
    test.each(samples)('$name: every cell of a slice of a slice', otherForms, async (sample) => {
      await check(sliceOf(sliceOf(sample, 1, 18), 2, 13));
    });
    test.each(samples)('$name: every cell of many batches', otherForms, async (sample) => {
      await check({ ...sample, batches: sample.batches.flatMap((batch) => slicesOf(sample, batch)) });
    });

    test('no chunk is empty, and no two share memory', async () => {
      const chunks = await chunksOf(encode(longFrame(200_000, { batchRows: 30_000 })));
      expect(chunks.length).toBeGreaterThan(2);
      expect(Math.min(...chunks.map((chunk) => chunk.length))).toBeGreaterThan(0);
      const before = Buffer.concat(chunks);
      chunks.pop()?.fill(0);
      expect(Buffer.concat(chunks).equals(before.subarray(0, Buffer.concat(chunks).length))).toBe(true);
    });

    test('a reader that stops closes the source', async () => {
      let isEnded = false;
      const { schema, batches } = longFrame(500_000, { batchRows: 100_000 });
      async function* observed() {
        try {
          yield* batches;
        } finally {
          isEnded = true;
        }
      }
      for await (const chunk of encode(streamOfBatches(schema, observed()))) if (chunk.length > 0) break;
      expect(isEnded).toBe(true);
    });

    test('a failing source rejects with its error', async () => {
      const { schema, batches } = longFrame(10);
      async function* failing() {
        yield* batches;
        throw new RangeError('no more');
      }
      await expect(bytesOf(encode(streamOfBatches(schema, failing())))).rejects.toThrow(new RangeError('no more'));
    });
  });
}

function checkOf(format: ResultFormat): EncodingCheck {
  if (format === 'parquet') throw new Error('There is no check for Parquet: pass one.');
  return ENCODING_CHECKS[format];
}

const SLICES = [
  [1, 2],
  [3, 17],
  [7, 9],
  [8, 19],
  [9, 19],
] as const;

function sliceBatch({ schema }: SampleFrame, batch: RecordBatch, start: number, end: number): RecordBatch {
  const children: readonly Data[] = batch.data.children;
  return createRecordBatch(
    schema,
    end - start,
    children.map((data) => data.slice(start, end - start)),
  );
}

/** The rows from `start` to `end` of a sample, as views of its batches. */
function sliceOf(sample: SampleFrame, start: number, end: number): SampleFrame {
  let before = 0;
  const batches = sample.batches.flatMap((batch) => {
    const from = Math.max(start - before, 0);
    const to = Math.min(end - before, batch.numRows);
    before += batch.numRows;
    return from < to ? [sliceBatch(sample, batch, from, to)] : [];
  });
  return { ...sample, batches, rows: sample.rows.slice(start, end) };
}

/** Splits a batch into slices of one row, two rows, three rows and so on. */
function slicesOf(sample: SampleFrame, batch: RecordBatch): RecordBatch[] {
  const slices: RecordBatch[] = [];
  for (let start = 0, rows = 1; start < batch.numRows; start += rows++) {
    slices.push(sliceBatch(sample, batch, start, Math.min(start + rows, batch.numRows)));
  }
  return slices;
}
