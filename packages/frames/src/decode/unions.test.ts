import { EXTENSION_METADATA_KEY, UUID_EXTENSION } from '@svc/arrow';
import {
  Binary,
  Bool,
  type Data,
  type DataType,
  DateDay,
  Decimal,
  DenseUnion,
  Dictionary,
  Field,
  FixedSizeBinary,
  Float16,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  LargeUtf8,
  List,
  makeData,
  Null,
  RecordBatch,
  Schema,
  SparseUnion,
  Struct,
  Table,
  tableToIPC,
  TimeMicrosecond,
  TimeMillisecond,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, describe, expect, test } from 'vitest';
import { columnInfo } from '../column-types.ts';
import { encodeJsonTable } from '../encode/row-formats.ts';
import type { FrameStream } from '../streams.ts';
import { bodyOf, bytesOf } from '../testing/index.ts';
import { createDecoders } from './decoders.ts';

const decoders = createDecoders({ maxWorkers: 1 });
afterAll(() => decoders.close());

/** A type of a union, and its values. */
type Part = readonly [type: DataType, values: readonly unknown[], metadata?: ReadonlyMap<string, string>];

interface Layout {
  /** The type ids; default 0, 1, … */
  readonly ids?: readonly number[];
  /** The row of the child of each row; default: the next one. */
  readonly offsets?: readonly number[];
}

function fieldsOf(parts: readonly Part[]): Field[] {
  return parts.map(([type, , metadata], i) => new Field(`f${i}`, type, true, new Map(metadata)));
}

function dataOf([type, values]: Part): Data {
  const [data] = vectorFromArray(values, type).data;
  if (data === undefined) throw new Error('A vector has no data.');
  return data;
}

/** A dense union whose rows have these type ids. */
function dense(codes: readonly number[], parts: readonly Part[], { ids, offsets }: Layout = {}): Data {
  const type = new DenseUnion([...(ids ?? parts.keys())], fieldsOf(parts));
  const seen = new Map<number, number>();
  const next = (code: number): number => {
    const at = seen.get(code) ?? 0;
    seen.set(code, at + 1);
    return at;
  };
  const valueOffsets = Int32Array.from(offsets ?? codes.map(next));
  const children = parts.map(dataOf);
  return makeData({ type, length: codes.length, typeIds: Int8Array.from(codes), valueOffsets, children });
}

function sparse(codes: readonly number[], parts: readonly Part[], { ids }: Layout = {}): Data {
  const type = new SparseUnion([...(ids ?? parts.keys())], fieldsOf(parts));
  return makeData({ type, length: codes.length, typeIds: Int8Array.from(codes), children: parts.map(dataOf) });
}

function decode(table: Table): Promise<FrameStream> {
  return decoders.decode('arrow', bodyOf(tableToIPC(table, 'stream')), { unions: true });
}

/** The type and the values of the column `p`, as JSON has them. */
async function resolved(table: Table): Promise<readonly [type: string, values: readonly unknown[]]> {
  const stream = await decode(table);
  const field = stream.schema.fields.find(({ name }) => name === 'p');
  const { columns, dataset } = JSON.parse(
    (await bytesOf(encodeJsonTable(stream, { query: '', quoteLargeNum: true }))).toString(),
  ) as { columns: { name: string }[]; dataset: unknown[][] };
  const at = columns.findIndex(({ name }) => name === 'p');
  return [field === undefined ? '' : columnInfo(field).type, dataset.map((row) => row[at])];
}

function tableOf(...chunks: Data[]): Table {
  const type: DataType | undefined = chunks[0]?.type;
  if (type === undefined) throw new Error('There are no chunks.');
  const schema = new Schema([new Field('p', type, true)]);
  const batches = chunks.map((chunk) => {
    const children = [chunk];
    return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: chunk.length, children }));
  });
  return new Table(schema, batches);
}

const LONG: Part = [new Int64(), [7n, null, 9n]];
const TEXT: Part = [new Utf8(), ['a', null, 'c']];
/** A child that no row uses. */
const UNUSED: Part = [new Utf8(), []];
const EMPTY_ROWS: Part = [new Utf8(), [null, null, null]];

