import { ServiceError } from '@svc/errors';
import type { RecordBatch } from 'apache-arrow';
import { afterAll, expect, test } from 'vitest';
import { writeArrow, type WriteArrowOptions } from '../../test/write-arrow.ts';
import { encodeArrowStream } from '../encode/arrow-stream.ts';
import { encodeJsonTable } from '../encode/json-table.ts';
import type { FrameStream } from '../frame-stream.ts';
import { SAMPLE_FRAMES } from '../testing/index.ts';
import { createDecoders } from './decoders.ts';

const MUTATIONS = 10_000;
const WORKERS = 2;
const decoders = createDecoders({ maxWorkers: WORKERS, stallTimeoutMs: 2000 });
afterAll(() => decoders.close());

const WAYS: WriteArrowOptions[] = [{}, { kind: 'file' }, { compression: 'lz4' }, { kind: 'file', compression: 'zstd' }];

/** Small ones only, so that most mutations hit something that matters. */
const SAMPLES = SAMPLE_FRAMES.filter(({ schema, name }) => schema.fields.length === 1 && name !== 'huge texts');

/** Lengths and offsets that a hostile or broken writer could write. */
const EDGES = [0, 1, -1, 7, 255, 65_536, 2 ** 30, 2 ** 31 - 1, -(2 ** 31)];

/** Numbers below a bound, the same in every run. */
function createRandom(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

function mutated(bytes: Uint8Array, random: (bound: number) => number): Uint8Array {
  const copy = Buffer.from(bytes);
  switch (random(5)) {
    case 0:
      copy[random(copy.length)] ^= 1 << random(8);
      return copy;
    case 1:
      copy[random(copy.length)] = random(256);
      return copy;
    case 2:
      copy.writeInt32LE(EDGES[random(EDGES.length)], 4 * random(copy.length >> 2));
      return copy;
    case 3:
      return copy.subarray(0, random(copy.length));
    default: {
      const cut = random(copy.length);
      return Buffer.concat([copy.subarray(0, cut), copy.subarray(cut + 1 + random(16))]);
    }
  }
}

function decode(bytes: Uint8Array): Promise<FrameStream> {
  const body = (async function* () {
    yield bytes;
  })();
  return decoders.decode('arrow', body, { maxBytes: 1 << 24 });
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

/** What the encoders make of a body: a JSON table that is JSON, and the same from what the Arrow encoder writes. */
async function encodeTwice(body: Uint8Array): Promise<string> {
  const { schema, batches } = await decode(body);
  const kept: RecordBatch[] = [];
  for await (const batch of batches) kept.push(batch);
  const streamOf = (): FrameStream => ({
    schema,
    batches: (async function* () {
      yield* kept;
    })(),
  });
  const json = await bytesOf(encodeJsonTable(streamOf(), { query: 'q' }));
  JSON.parse(json.toString());
  const again = await decode(await bytesOf(encodeArrowStream(streamOf())));
  const jsonAgain = await bytesOf(encodeJsonTable(again, { query: 'q' }));
  return json.equals(jsonAgain) ? 'read' : 'another frame when written and read again';
}

async function outcomeOf(body: Uint8Array): Promise<string> {
  try {
    return await encodeTwice(body);
  } catch (error) {
    if (!(error instanceof ServiceError)) return `failed: ${String(error)}`;
    return error.message.includes('no progress') ? 'stalled' : error.code;
  }
}

test(
  `each of ${MUTATIONS} mutated bodies is refused in time, or is a frame that encoders can write`,
  {
    timeout: 180_000,
  },
  async () => {
    const random = createRandom(7);
    const bodies = SAMPLES.flatMap(({ schema, batches }) =>
      WAYS.map((way) => writeArrow(schema, batches.slice(0, 1), way)),
    );
    const outcomes = new Map<string, number>();
    let left = MUTATIONS;
    async function mutate(): Promise<void> {
      while (left > 0) {
        const body = bodies[--left % bodies.length];
        const outcome = await outcomeOf(mutated(body, random));
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    }
    await Promise.all(Array.from({ length: WORKERS }, mutate));
    const {
      read = 0,
      invalid_data: refused = 0,
      out_of_memory: tooLarge = 0,
      ...others
    } = Object.fromEntries(outcomes);
    expect(others).toEqual({});
    expect(refused).toBeGreaterThan(MUTATIONS / 4);
    expect(read).toBeGreaterThan(MUTATIONS / 10);
    expect(read + refused + tooLarge).toBe(MUTATIONS);
  },
);
