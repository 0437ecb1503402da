import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../test/tier.ts';
import { sliceStream } from '../columns/slice-batches.ts';
import { bytesOf } from '../testing/bytes-of.ts';
import { streamOfSample } from '../testing/sample-frame.ts';
import { longFrame, SAMPLE_FRAMES, spoiltFrame } from '../testing/sample-frames.ts';
import { encodeJsonTable, encodeRowBlocks, jsonTableOf } from './row-formats.ts';

const OPTIONS = { query: 'handle:x', quoteLargeNum: false, blockRows: 4, maxBlockBytes: 1e6 };

describe('tables of row blocks', () => {
  const samples = SAMPLE_FRAMES.filter(({ name }) => name !== 'huge texts');
  test.each(samples.map((sample) => [sample.name, sample] as const))(
    '%s: ranges are what encodeJsonTable writes',
    async (_name, sample) => {
      const rows = sample.rows.length;
      const step = rows > 10 ? 5 : 1;
      for (const quoteLargeNum of [false, true]) {
        const blocks =
          (await encodeRowBlocks(streamOfSample(sample), { ...OPTIONS, quoteLargeNum, blockRows: 2 })) ?? [];
        for (let from = 0; from < rows; from += step) {
          for (let count = 1; count <= rows - from; count += step) {
            const covering = blocks.slice(from >> 1, ((from + count - 1) >> 1) + 1);
            const table = jsonTableOf(covering, { from: from % 2, rows: count, metadata: true, count });
            const part = sliceStream(streamOfSample(sample), { offset: from, limit: count });
            const expected = await bytesOf(encodeJsonTable(part, { query: 'handle:x', quoteLargeNum }));
            expect(Buffer.from(table).toString()).toBe(expected.toString());
          }
        }
      }
    },
  );

  test('any rows, batches and blocks', async () => {
    const property = fc.asyncProperty(
      fc.record({
        rows: fc.integer({ min: 1, max: 5000 }),
        batchRows: fc.integer({ min: 1, max: 3000 }),
        blockRows: fc.integer({ min: 1, max: 1500 }),
        start: fc.double({ min: 0, max: 0.999, noNaN: true }),
        share: fc.double({ min: 0, max: 0.999, noNaN: true }),
        metadata: fc.boolean(),
      }),
      async ({ rows, batchRows, blockRows, start, share, metadata }) => {
        const offset = Math.floor(start * rows);
        const count = 1 + Math.floor(share * (rows - offset));
        const source = () => longFrame(rows, { batchRows });
        const blocks = (await encodeRowBlocks(spoiltFrame(source()), { ...OPTIONS, blockRows })) ?? [];
        expect(blocks.map(({ ends }) => ends.length)).toEqual(
          Array.from({ length: Math.ceil(rows / blockRows) }, (_, i) => Math.min(blockRows, rows - i * blockRows)),
        );
        const first = Math.floor(offset / blockRows);
        const last = Math.floor((offset + count - 1) / blockRows);
        const range = { from: offset % blockRows, rows: count, metadata, count: 7 };
        const table = jsonTableOf(blocks.slice(first, last + 1), range);
        const part = sliceStream(source(), { offset, limit: count });
        const expected = bytesOf(encodeJsonTable(part, { query: 'handle:x', metadata, count: () => 7 }));
        expect(Buffer.from(table).equals(await expected)).toBe(true);
      },
    );
    await fc.assert(property, { numRuns: runs(200) });
  });

  test('a block that is too long is not encoded', async () => {
    expect(await encodeRowBlocks(longFrame(100), { ...OPTIONS, maxBlockBytes: 10 })).toBeUndefined();
    const huge = SAMPLE_FRAMES.find(({ name }) => name === 'huge texts');
    expect(huge && (await encodeRowBlocks(streamOfSample(huge), OPTIONS))).toBeUndefined();
    expect(await encodeRowBlocks(longFrame(3), { ...OPTIONS, maxBlockBytes: 1000 })).toHaveLength(1);
  });

  test('a block has memory of its own, so that keeping it keeps nothing else', async () => {
    const [block] = (await encodeRowBlocks(longFrame(3), OPTIONS)) ?? [];
    for (const part of [block?.head, block?.bytes, block?.ends]) expect(part?.buffer.byteLength).toBe(part?.byteLength);
  });

  test('a frame without rows has no blocks', async () => {
    expect(await encodeRowBlocks(longFrame(0), OPTIONS)).toEqual([]);
  });
});
