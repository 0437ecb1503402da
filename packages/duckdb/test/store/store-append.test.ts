import { tmpdir } from 'node:os';
import { longFrame, readRows } from '@svc/frames/testing';
import { type FrameStream, type Store, streamFromTable } from '@svc/frames';
import {
  type DataType,
  Field,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  List,
  Table,
  TimestampMicrosecond,
  TimestampNanosecond,
  Uint64,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';
import { createTestFiles, FILE_KINDS } from '../../src/testing/test-files.ts';

let fixture: StoreFixture;
let store: Store;
const trades = refOf('trades');

type Columns = Readonly<Record<string, readonly [DataType, readonly unknown[]]>>;

function frameOf(columns: Columns): FrameStream {
  const vectors = Object.entries(columns).map(([name, [type, values]]) => [name, vectorFromArray(values, type)]);
  return streamFromTable(new Table(Object.fromEntries(vectors)));
}

async function ids(): Promise<unknown> {
  return (await rowsOf(store, trades))?.flat();
}

describe.each(FILE_KINDS)('with %s files', (kind) => {
  const files = createTestFiles(kind, tmpdir());

  beforeEach(async () => {
    fixture = await createStoreFixture(files);
    store = await fixture.open();
  });

  afterEach(() => fixture.remove());
  afterAll(() => files.close());

  describe('append', () => {
    test('adds rows at the end, as a new version', async () => {
      const first = await store.put(trades, longFrame(2));
      const second = await store.append(trades, longFrame(2, { start: 10 }));
      expect(second).toMatchObject({ created: false, info: { rows: 4 } });
      expect(second.info.version > first.info.version).toBe(true);
      expect(await ids()).toEqual([0n, 1n, 10n, 11n]);
      await store.close();
      expect(await fixture.names()).toEqual([
        `trades/${first.info.version}.parquet`,
        `trades/${second.info.version}.parquet`,
      ]);
    });

    test('to an unused handle creates a frame', async () => {
      expect((await store.append(trades, longFrame(1))).created).toBe(true);
      expect(await ids()).toEqual([0n]);
      await expect(store.append(refOf('t'), longFrame(1), { ifPresent: true })).rejects.toMatchObject({
        code: 'version_conflict',
      });
    });

    test('accepts lists whose items have another name, or are never null', async () => {
      const lists = (name: string, nullable: boolean, values: readonly bigint[][]): FrameStream => {
        const type = new List(new Field(name, new Int64(), nullable));
        return streamFromTable(new Table({ v: vectorFromArray(values, type) }));
      };
      await store.put(trades, lists('item', true, [[1n]]));
      await store.append(trades, lists('element', true, [[2n], [3n, 4n]]));
      await store.append(trades, lists('item', false, [[]]));
      const rows = await rowsOf(store, trades);
      expect(JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))).toBe(
        '[[[1]],[[2]],[[3,4]],[[]]]',
      );
    });

    test('loses no rows of concurrent appends', async () => {
      await store.put(trades, longFrame(1));
      await Promise.all(Array.from({ length: 8 }, (_, i) => store.append(trades, longFrame(1, { start: i + 1 }))));
      expect(new Set((await ids()) as bigint[])).toEqual(new Set([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n]));
      expect(await ids()).toHaveLength(9);
    });

    test('keeps the expiry of the frame unless it is given another', async () => {
      const { info } = await store.put(trades, longFrame(1), { ttlSeconds: 50 });
      expect((await store.append(trades, longFrame(1))).info.expires).toEqual(info.expires);
      const later = await store.append(trades, longFrame(1), { ttlSeconds: 500 });
      expect(later.info.expires! > info.expires!).toBe(true);
    });

    test('is refused if the frame has another version than expected', async () => {
      const { info } = await store.put(trades, longFrame(1));
      await store.put(trades, longFrame(1));
      await expect(store.append(trades, longFrame(1), { ifVersion: info.version })).rejects.toMatchObject({
        code: 'version_conflict',
      });
    });

    test('that fails halfway leaves the frame unchanged and no file', async () => {
      const { info } = await store.put(trades, longFrame(1));
      const { schema, batches } = longFrame(4, { batchRows: 1 });
      const broken = (async function* () {
        for await (const batch of batches) {
          yield batch;
          throw new Error('cut');
        }
      })();
      await expect(store.append(trades, { schema, batches: broken })).rejects.toThrow('cut');
      expect(await fixture.names()).toEqual([`trades/${info.version}.parquet`]);
    });
  });

  describe('the columns of an append', () => {
    const old: Columns = { a: [new Int32(), [1]], b: [new Utf8(), ['x']] };

    test('are matched by name, and may have nulls even if the frame had none', async () => {
      await store.put(trades, longFrame(1));
      await store.append(trades, frameOf({ id: [new Int64(), [null, 5n]] }));
      expect(await ids()).toEqual([0n, null, 5n]);
      expect((await store.describe(trades))?.columns).toEqual([{ name: 'id', type: 'LONG', nullable: true }]);
      await store.put(trades, frameOf(old));
      await store.append(trades, frameOf({ b: [new Utf8(), ['y']], a: [new Int32(), [2]] }));
      expect(await rowsOf(store, trades)).toEqual([
        [1, 'x'],
        [2, 'y'],
      ]);
    });

    test.each<[string, Columns, string]>([
      ['one is missing', { a: [new Int32(), [1]] }, '"b"'],
      ['one is too many', { ...old, c: [new Int32(), [1]] }, '"c"'],
      ['one is text instead of a number', { ...old, a: [new Utf8(), ['x']] }, '"a"'],
      ['one is a number instead of text', { ...old, b: [new Int32(), [1]] }, '"b"'],
    ])('are refused if %s', async (_name, columns, named) => {
      await store.put(trades, frameOf(old));
      await expect(store.append(trades, frameOf(columns))).rejects.toMatchObject({
        code: 'invalid_data',
        message: expect.stringContaining(named),
      });
      expect(await rowsOf(store, trades)).toHaveLength(1);
      expect(await fixture.names()).toHaveLength(1);
    });

    test.each<[string, DataType, DataType, unknown, unknown]>([
      ['INT to LONG', new Int64(), new Int32(), 5, 5n],
      ['LONG to INT', new Int32(), new Int64(), -5n, -5],
      ['LONG to DOUBLE', new Float64(), new Int64(), 2n ** 53n, 2 ** 53],
      ['DOUBLE to LONG', new Int64(), new Float64(), 3, 3n],
      ['DOUBLE to FLOAT', new Float32(), new Float64(), 0.5, 0.5],
      ['a zero with its sign', new Float32(), new Float64(), -0, -0],
      ['a zero without a sign', new Int64(), new Float64(), 0, 0n],
      ['FLOAT to DOUBLE', new Float64(), new Float32(), Number.NaN, Number.NaN],
      ['LONG to ULONG', new Uint64(), new Int64(), 7n, 7n],
      ['TIMESTAMP_NS to TIMESTAMP', new TimestampMicrosecond(), new TimestampNanosecond(), 1.5, 1.5],
      ['TIMESTAMP to TIMESTAMP_NS', new TimestampNanosecond('UTC'), new TimestampMicrosecond('Asia/Tokyo'), 1.5, 1.5],
      ['texts that are all null to TIMESTAMP', new TimestampMicrosecond(), new Utf8(), null, null],
    ])('of numbers are converted where each stays what it is: %s', async (_name, to, from, value, kept) => {
      await store.put(trades, frameOf({ a: [to, [null]] }));
      await store.append(trades, frameOf({ a: [from, [value, null]] }));
      expect(await rowsOf(store, trades)).toEqual([[null], [kept], [null]]);
    });

    test.each<[string, DataType, DataType, unknown]>([
      ['too large a LONG for an INT', new Int32(), new Int64(), 2n ** 31n],
      ['too large an INT for a SHORT', new Int16(), new Int32(), -32_769],
      ['a LONG that a DOUBLE would round', new Float64(), new Int64(), 2n ** 53n + 1n],
      ['a fraction for a LONG', new Int64(), new Float64(), 0.5],
      ['NaN for a LONG', new Int64(), new Float64(), Number.NaN],
      ['an infinity for an INT', new Int32(), new Float64(), Infinity],
      ['the sign of a zero for a LONG', new Int64(), new Float64(), -0],
      ['the sign of a zero for an INT', new Int32(), new Float32(), -0],
      ['a DOUBLE that a FLOAT would round', new Float32(), new Float64(), 0.1],
      ['a negative number for an ULONG', new Uint64(), new Int64(), -1n],
      ['nanoseconds for a TIMESTAMP', new TimestampMicrosecond(), new TimestampNanosecond(), 0.000_001],
      ['a TIMESTAMP with a zone for one without', new TimestampMicrosecond(), new TimestampMicrosecond('UTC'), 1],
      ['a text for a LONG', new Int64(), new Utf8(), 'x'],
    ])('are refused with %s', async (_name, to, from, value) => {
      await store.put(trades, frameOf({ a: [to, [null]] }));
      await expect(store.append(trades, frameOf({ a: [from, [value]] }))).rejects.toMatchObject({
        code: 'invalid_data',
        message: expect.stringContaining('"a"'),
      });
      expect(await rowsOf(store, trades)).toEqual([[null]]);
    });
  });

  describe('the bytes of a file', () => {
    async function* bytes(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
      for (const part of parts) yield Buffer.from(part);
    }

    test('can be put and appended', async () => {
      await store.put(trades, { format: 'csv', body: bytes('id\n', '1\n2', '3\n') });
      expect(await ids()).toEqual([1n, 23n]);
      await store.append(trades, { format: 'csv', body: bytes('id\n4\n') });
      expect(await ids()).toEqual([1n, 23n, 4n]);
    });

    test('are not appended if a zero would lose its sign', async () => {
      await store.put(trades, { format: 'csv', body: bytes('id\n1\n') });
      await expect(store.append(trades, { format: 'csv', body: bytes('id\n-0.0\n') })).rejects.toMatchObject({
        code: 'invalid_data',
        message: expect.stringContaining('-0'),
      });
      expect(await ids()).toEqual([1n]);
    });

    test('that cannot be read are invalid_data and leave nothing', async () => {
      const options = { header: true, columns: [{ name: 'id', type: 'LONG' }] };
      await expect(store.put(trades, { format: 'csv', body: bytes('id\n1\nx\n'), options })).rejects.toMatchObject({
        code: 'invalid_data',
        message: expect.stringMatching(/line 3/i),
      });
      await expect(store.put(trades, { format: 'parquet', body: bytes('nonsense') })).rejects.toMatchObject({
        code: 'invalid_data',
      });
      expect(await fixture.names()).toEqual([]);
    });

    test('that stop arriving, or are cancelled, leave nothing', async () => {
      const controller = new AbortController();
      const cut = (async function* () {
        yield* bytes('id\n');
        throw new Error('cut');
      })();
      await expect(store.put(trades, { format: 'csv', body: cut })).rejects.toThrow('cut');
      const endless = (async function* () {
        for (;;) {
          yield* bytes('1\n');
          controller.abort(new Error('gone'));
        }
      })();
      const { signal } = controller;
      await expect(store.put(trades, { format: 'csv', body: endless }, { signal })).rejects.toThrow('gone');
      expect(await fixture.names()).toEqual([]);
    });

    test('that never arrive leave nothing, for any number of uploads', { tags: ['slow'] }, async () => {
      const body = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('cut')) }) };
      const puts = Array.from({ length: 500 }, () => store.put(trades, { format: 'csv', body }));
      await Promise.allSettled(puts);
      expect(await fixture.names()).toEqual([]);
    });
  });

  test('a frame reads the same whether it was put as bytes or as batches', async () => {
    const frame = await store.open((await store.put(trades, longFrame(3)), trades));
    expect(await readRows(frame!.read({ columns: ['id'], offset: 1, limit: 1 }))).toEqual([[1n]]);
    frame?.close();
  });
});
