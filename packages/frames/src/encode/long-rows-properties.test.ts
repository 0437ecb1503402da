import {
  Binary,
  BinaryView,
  type DataType,
  Dictionary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Int32,
  Int64,
  LargeList,
  LargeUtf8,
  List,
  Map_,
  type RecordBatch,
  Schema,
  Struct,
  Utf8,
  Utf8View,
} from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../test/tier.ts';
import { createRecordBatch } from '../columns/record-batch.ts';
import * as build from '../testing/column-builders.ts';
import { SAMPLE_FRAMES } from '../testing/sample-frames.ts';
import { createObjectText, createRecordText, recordColumn } from './columns/column.ts';
import { createCellOptions, createColumns } from './columns/create-column.ts';
import { createPieceWriter, createRowCursor } from './row-cursor.ts';

type Syntax = 'json' | 'csv';

/** Expects that the rows of a batch are the same bytes when written at once and in pieces of at most `roomBytes`. */
function expectSameRows(batch: RecordBatch, syntax: Syntax, roomBytes: number): void {
  const { fields } = batch.schema;
  const text =
    syntax === 'json'
      ? createObjectText(
          fields.map(({ name }) => name),
          '}\n',
        )
      : createRecordText(
          fields.map((_, i) => (i === 0 ? '' : ',')),
          '\r\n',
        );
  const rows = () => recordColumn(createColumns(batch, fields, createCellOptions(syntax)), text);
  const [whole, inPieces] = [rows(), rows()];
  for (let row = 0; row < batch.numRows; row++) {
    const written = createRowCursor(whole, row + 1, row).writeUpTo(row + 1);
    if (written === undefined) continue;
    const expected = Buffer.from(written.bytes).toString();
    let pieces = '';
    let longest = 0;
    for (const piece of inPieces.pieces?.(row, createPieceWriter(roomBytes)) ?? []) {
      longest = Math.max(longest, piece.length);
      pieces += Buffer.from(piece).toString('latin1');
    }
    expect(Buffer.from(pieces, 'latin1').toString()).toBe(expected);
    expect(longest).toBeLessThanOrEqual(roomBytes);
  }
}

/** The space for the longest number, in quotes. */
const NUMBER_BYTES = 256;

describe.each(['json', 'csv'] as const)('a row as %s has the same bytes in small pieces', (syntax) => {
  test.each(SAMPLE_FRAMES)('$name', ({ batches }) => {
    for (const batch of batches) {
      if (batch.schema.fields.length > 0) expectSameRows(batch, syntax, NUMBER_BYTES);
    }
  });
});

/** A type, a builder for its columns, and an arbitrary value. */
interface Kind {
  readonly type: DataType;
  readonly build: build.BuildColumn<never>;
  readonly value: fc.Arbitrary<unknown>;
}

function kind<Value>(type: DataType, builder: build.BuildColumn<never>, value: fc.Arbitrary<Value>): Kind {
  return { type, build: builder, value };
}

/** Bytes that are cut in every way: escapes, marks of CSV, sequences of each length, and parts of them. */
const bytes = fc
  .array(
    fc.oneof(
      fc
        .constantFrom('a', '"', ',', '\\', '\n', '\u0001', 'é', '€', '😀', 'a'.repeat(20))
        .map((text) => [...Buffer.from(text)]),
      fc.constantFrom(0x80, 0xbf, 0xc2, 0xe2, 0xed, 0xf0, 0xf4, 0xff).map((byte) => [byte]),
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.flat());
const plain = fc.integer({ min: 0, max: 300 }).map((length) => 'x'.repeat(length));
const content = fc.oneof(bytes, plain);
const FIXED = 50;
const fixed = fc.array(fc.nat(255), { minLength: FIXED, maxLength: FIXED });
const longs = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);

const LEAVES: readonly (() => Kind)[] = [
  () => kind(new Utf8(), build.bytes, content),
  () => kind(new LargeUtf8(), build.largeBytes, content),
  () => kind(new Utf8View(), build.views, content),
  () => kind(new Binary(), build.bytes, content),
  () => kind(new BinaryView(), build.views, content),
  () => kind(new FixedSizeBinary(FIXED), build.fixedBytes, fixed),
  () => kind(new Dictionary(new Utf8(), new Int32()), build.dictionaryOf(build.bytes), plain),
  () => kind(new Int64(), build.longs, longs),
];

const fieldOf = (name: string, { type }: Kind, nullable = true) => new Field(name, type, nullable);
const items = ({ value }: Kind, minLength = 0, maxLength = 30) => fc.array(fc.option(value), { minLength, maxLength });

function nestings(inner: Kind, other: Kind): readonly Kind[] {
  const key = kind(new Utf8(), build.bytes, content);
  const pair = new Struct([fieldOf('key', key, false), fieldOf('value', inner)]);
  const lists = build.listsOf(inner.build) as build.BuildColumn<never>;
  const fixedLists = build.fixedListsOf(inner.build) as build.BuildColumn<never>;
  const structs = build.structsOf(inner.build, other.build) as build.BuildColumn<never>;
  const maps = build.mapsOf(build.bytes, inner.build) as build.BuildColumn<never>;
  return [
    kind(new List(fieldOf('item', inner)), lists, items(inner)),
    kind(new LargeList(fieldOf('item', inner)), lists, items(inner, 1, 1)),
    kind(new FixedSizeList(4, fieldOf('item', inner)), fixedLists, items(inner, 4, 4)),
    kind(
      new Struct([fieldOf('a', inner), fieldOf('b', other)]),
      structs,
      fc.tuple(fc.option(inner.value), fc.option(other.value)),
    ),
    kind(
      new Map_(new Field('entries', pair, false) as never),
      maps,
      fc.array(fc.tuple(content, fc.option(inner.value)), { maxLength: 8 }),
    ),
  ];
}

const leaf = fc.constantFrom(...LEAVES).map((make) => make());
const { anyKind } = fc.letrec<{ anyKind: Kind }>((tie) => ({
  anyKind: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    leaf,
    fc.tuple(tie('anyKind'), leaf).chain(([inner, other]) => fc.constantFrom(...nestings(inner, other))),
  ),
}));

const batches = fc.array(anyKind, { minLength: 1, maxLength: 3 }).chain((kinds) =>
  fc
    .array(fc.tuple(...kinds.map(({ value }) => fc.option(value, { freq: 4 }))), { minLength: 1, maxLength: 3 })
    .map((rows) => {
      const schema = new Schema(kinds.map((column, i) => fieldOf(`c${i}`, column)));
      const columns = kinds.map((column, i) => column.build(column.type, rows.map((row) => row[i]) as null[]));
      return createRecordBatch(schema, rows.length, columns);
    }),
);

test('arbitrary texts, lists, structs and maps have the same bytes in small pieces', () => {
  fc.assert(fc.property(batches, fc.constantFrom('json', 'csv'), fc.integer({ min: 60, max: 400 }), expectSameRows), {
    numRuns: runs(2000),
  });
});
