import { ServiceError } from '@svc/errors';
import { Dictionary, Field, Int32, Int8, type RecordBatch, Schema, Utf8 } from 'apache-arrow';
import { afterAll, expect, test } from 'vitest';
import { runs } from '../../../../../test/tier.ts';
import { POLARS_FILE, pyarrow } from '../../../test/arrow-bodies.ts';
import { writeArrow, type WriteArrowOptions, writeParts } from '../../../test/write-arrow.ts';
import { createRecordBatch } from '../../columns/record-batch.ts';
import { encodeArrowStream } from '../../encode/arrow-stream.ts';
import { encodeJsonTable } from '../../encode/row-formats.ts';
import type { FrameStream } from '../../streams.ts';
import { bytes, dictionaryOf, numbers } from '../../testing/column-builders.ts';
import { bodyOf, bytesOf, SAMPLE_FRAMES, streamOfBatches } from '../../testing/index.ts';
import { createRandomWords } from '../../../test/random-words.ts';
import { createDecoders } from '../decoders.ts';

const MUTATIONS = runs(10_000);
const WORKERS = 2;
const decoders = createDecoders({ maxWorkers: WORKERS, stallTimeoutMs: 2000 });
afterAll(() => decoders.close());

const WAYS: WriteArrowOptions[] = [{}, { kind: 'file' }, { compression: 'lz4' }, { kind: 'file', compression: 'zstd' }];

/** Only small frames, so that most mutations hit something significant. */
const SAMPLES = SAMPLE_FRAMES.filter(
  ({ schema, name }) => schema.fields.length === 1 && name !== 'huge texts' && !name.includes('a dictionary each'),
);

/** Several batches of several columns, and a dictionary that grows and is replaced between them. */
function severalBatches(compression: WriteArrowOptions['compression']): Uint8Array {
  const type = new Dictionary(new Utf8(), new Int8(), 1);
  const schema = new Schema([
    new Field('n', new Int32(), true),
    new Field('s', new Utf8(), true),
    new Field('d', type, true),
  ]);
  const batch = (...words: (string | null)[]) =>
    createRecordBatch(schema, words.length, [
      numbers(
        new Int32(),
        words.map((_, row) => 7 * row),
      ),
      bytes(new Utf8(), words),
      dictionaryOf(bytes)(type, words),
    ]);
  const dictionary = (isDelta: boolean, ...words: string[]) =>
    ({ kind: 'dictionary', id: 1, isDelta, data: bytes(new Utf8(), words) }) as const;
  return writeParts(
    schema,
    [
      dictionary(false, 'a', 'b'),
      { kind: 'batch', batch: batch('x', 'y', null, 'x') },
      dictionary(true, 'c'),
      { kind: 'batch', batch: batch('p', 'q', 'r') },
      dictionary(false, 'other', 'words', 'altogether'),
      { kind: 'batch', batch: batch('u', null, 'v', 'w', 'u') },
    ],
    { compression },
  );
}

const LARGER_BODIES: readonly Uint8Array[] = [
  severalBatches(undefined),
  severalBatches('lz4'),
  ...SAMPLES.slice(0, 1).map(({ schema, batches }) =>
    writeArrow(schema, [batches, batches, batches].flat(), { kind: 'file' }),
  ),
  pyarrow('deltas'),
  pyarrow('nested'),
  pyarrow('lz4File'),
  pyarrow('zstdStream'),
  POLARS_FILE,
];

const BODIES: readonly Uint8Array[] = [
  ...SAMPLES.flatMap(({ schema, batches }) => WAYS.map((way) => writeArrow(schema, batches, way))),
  // Repeated, so that enough mutations hit it.
  ...Array.from({ length: 6 }, () => LARGER_BODIES).flat(),
];

/** Lengths and offsets that a hostile or broken writer could write. */
const EDGES = [0, 1, -1, 7, 255, 65_536, 2 ** 30, 2 ** 31 - 1, -(2 ** 31)];

interface Mutation {
  readonly body: Uint8Array;
  readonly isCut: boolean;
}

function mutated(original: Uint8Array, random: (bound: number) => number): Mutation {
  const copy = Buffer.from(original);
  switch (random(5)) {
    case 0:
      copy[random(copy.length)] ^= 1 << random(8);
      return { body: copy, isCut: false };
    case 1:
      copy[random(copy.length)] = random(256);
      return { body: copy, isCut: false };
    case 2:
      copy.writeInt32LE(EDGES[random(EDGES.length)], 4 * random(copy.length >> 2));
      return { body: copy, isCut: false };
    case 3:
      return { body: copy.subarray(0, random(copy.length)), isCut: true };
    default: {
      const cut = random(copy.length);
      return { body: Buffer.concat([copy.subarray(0, cut), copy.subarray(cut + 1 + random(16))]), isCut: false };
    }
  }
}

function decode(body: Uint8Array): Promise<FrameStream> {
  return decoders.decode('arrow', bodyOf(body), { maxBytes: 1 << 24 });
}

/** Encodes a body as a JSON table, and checks that the output of the Arrow encoder gives the same. */
async function tableOf(body: Uint8Array): Promise<string> {
  const { schema, batches } = await decode(body);
  const kept: RecordBatch[] = [];
  for await (const batch of batches) kept.push(batch);
  const json = await bytesOf(encodeJsonTable(streamOfBatches(schema, kept), { query: 'q' }));
  JSON.parse(json.toString());
  const again = await decode(await bytesOf(encodeArrowStream(streamOfBatches(schema, kept))));
  const jsonAgain = await bytesOf(encodeJsonTable(again, { query: 'q' }));
  if (!json.equals(jsonAgain)) throw new Error('the frame differs when written and read again');
  return json.toString();
}

/** Whether a table has the columns of another and its first rows. */
function isStartOf(table: string, whole: string): boolean {
  const rowsEnd = table.lastIndexOf('],"count":');
  return whole.startsWith(table.slice(0, rowsEnd)) && /[[\]]$/.test(table.slice(0, rowsEnd));
}

const tables = new Map<Uint8Array, string>();

async function outcomeOf(original: Uint8Array, { body, isCut }: Mutation): Promise<string> {
  try {
    const table = await tableOf(body);
    if (!isCut) return 'read';
    const whole = tables.get(original) ?? (await tableOf(original));
    tables.set(original, whole);
    return isStartOf(table, whole) ? 'read' : 'a truncated body with other rows';
  } catch (error) {
    if (!(error instanceof ServiceError)) return `failed: ${String(error)}`;
    return error.message.includes('no progress') ? 'stalled' : error.code;
  }
}

test('every body is read if nothing is mutated', { tags: ['slow'] }, async () => {
  for (const body of new Set(BODIES)) expect(await outcomeOf(body, { body, isCut: true })).toBe('read');
});

test(
  `each of ${MUTATIONS} mutated bodies is refused in time, or is a frame that encoders can write; a truncated one has no other rows`,
  { tags: ['slow'], timeout: 180_000 },
  async () => {
    const words = createRandomWords(7);
    const random = (bound: number) => words() % bound;
    const outcomes = new Map<string, number>();
    let left = MUTATIONS;
    async function mutate(): Promise<void> {
      while (left > 0) {
        const original = BODIES[--left % BODIES.length];
        const outcome = await outcomeOf(original, mutated(original, random));
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
