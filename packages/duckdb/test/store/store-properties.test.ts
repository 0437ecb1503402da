import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createDecoders, encodeArrowStream, encodeCsv, encodeNdjson, type FrameStream, type Store } from '@svc/frames';
import {
  bodyOf,
  buildBits,
  buildBytes,
  type BuildColumn,
  buildDecimals,
  buildListsOf,
  buildLongs,
  buildNumbers,
  buildStructsOf,
  bytesOf,
  streamOfBatches,
} from '@svc/frames/testing';
import {
  Binary,
  Bool,
  type Data,
  type DataType,
  DateDay,
  Decimal,
  Field,
  Float64,
  Int32,
  Int64,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMicrosecond,
  Uint64,
  Utf8,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runs } from '../../../../test/tier.ts';
import { createFrameFiles, type DuckdbFrameFiles } from '../../src/files/create-frame-files.ts';
import { createStoreFixture, refOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

const decoders = createDecoders();
let fixture: StoreFixture;
let files: DuckdbFrameFiles;
beforeAll(async () => {
  files = createFrameFiles({ tempDirectory: tmpdir() });
  fixture = await createStoreFixture(files);
});
afterAll(async () => {
  await fixture.remove();
  await Promise.all([files.close(), decoders.close()]);
});

/** A type with a column builder, arbitrary values, and its type name for CSV. */
interface Kind {
  readonly type: DataType;
  readonly build: (values: readonly unknown[]) => Data;
  readonly value: fc.Arbitrary<unknown>;
  readonly csv: string;
}

function kind<V>(type: DataType, builder: BuildColumn<V>, value: fc.Arbitrary<V>, csv = 'STRING'): Kind {
  return { type, build: (values) => builder(type, values as (V | null)[]), value, csv };
}

const long = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);
const text = fc.string({ unit: 'grapheme', maxLength: 30 });
/** No integers: JSON reads them back as a LONG with the same digits, or they are too long for one. */
const double = fc.double({ min: -1e9, max: 1e9, noNaN: true }).filter((value) => !Number.isInteger(value));
/** From 1970 to 2100. */
const day = fc.nat(47_000);
const micros = fc.bigInt(0n, 47_000n * 86_400_000_000n);

const LEAVES = {
  bool: kind(new Bool(), buildBits, fc.boolean(), 'BOOLEAN'),
  int: kind(new Int32(), buildNumbers, fc.integer(), 'INT'),
  long: kind(new Int64(), buildLongs, long, 'LONG'),
  ulong: kind(new Uint64(), buildLongs, fc.bigInt(0n, 2n ** 64n - 1n), 'ULONG'),
  double: kind(new Float64(), buildNumbers, double, 'DOUBLE'),
  decimal: kind(new Decimal(2, 20), buildDecimals, fc.bigInt(-(10n ** 20n) + 1n, 10n ** 20n - 1n), 'DECIMAL(20,2)'),
  day: kind(new DateDay(), buildNumbers, day, 'DATE'),
  time: kind(new TimestampMicrosecond(), buildLongs, micros, 'TIMESTAMP'),
  text: kind(new Utf8(), buildBytes, text),
  binary: kind(new Binary(), buildBytes, text),
};
const { text: texts, long: longs } = LEAVES;
const LISTS = kind(
  new List(new Field('item', new Int64(), true)),
  buildListsOf(buildLongs) as BuildColumn<unknown>,
  fc.array(fc.option(long), { maxLength: 4 }),
);
const STRUCTS = kind(
  new Struct([new Field('a', texts.type, true), new Field('b', longs.type, true)]),
  buildStructsOf(buildBytes as BuildColumn<never>, buildLongs as BuildColumn<never>),
  fc.tuple(fc.option(text), fc.option(long)),
);

const frames = fc.record({
  kinds: fc.array(fc.constantFrom(...Object.values(LEAVES), LISTS, STRUCTS), { minLength: 1, maxLength: 6 }),
  rows: fc.integer({ min: 1, max: 50 }),
});

interface Random {
  readonly schema: Schema;
  readonly batch: RecordBatch;
  readonly csv: readonly { readonly name: string; readonly type: string }[];
}

const randomFrames: fc.Arbitrary<Random> = frames.chain(({ kinds, rows }) =>
  fc
    .tuple(...kinds.map(({ value }) => fc.array(fc.option(value), { minLength: rows, maxLength: rows })))
    .map((columns) => {
      const schema = new Schema(kinds.map(({ type }, i) => new Field(`c ${i}`, type, true)));
      const children = columns.map((values, i) => kinds[i].build(values));
      const data = makeData({ type: new Struct(schema.fields), length: rows, nullCount: 0, children });
      const csv = kinds.map((one, i) => ({ name: `c ${i}`, type: one.csv }));
      return { schema, batch: new RecordBatch(schema, data), csv };
    }),
);

async function reading<T>(store: Store, handle: string, use: (frame: FrameStream) => Promise<T>): Promise<T> {
  const frame = (await store.open(refOf(handle)))!;
  try {
    return await use(frame.read());
  } finally {
    frame.close();
  }
}

const ndjson = async (frame: FrameStream): Promise<string> => (await bytesOf(encodeNdjson(frame))).toString();
const csv = async (frame: FrameStream): Promise<string> => (await bytesOf(encodeCsv(frame))).toString();
const arrow = (frame: FrameStream): Promise<Buffer> => bytesOf(encodeArrowStream(frame));

test('random frames of random types survive a put, a restart, and each format out and back in', async () => {
  await fc.assert(
    fc.asyncProperty(randomFrames, async ({ schema, batch, csv: columns }) => {
      const frame = (): FrameStream => streamOfBatches(schema, [batch]);
      const expected = await ndjson(frame());
      const first = await fixture.open({ decoders, cacheBytes: 0 });
      const { info } = await first.put(refOf('put'), frame());
      await first.close();

      const second = await fixture.open({ decoders, cacheBytes: 0 });
      expect(await reading(second, 'put', ndjson)).toBe(expected);
      const lines = await reading(second, 'put', csv);
      const file = await readFile((await fixture.parts('put'))[0] ?? '');
      await second.put(refOf('arrow'), { format: 'arrow', body: bodyOf(await reading(second, 'put', arrow)) });
      await second.put(refOf('parquet'), { format: 'parquet', body: bodyOf(file) });
      await second.put(refOf('ndjson'), { format: 'ndjson', body: bodyOf(expected) });
      await second.put(refOf('json'), {
        format: 'json',
        body: bodyOf(`[${expected.trimEnd().replaceAll('\n', ',')}]`),
      });
      await second.put(refOf('csv'), { format: 'csv', body: bodyOf(lines), options: { header: true, columns } });
      await second.close();

      const third = await fixture.open({ decoders, cacheBytes: 0 });
      for (const handle of ['arrow', 'parquet']) {
        expect((await third.describe(refOf(handle)))?.columns).toEqual(info.columns);
      }
      for (const handle of ['arrow', 'parquet', 'ndjson', 'json']) {
        expect([handle, await reading(third, handle, ndjson)]).toEqual([handle, expected]);
      }
      expect(await reading(third, 'csv', csv)).toBe(lines);
      await third.close();
    }),
    { numRuns: runs(15) },
  );
}, 120_000);