describe('a union whose rows have one type gets that type:', () => {
  test.each<[string, Data, string, readonly unknown[]]>([
    ['dense', dense([0, 0, 0], [LONG, UNUSED]), 'LONG', ['7', null, '9']],
    ['dense, of the second type', dense([1, 1, 1], [UNUSED, TEXT]), 'STRING', ['a', null, 'c']],
    ['sparse', sparse([0, 0, 0], [LONG, EMPTY_ROWS]), 'LONG', ['7', null, '9']],
    ['sparse, of the second type', sparse([1, 1, 1], [LONG, TEXT]), 'STRING', ['a', null, 'c']],
    ['type ids that are no indices', dense([42, 42, 42], [UNUSED, LONG], { ids: [5, 42] }), 'LONG', ['7', null, '9']],
    ['the largest type id', sparse([127, 127, 127], [LONG], { ids: [127] }), 'LONG', ['7', null, '9']],
    ['offsets in any order', dense([0, 0, 0, 0], [LONG], { offsets: [2, 0, 0, 1] }), 'LONG', ['9', '7', '7', null]],
    ['nulls of another type', dense([0, 1, 0], [LONG, [new Utf8(), [null]]]), 'LONG', ['7', null, null]],
    ['nulls of the null type', dense([0, 1, 0], [LONG, [new Null(), [null]]]), 'LONG', ['7', null, null]],
    [
      'only nulls',
      dense(
        [0, 1],
        [
          [new Int64(), [null]],
          [new Utf8(), [null]],
        ],
      ),
      'STRING',
      [null, null],
    ],
    ['no rows', dense([], [LONG, TEXT]), 'STRING', []],
    ['one type', dense([0, 0], [LONG]), 'LONG', ['7', null]],
    [
      'booleans',
      dense(
        [1, 0, 1],
        [
          [new Utf8(), [null]],
          [new Bool(), [true, false]],
        ],
      ),
      'BOOLEAN',
      [true, null, false],
    ],
    [
      'a dictionary',
      dense([0, 0], [[new Dictionary(new Utf8(), new Int8()), ['a', 'b']], UNUSED]),
      'SYMBOL',
      ['a', 'b'],
    ],
    [
      'a list',
      dense(
        [1, 0, 1],
        [
          [new Utf8(), [null]],
          [new List(new Field('item', new Int32(), true)), [[1, null], [2]]],
        ],
      ),
      'ARRAY',
      [[1, null], null, [2]],
    ],
    [
      'a UUID',
      dense(
        [0],
        [[new FixedSizeBinary(16), [new Uint8Array(16)], new Map([[EXTENSION_METADATA_KEY, UUID_EXTENSION]])]],
      ),
      'UUID',
      ['00000000-0000-0000-0000-000000000000'],
    ],
  ])('%s', async (_name, data, type, values) => {
    expect(await resolved(tableOf(data))).toEqual([type, values]);
  });
});

const DAY_MS = 86_400_000;
const decimal = (unscaled: number) => Uint32Array.of(unscaled, 0, 0, 0);

describe('a union of several types gets the type that SQL has for all of them:', () => {
  test.each<[string, Part, Part, string, readonly unknown[]]>([
    ['integers', [new Int8(), [-1]], [new Int64(), [2n ** 62n]], 'LONG', ['-1', `${2n ** 62n}`]],
    ['unsigned integers', [new Uint8(), [255]], [new Uint16(), [65_535]], 'INT', [255, 65_535]],
    ['a signed and an unsigned one', [new Int16(), [-1]], [new Uint32(), [2 ** 32 - 1]], 'LONG', ['-1', '4294967295']],
    [
      '64 bits, signed and unsigned',
      [new Int64(), [-1n]],
      [new Uint64(), [2n ** 64n - 1n]],
      'LONG128',
      ['-1', `${2n ** 64n - 1n}`],
    ],
    ['the same type twice', [new Int64(), [1n]], [new Int64(), [2n]], 'LONG', ['1', '2']],
    ['booleans twice', [new Bool(), [true]], [new Bool(), [false]], 'BOOLEAN', [true, false]],
    ['floats', [new Float32(), [1.5]], [new Float64(), [0.1]], 'DOUBLE', [1.5, 0.1]],
    ['half floats', [new Float16(), [1.5]], [new Float32(), [0.25]], 'FLOAT', [1.5, 0.25]],
    ['an integer and a double', [new Int64(), [-(2n ** 53n)]], [new Float64(), [0.5]], 'DOUBLE', [-(2 ** 53), 0.5]],
    ['an integer and a float', [new Int32(), [2 ** 24]], [new Float32(), [0.5]], 'FLOAT', [2 ** 24, 0.5]],
    [
      'an integer and a decimal',
      [new Int32(), [-3]],
      [new Decimal(2, 10, 128), [decimal(150)]],
      'DECIMAL(12,2)',
      ['-3.00', '1.50'],
    ],
    [
      'decimals',
      [new Decimal(5, 12, 128), [decimal(1)]],
      [new Decimal(2, 10, 128), [decimal(150)]],
      'DECIMAL(13,5)',
      ['0.00001', '1.50000'],
    ],
    ['texts', [new LargeUtf8(), ['a']], [new Dictionary(new Utf8(), new Int8()), ['b']], 'STRING', ['a', 'b']],
    [
      'bytes',
      [new Binary(), [Uint8Array.of(1)]],
      [new FixedSizeBinary(2), [Uint8Array.of(2, 3)]],
      'BINARY',
      ['AQ==', 'AgM='],
    ],
    [
      'a date and a timestamp',
      [new DateDay(), [new Date(DAY_MS)]],
      [new TimestampMillisecond(), [1]],
      'TIMESTAMP',
      ['1970-01-02T00:00:00.000000Z', '1970-01-01T00:00:00.001000Z'],
    ],
    [
      'timestamps with a zone',
      [new TimestampSecond('UTC'), [1000]],
      [new TimestampNanosecond('UTC'), [1]],
      'TIMESTAMP_NS',
      ['1970-01-01T00:00:01.000000000Z', '1970-01-01T00:00:00.001000000Z'],
    ],
    [
      'times',
      [new TimeMillisecond(), [1]],
      [new TimeMicrosecond(), [2n]],
      'TIME',
      ['00:00:00.001000', '00:00:00.000002'],
    ],
    [
      'lists of the same type',
      [new List(new Field('item', new Utf8(), true)), [['a']]],
      [new List(new Field('item', new Utf8(), true)), [['b', null]]],
      'ARRAY',
      [['a'], ['b', null]],
    ],
  ])('%s', async (_name, first, second, type, values) => {
    expect(await resolved(tableOf(dense([0, 1], [first, second])))).toEqual([type, values]);
    expect(await resolved(tableOf(dense([1, 0], [first, second])))).toEqual([type, values.toReversed()]);
  });
});

