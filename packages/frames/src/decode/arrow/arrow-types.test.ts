import { afterAll, describe, expect, test } from 'vitest';
import { writeArrow, type WriteArrowOptions } from '../../../test/write-arrow.ts';
import { encodeArrowStream } from '../../encode/arrow-stream.ts';
import type { FrameStream } from '../../streams.ts';
import { parseHandle } from '../../store.ts';
import { createMemoryStore } from '../../memory-store/memory-store.ts';
import { ENCODING_CHECKS } from '../../testing/encoding-checks.ts';
import { bodyOf, bytesOf, SAMPLE_FRAMES } from '../../testing/index.ts';
import type { SampleFrame } from '../../testing/sample-frame.ts';
import { createDecoders } from '../decoders.ts';
import { byTier } from '../../../../../test/tier.ts';

const decoders = createDecoders({ maxWorkers: 2 });
afterAll(() => decoders.close());

const WAYS: WriteArrowOptions[] = (['stream', 'file'] as const).flatMap((kind) =>
  [undefined, 'lz4' as const, 'zstd' as const].map((compression) => ({ kind, compression })),
);

function decode(sample: SampleFrame, way: WriteArrowOptions, chunkBytes = Infinity): Promise<FrameStream> {
  const bytes = writeArrow(sample.schema, sample.batches, way);
  return decoders.decode('arrow', bodyOf(bytes, chunkBytes));
}

/** Checks the type, the metadata and every cell of a frame, through the encoders. */
async function check(frame: FrameStream, sample: SampleFrame): Promise<void> {
  await ENCODING_CHECKS.arrow(await bytesOf(encodeArrowStream(frame)), sample);
}

/** A file cannot replace a dictionary. */
const fits = (sample: SampleFrame, { kind }: WriteArrowOptions) =>
  kind === 'stream' || !sample.name.includes('a dictionary each');

describe.each(WAYS)('a $kind, compression $compression, is read as it was written', (way) => {
  for (const [options, samples] of byTier(SAMPLE_FRAMES.filter((sample) => fits(sample, way)))) {
    test.each(samples)('$name', options, async (sample) => {
      await check(await decode(sample, way), sample);
    });
  }
});

describe('a store keeps what was decoded', () => {
  test.each(SAMPLE_FRAMES)('$name: whole, and any rows of it', { tags: ['slow'] }, async (sample) => {
    const store = createMemoryStore();
    const ref = { tenant: 't', handle: parseHandle('h') };
    const { info } = await store.put(ref, await decode(sample, {}, 997));
    expect([info.rows, info.columns.map(({ type }) => type)]).toEqual([sample.rows.length, sample.types]);
    const frame = await store.open(ref);
    if (frame === undefined) throw new Error('The store has lost the frame.');
    for (const [offset, limit] of [
      [0, Infinity],
      [0, 1],
      [1, 2],
      [3, 9],
      [7, 8],
      [8, 100],
      [9, 1],
    ]) {
      const rows = sample.rows.slice(offset, offset + limit);
      await check(frame.read({ offset, limit }), { ...sample, rows });
    }
    frame.close();
  });
});
