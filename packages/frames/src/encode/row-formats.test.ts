import { TYPE_METADATA_KEY } from '@svc/arrow';
import {
  DateDay,
  Decimal,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  List,
  makeData,
  Schema,
  Uint64,
  Utf8,
  Table,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { createRecordBatch } from '../columns/record-batch.ts';
import { streamFromTable } from '../decode/adopt-batch.ts';
import { type FrameStream, streamOfBatches } from '../streams.ts';
import { bytesOf, chunksOf } from '../testing/bytes-of.ts';
import { bytes, decimals, dictionaryOf, listsOf, longs, numbers } from '../testing/column-builders.ts';
import { frameOfColumns, NULL, sampleColumn, streamOfSample } from '../testing/sample-frame.ts';
import { longFrame } from '../testing/sample-frames.ts';
import { type ChunkOptions, encodeCsv, encodeJsonTable, encodeNdjson } from './row-formats.ts';

async function textOf(encoded: AsyncIterable<Uint8Array>): Promise<string> {
  return (await bytesOf(encoded)).toString();
}

type Encode = (source: FrameStream, options?: ChunkOptions) => AsyncIterable<Uint8Array>;

const FORMATS: [name: string, encode: Encode][] = [
  ['JSON', (source, options) => encodeJsonTable(source, { query: 'q', ...options })],
  ['NDJSON', encodeNdjson],
  ['CSV', encodeCsv],
];

describe.each(FORMATS)('%s', (name, encode) => {
  test('starts with a chunk of about 128 KiB, followed by chunks of about 256 KiB', async () => {
    const sizes = (await chunksOf(encode(longFrame(200_000)))).map((chunk) => chunk.length);
    const [first, ...others] = sizes.slice(0, -1);
    expect(first).toBeGreaterThan(127 * 1024);
    expect(first).toBeLessThan(129 * 1024);
    for (const size of others) {
      expect(size).toBeGreaterThan(255 * 1024);
      expect(size).toBeLessThanOrEqual(256 * 1024);
    }
  });

  test(
    'writes all chunks after the first into one buffer if reuseBuffers is set, with the same bytes',
    { tags: ['slow'] },
    async () => {
      const copies: Buffer[] = [];
      const memory = new Set<ArrayBufferLike>();
      for await (const chunk of encode(longFrame(200_000), { reuseBuffers: true })) {
        copies.push(Buffer.from(chunk));
        memory.add(chunk.buffer);
      }
      expect(copies.length).toBeGreaterThan(4);
      expect(memory.size).toBe(2);
      expect(Buffer.concat(copies).equals(await bytesOf(encode(longFrame(200_000))))).toBe(true);
    },
  );

  test('writes the same bytes of long rows if reuseBuffers is set, and keeps the first chunk', async () => {
    const text = Array.from({ length: 300_000 }, (_, i) => `${i}`).join('"');
    const source = () => streamFromTable(new Table({ t: vectorFromArray([text, 'a', text], new Utf8()) }));
    const copies: Uint8Array[] = [];
    let kept: Uint8Array | undefined;
    for await (const chunk of encode(source(), { reuseBuffers: true })) {
      if (kept === undefined) kept = chunk;
      else copies.push(Buffer.from(chunk));
    }
    expect(Buffer.concat([kept ?? Buffer.alloc(0), ...copies]).equals(await bytesOf(encode(source())))).toBe(true);
  });

  test('refuses a row that is far longer than the frame because of shared values', { tags: ['slow'] }, async () => {
    const texts = vectorFromArray(
      Array.from({ length: 100 }, () => 'x'.repeat(2_000_000)),
      new Dictionary(new Utf8(), new Int32()),
    );
    const type = new List(new Field('item', texts.type, true));
    const valueOffsets = new Int32Array([0, 0, 100]);
    const data = makeData({ type, length: 2, nullCount: 0, valueOffsets, child: texts.data[0] });
    const schema = new Schema([new Field('c', type, true)]);
    const source = streamOfBatches(schema, [createRecordBatch(schema, 2, [data])]);
    await expect(textOf(encode(source))).rejects.toMatchObject({
      code: 'out_of_memory',
      message: `Row 2 of the result can take more than 128 MiB as ${name}.`,
    });
  });

  test('yields to the event loop between chunks', { tags: ['slow'] }, async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    await chunksOf(encode(longFrame(1_000_000)));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
  });
});