test('the type is that of the values in all batches, and each row keeps its place', async () => {
  const parts = (numbers: readonly unknown[], longs: readonly unknown[]): Part[] => [
    [new Int32(), numbers],
    [new Int64(), longs],
    [new Utf8(), []],
  ];
  const chunks = [dense([0, 0], parts([1, 2], [])), dense([], parts([], [])), dense([1, 0], parts([4], [3n]))];
  expect(await resolved(tableOf(...chunks))).toEqual(['LONG', ['1', '2', '3', '4']]);
});

test('large batches, which are not merged, each keep their rows', async () => {
  const text = 'x'.repeat(600_000);
  const parts: Part[] = [
    [new Utf8(), [text, 'a']],
    [new LargeUtf8(), [text, 'b']],
  ];
  const [type, values] = await resolved(tableOf(dense([0, 0], parts), dense([1, 1], parts)));
  expect([type, values]).toEqual(['STRING', [text, 'a', text, 'b']]);
});

test('a slice has its rows only', async () => {
  const codes = [0, 1, 0, 1, 0];
  const parts: Part[] = [
    [new Int64(), [1n, 3n, 5n]],
    [new Int32(), [2, 4]],
  ];
  expect(await resolved(tableOf(dense(codes, parts).slice(1, 3)))).toEqual(['LONG', ['2', '3', '4']]);
  const rows: Part[] = [
    [new Int64(), [1n, 0n, 3n, 0n, 5n]],
    [new Int32(), [0, 2, 0, 4, 0]],
  ];
  expect(await resolved(tableOf(sparse(codes, rows).slice(1, 3)))).toEqual(['LONG', ['2', '3', '4']]);
});

test('columns beside a union keep their values', async () => {
  const table = new Table({
    before: vectorFromArray(['x', 'y', 'z'], new Utf8()),
    p: new Vector([dense([0, 0, 0], [LONG, UNUSED])]),
    after: new Vector([sparse([1, 1, 1], [LONG, TEXT])]),
  });
  const rows: unknown[] = [];
  for await (const batch of (await decode(table)).batches)
    rows.push(...batch.toArray().map((row) => Object.values(row)));
  expect(rows).toEqual([
    ['x', 7n, 'a'],
    ['y', null, null],
    ['z', 9n, 'c'],
  ]);
});

