import { ServiceError } from '@svc/errors';
import {
  Bool,
  Dictionary,
  Field,
  Int32,
  Int8,
  LargeUtf8,
  List,
  type RecordBatch,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  Utf8View,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, expect, test } from 'vitest';
import { createDecoders } from './decoders.ts';

const decoders = createDecoders({ maxWorkers: 2, stallTimeoutMs: 2000 });
afterAll(() => decoders.close());

const MUTATIONS = 250;
const EDGES = [0, 1, -1, 7, 255, 65_536, 2 ** 30, 2 ** 31 - 1, -(2 ** 31)];

const table = new Table({
  n: vectorFromArray([1, null, 3, 4], new Int32()),
  s: vectorFromArray(['x', 'yé', null, ''], new Utf8()),
  w: vectorFromArray(['x', 'yé', null, 'long'], new LargeUtf8()),
  v: vectorFromArray(['x', 'longer than twelve bytes', null, ''], new Utf8View()),
  d: vectorFromArray(['u', 'v', 'u', null], new Dictionary(new Utf8(), new Int8())),
  b: vectorFromArray([true, false, null, true], new Bool()),
  l: vectorFromArray([[1, 2], [], null, [3]], new List(new Field('item', new Int32(), true))),
  r: vectorFromArray([{ x: 1 }, null, { x: 2 }, { x: null }], new Struct([new Field('x', new Int32(), true)])),
});

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
  switch (random(4)) {
    case 0:
      copy[random(copy.length)] ^= 1 << random(8);
      return copy;
    case 1:
      copy[random(copy.length)] = random(256);
      return copy;
    case 2:
      copy.writeInt32LE(EDGES[random(EDGES.length)], 4 * random(copy.length >> 2));
      return copy;
    default: {
      const cut = random(copy.length);
      return Buffer.concat([copy.subarray(0, cut), copy.subarray(cut + 1 + random(16))]);
    }
  }
}

async function readAll(bytes: Uint8Array): Promise<RecordBatch[]> {
  const frame = await decoders.decode(
    'arrow',
    (async function* () {
      yield bytes;
    })(),
    { maxBytes: 1 << 24 },
  );
  const batches = [];
  for await (const batch of frame.batches) batches.push(batch);
  return batches;
}

function valuesOf(batches: readonly RecordBatch[]): string {
  const rows = batches.flatMap((batch) => batch.toArray().map((row) => row.toJSON()));
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
}

/** What became of a body: its error code, or whether the frame survives being written and read again. */
async function outcomeOf(body: Uint8Array): Promise<string> {
  try {
    const batches = await readAll(body);
    if (batches.length === 0) return 'the same';
    const again = await readAll(tableToIPC(new Table(batches), 'stream'));
    return valuesOf(again) === valuesOf(batches) ? 'the same' : 'another';
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.message.includes('no progress') ? 'stalled' : error.code;
  }
}

test.each(['stream', 'file'] as const)(
  `a mutated %s is refused, or is a frame that can be read, written and read again`,
  { timeout: 60_000 },
  async (kind) => {
    const bytes = tableToIPC(table, kind);
    const random = createRandom(kind.length);
    const outcomes: string[] = [];
    for (let i = 0; i < MUTATIONS; i++) outcomes.push(await outcomeOf(mutated(bytes, random)));
    const allowed = new Set(['the same', 'invalid_data', 'out_of_memory']);
    expect(outcomes.filter((outcome) => !allowed.has(outcome))).toEqual([]);
    expect(outcomes.filter((outcome) => outcome === 'invalid_data').length).toBeGreaterThan(MUTATIONS / 4);
  },
);