describe('large numbers', () => {
  const cells = [[7n, NULL] as const];
  const source = (): FrameStream =>
    streamOfSample(
      frameOfColumns(
        'large numbers',
        [
          sampleColumn('LONG', new Int64(), longs, cells),
          sampleColumn('ULONG', new Uint64(), longs, cells),
          sampleColumn('LONG128', new Decimal(0, 38, 128), decimals, cells, {
            metadata: { [TYPE_METADATA_KEY]: 'LONG128' },
          }),
          sampleColumn('ARRAY', new List(new Field('item', new Int64(), true)), listsOf(longs), [[[7n], NULL]]),
          sampleColumn('INT', new Int32(), numbers, [[7, NULL]]),
        ],
        1,
      ),
    );

  test.each([
    [false, '7,"c1":7,"c2":7,"c3":[7],"c4":7'],
    [true, '"7","c1":"7","c2":"7","c3":["7"],"c4":7'],
  ])('are strings in NDJSON if quoteLargeNum is %s', async (quoteLargeNum, expected) => {
    expect(await textOf(encodeNdjson(source(), { quoteLargeNum }))).toBe(`{"c":${expected}}\n`);
  });

  test('are strings in a JSON table with quoteLargeNum', async () => {
    const text = await textOf(encodeJsonTable(source(), { query: 'q', quoteLargeNum: true }));
    expect(text).toContain('"dataset":[["7","7","7",["7"],7]]');
  });

  test('are never in quotes in CSV', async () => {
    expect(await textOf(encodeCsv(source()))).toBe('c,c1,c2,c3,c4\r\n7,7,7,[7],7\r\n');
  });
});

describe('CSV', () => {
  test('has only the header if there are no rows', async () => {
    expect(await textOf(encodeCsv(longFrame(0)))).toBe('id\r\n');
  });

  test('distinguishes an empty text from null, also in a single column', async () => {
    const column = sampleColumn('STRING', new Utf8(), bytes, [
      ['', NULL],
      [null, NULL],
    ]);
    const one = streamOfSample(frameOfColumns('texts', [column], 2));
    expect(await textOf(encodeCsv(one))).toBe('c\r\n""\r\n\r\n');
    const two = streamOfSample(frameOfColumns('texts', [column, column], 2));
    expect(await textOf(encodeCsv(two))).toBe('c,c1\r\n"",""\r\n,\r\n');
  });

  test('has dates without a time, also from a dictionary, and as in JSON inside JSON', async () => {
    const type = new List(new Field('item', new DateDay(), true));
    const frame = frameOfColumns(
      'dates',
      [
        sampleColumn('DATE', new DateDay(), numbers, [
          [19724, NULL],
          [null, NULL],
        ]),
        sampleColumn('DATE', new Dictionary(new DateDay(), new Int32()), dictionaryOf(numbers), [[-719529, NULL]]),
        sampleColumn('ARRAY', type, listsOf(numbers), [[[19724], NULL]]),
      ],
      2,
    );
    const others = '-000001-12-31,"[""2024-01-02T00:00:00.000Z""]"';
    expect(await textOf(encodeCsv(streamOfSample(frame)))).toBe(`c,c1,c2\r\n2024-01-02,${others}\r\n,${others}\r\n`);
  });

  test('has names for numbers that are not finite, and null inside JSON', async () => {
    const values = [Number.NaN, Infinity, -Infinity];
    const frame = frameOfColumns(
      'not finite',
      [
        sampleColumn(
          'DOUBLE',
          new Float64(),
          numbers,
          values.map((value) => [value, NULL] as const),
        ),
        sampleColumn('ARRAY', new List(new Field('item', new Float64(), true)), listsOf(numbers), [[values, NULL]]),
      ],
      3,
    );
    const nested = '"[null,null,null]"';
    expect(await textOf(encodeCsv(streamOfSample(frame)))).toBe(
      `c,c1\r\nNaN,${nested}\r\nInfinity,${nested}\r\n-Infinity,${nested}\r\n`,
    );
  });
});