describe('values that no type holds unchanged are refused:', () => {
  test.each<[string, Part, Part]>([
    ['LONG, STRING', [new Int64(), [1n]], [new Utf8(), ['a']]],
    ['BOOLEAN, INT', [new Bool(), [true]], [new Int32(), [1]]],
    ['DECIMAL(10,2), DOUBLE', [new Decimal(2, 10, 128), [decimal(1)]], [new Float64(), [0.5]]],
    ['DECIMAL(38,20), LONG', [new Decimal(20, 38, 128), [decimal(1)]], [new Int64(), [1n]]],
    ['STRING, BINARY', [new Utf8(), ['a']], [new Binary(), [Uint8Array.of(1)]]],
    ['TIMESTAMP, TIMESTAMP', [new TimestampMicrosecond(), [1]], [new TimestampMicrosecond('UTC'), [1]]],
    [
      'ARRAY, ARRAY',
      [new List(new Field('item', new Int8(), true)), [[1]]],
      [new List(new Field('item', new Utf8(), true)), [['a']]],
    ],
  ])('%s', async (names, first, second) => {
    await expect(decode(tableOf(dense([0, 1], [first, second])))).rejects.toMatchObject({
      code: 'invalid_data',
      message: `The union "p" has values of several types (${names}), and no type holds all of them unchanged.`,
      hint: 'Bind values of one type, or run the statement once for the values of each type.',
    });
  });

  test.each<[string, Part, Part]>([
    ['9007199254740993 is not exactly a DOUBLE', [new Float64(), [0.5]], [new Int64(), [2n ** 53n + 1n]]],
    ['16777217 is not exactly a FLOAT', [new Float32(), [0.5]], [new Int32(), [2 ** 24 + 1]]],
    [
      '9999999999999 is not exactly a TIMESTAMP_NS',
      [new TimestampNanosecond(), [1]],
      [new TimestampSecond(), [9_999_999_999_999_000]],
    ],
  ])('%s', async (what, first, second) => {
    await expect(decode(tableOf(dense([0, 1], [first, second])))).rejects.toMatchObject({
      code: 'invalid_data',
      message: `Row 2 of the union "p": ${what}, the type of all its values together.`,
      hint: 'Bind values of one type, or run the statement once for the values of each type.',
    });
  });
});

describe('a malformed union is refused:', () => {
  test.each<[string, Data]>([
    ['row 1 has the type id 3, which the union does not have', dense([0, 3], [LONG, TEXT])],
    ['row 0 has the type id -1, which the union does not have', sparse([-1, 0, 0], [LONG, TEXT])],
    ['row 0 is value 3 of a type of the union that has 3 values', dense([0], [LONG, TEXT], { offsets: [3] })],
    ['row 0 is value -1 of a type of the union that has 3 values', dense([0], [LONG, TEXT], { offsets: [-1] })],
    ['row 0 is value 0 of a type of the union that has 0 values', dense([1], [LONG, UNUSED])],
    ['row 3 is value 3 of a type of the union that has 3 values', sparse([0, 0, 0, 0], [LONG, TEXT])],
  ])('%s', async (what, data) => {
    await expect(decode(tableOf(data))).rejects.toMatchObject({
      code: 'invalid_data',
      message: `Column "p" of record batch 1: ${what}.`,
    });
  });

  test.each([
    ['0, 0', [0, 0]],
    ['0, 128', [0, 128]],
    ['-1, 0', [-1, 0]],
    ['0', [0]],
  ])('the type ids %s', async (shown, ids) => {
    await expect(decode(tableOf(dense([], [LONG, TEXT], { ids })))).rejects.toMatchObject({
      code: 'invalid_data',
      message: `Column "p" has a malformed Arrow type: its union has the type ids ${shown}.`,
      hint: 'Give each type of the union an id of its own, from 0 to 127.',
    });
  });
});

test('a union inside of a list or of a union is refused', async () => {
  const inner = dense([0], [LONG]);
  const type = new List(new Field('item', inner.type, true));
  const list = makeData({ type, length: 1, valueOffsets: Int32Array.of(0, 1), child: inner });
  await expect(decode(tableOf(list))).rejects.toThrow('Column "p" contains the Arrow type union');
});

test('rows with unions of more than 64 MiB are refused', { tags: ['slow'] }, async () => {
  const text = 'x'.repeat(1 << 20);
  const chunk = dense([0], [[new Utf8(), [text]], LONG]);
  await expect(decode(tableOf(...Array<Data>(70).fill(chunk)))).rejects.toMatchObject({
    code: 'payload_too_large',
    hint: 'Send fewer rows at a time, or bind columns of one type.',
  });
});

test('a union is refused unless it was asked for', async () => {
  const bytes = tableToIPC(tableOf(dense([0], [LONG])), 'stream');
  await expect(decoders.decode('arrow', bodyOf(bytes))).rejects.toThrow('Column "p" has the Arrow type union');
});
