import {
  Binary,
  BinaryView,
  Bool,
  type DataType,
  DateDay,
  Decimal,
  Dictionary,
  DurationNanosecond,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  IntervalDayTime,
  IntervalMonthDayNano,
  LargeList,
  LargeUtf8,
  List,
  Map_,
  Schema,
  Struct,
  TimestampMicrosecond,
  Uint64,
  Utf8,
  Utf8View,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../../test/tier.ts';
import { decodeBody, type DecodedBody } from '../../../test/decode-body.ts';
import { writeArrow } from '../../../test/write-arrow.ts';
import { createRecordBatch } from '../../columns/record-batch.ts';
import { encodeArrowStream } from '../../encode/arrow-stream.ts';
import { encodeJsonTable } from '../../encode/row-formats.ts';
import { streamOfBatches } from '../../streams.ts';
import { bytesOf } from '../../testing/bytes-of.ts';
import * as build from '../../testing/column-builders.ts';
import { decodeArrow } from './arrow-decoder.ts';

/** A type, a builder for its columns, and an arbitrary value. */
interface Kind {
  readonly type: DataType;
  readonly build: build.BuildColumn<never>;
  readonly value: fc.Arbitrary<unknown>;
}

function kind<Value>(type: DataType, builder: build.BuildColumn<Value>, value: fc.Arbitrary<Value>): Kind {
  return { type, build: builder as build.BuildColumn<never>, value };
}

const word = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const long = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);
const text = fc.string({ unit: 'grapheme', maxLength: 30 });
/** At most as many as an 8-bit index can address, however many lists contain them. */
const fewTexts = fc.constantFrom('', 'a', 'é€😀', '"\\\n', 'x'.repeat(30));
const words = (length: number) => fc.array(word, { minLength: length, maxLength: length });

/** A new one for every column, as a dictionary belongs to its type. */
const LEAVES: readonly (() => Kind)[] = [
  () => kind(new Bool(), build.bits, fc.boolean()),
  () => kind(new Int32(), build.numbers, word),
  () => kind(new Int64(), build.longs, long),
  () => kind(new Uint64(), build.longs, fc.bigInt(0n, 2n ** 64n - 1n)),
  () => kind(new Float64(), build.numbers, fc.double()),
  () => kind(new Decimal(2, 9, 32), build.decimals, fc.bigInt(-(10n ** 9n) + 1n, 10n ** 9n - 1n)),
  () => kind(new Decimal(-3, 18, 64), build.decimals, fc.bigInt(-(10n ** 18n) + 1n, 10n ** 18n - 1n)),
  () => kind(new Decimal(0, 38), build.decimals, fc.bigInt(-(2n ** 127n), 2n ** 127n - 1n)),
  () => kind(new Decimal(70, 76, 256), build.decimals, fc.bigInt(-(2n ** 255n), 2n ** 255n - 1n)),
  () => kind(new DateDay(), build.numbers, word),
  () => kind(new TimestampMicrosecond(), build.longs, long),
  () => kind(new DurationNanosecond(), build.longs, long),
  () => kind(new IntervalDayTime(), build.intervals, words(2)),
  () => kind(new IntervalMonthDayNano(), build.intervals, words(4)),
  () => kind(new Utf8(), build.bytes, text),
  () => kind(new LargeUtf8(), build.largeBytes, text),
  () => kind(new Utf8View(), build.views, text),
  () => kind(new Binary(), build.bytes, text),
  () => kind(new BinaryView(), build.views, text),
  () => kind(new FixedSizeBinary(3), build.fixedBytes, fc.array(fc.nat(255), { minLength: 3, maxLength: 3 })),
  () => kind(new Dictionary(new Utf8(), new Int8()), build.dictionaryOf(build.bytes), fewTexts),
  () => kind(new Dictionary(new Utf8(), new Int32()), build.dictionaryOf(build.bytes), text),
  () => kind(new Dictionary(new Int64(), new Int16()), build.dictionaryOf(build.longs), long),
];

const items = (inner: Kind, length?: number) =>
  fc.array(fc.option(inner.value), { maxLength: 4, ...(length === undefined ? {} : { minLength: length }) });

const fieldOf = (name: string, inner: Kind, nullable = true) => new Field(name, inner.type, nullable);

function nestings(inner: Kind, other: Kind): readonly (() => Kind)[] {
  const key = kind(new Utf8(), build.bytes, text);
  const pair = new Struct([fieldOf('key', key, false), fieldOf('value', inner)]);
  return [
    () =>
      kind(new List(fieldOf('item', inner)), build.listsOf(inner.build) as build.BuildColumn<unknown>, items(inner)),
    () =>
      kind(
        new LargeList(fieldOf('item', inner)),
        build.listsOf(inner.build) as build.BuildColumn<unknown>,
        items(inner),
      ),
    () =>
      kind(
        new FixedSizeList(4, fieldOf('item', inner)),
        build.fixedListsOf(inner.build) as build.BuildColumn<unknown>,
        items(inner, 4),
      ),
    () =>
      kind(
        new Struct([fieldOf('a', inner), fieldOf('b', other)]),
        build.structsOf(inner.build, other.build),
        fc.tuple(fc.option(inner.value), fc.option(other.value)),
      ),
    () =>
      kind(
        new Map_(new Field('entries', pair, false) as never),
        build.mapsOf(build.bytes, inner.build) as build.BuildColumn<unknown>,
        fc.array(fc.tuple(text, fc.option(inner.value)), { maxLength: 4 }),
      ),
  ];
}

const leaf = fc.constantFrom(...LEAVES).map((make) => make());
const { anyKind } = fc.letrec<{ anyKind: Kind }>((tie) => ({
  anyKind: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc
      .tuple(tie('anyKind'), leaf)
      .chain(([inner, other]) => fc.constantFrom(...nestings(inner, other)).map((make) => make())),
  ),
}));

/** A frame of arbitrary columns, in several batches. */
const frames = fc.array(anyKind, { minLength: 1, maxLength: 3 }).chain((kinds) =>
  fc.record({
    kinds: fc.constant(kinds),
    batches: fc.array(
      fc.array(fc.tuple(...kinds.map(({ value }) => fc.option(value, { freq: 4 }))), { minLength: 1, maxLength: 12 }),
      { maxLength: 3 },
    ),
    compression: fc.constantFrom(undefined, 'lz4' as const, 'zstd' as const),
    chunkBytes: fc.constantFrom(13, 512, Infinity),
  }),
);

const jsonOf = async ({ schema, batches }: DecodedBody) =>
  (await bytesOf(encodeJsonTable(streamOfBatches(schema, batches), { query: 'q' }))).toString();

test('any frame of any types survives two round trips of encoding and decoding', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(frames, async ({ kinds, batches, compression, chunkBytes }) => {
      const schema = new Schema(kinds.map((column, i) => fieldOf(`c${i}`, column)));
      const built = batches.map((rows) =>
        createRecordBatch(
          schema,
          rows.length,
          kinds.map(({ type, build: builder }, i) => builder(type, rows.map((row) => row[i]) as never)),
        ),
      );
      const decoded = decodeBody(decodeArrow, writeArrow(schema, built, { compression }), { chunkBytes });
      const expected = await jsonOf({ schema, batches: built });
      expect(await jsonOf(decoded)).toBe(expected);
      const again = decodeBody(
        decodeArrow,
        await bytesOf(encodeArrowStream(streamOfBatches(decoded.schema, decoded.batches))),
      );
      expect(String(again.schema)).toBe(String(schema));
      expect(await jsonOf(again)).toBe(expected);
    }),
    { numRuns: runs(500) },
  );
});
