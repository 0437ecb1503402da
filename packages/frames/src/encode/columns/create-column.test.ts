import fc from 'fast-check';
import {
  Binary,
  type DataType,
  Decimal,
  Dictionary,
  Duration,
  Field,
  Int32,
  Interval,
  IntervalUnit,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Time,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  TimeUnit,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { writtenCells } from '../../../test/written-cells.ts';
import { type FrameStream, streamOfBatches } from '../../streams.ts';
import { bytesOf } from '../../testing/bytes-of.ts';
import { type BuildColumn, bytes, decimals, intervals, longs } from '../../testing/column-builders.ts';
import { SAMPLE_FRAMES } from '../../testing/sample-frames.ts';
import { SLACK_BYTES } from '../kernel/kernel-layout.ts';
import { useKernel } from '../kernel/kernel.ts';
import { encodeJsonTable } from '../row-formats.ts';
import { allocateColumns } from './column.ts';
import { createCellOptions, createColumns } from './create-column.ts';

describe.each(['json', 'csv'] as const)('%s', (syntax) => {
  test.each(SAMPLE_FRAMES)('never writes past the given space: $name', { tags: ['slow'] }, ({ schema, batches }) => {
    const kernel = useKernel();
    const options = createCellOptions(syntax);
    for (const batch of batches.filter(({ numRows }) => numRows > 0)) {
      for (const column of createColumns(batch, schema.fields, options)) {
        kernel.owner = undefined;
        kernel.clear();
        const place = allocateColumns(kernel, 1);
        column.load(kernel, place, 0, batch.numRows);
        const out = kernel.allocate(2 * MOST_ROOM);
        for (let size = 0; size < MOST_ROOM; size += 1 + (size >> 2)) {
          kernel.bytes.fill(170, out, out + 2 * MOST_ROOM);
          const room = { out, bytes: size, cellBytes: column.fixedBytes, ends: 0 };
          expect(kernel.write(place, 0, batch.numRows, room).bytes).toBeLessThanOrEqual(size);
          const behind = kernel.bytes.subarray(out + size + SLACK_BYTES, out + 2 * MOST_ROOM);
          expect(behind.every((byte) => byte === 170)).toBe(true);
        }
      }
    }
  });
});

const MOST_ROOM = 1024;

/** The text of one value in CSV. */
function cell<V>(type: DataType, build: BuildColumn<V>, value: V): string {
  return writtenCells(build(type, [value]))[0];
}

const int64 = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);
const magnitude = (n: bigint): bigint => (n < 0n ? -n : n);

/** Splits units into hours, minutes, seconds and a rest, all unsigned. */
function clock(units: bigint, perSecond: bigint): [hours: bigint, minutes: bigint, seconds: bigint, rest: bigint] {
  const seconds = magnitude(units) / perSecond;
  return [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n, magnitude(units) % perSecond];
}

const UNITS = [
  [TimeUnit.SECOND, 0],
  [TimeUnit.MILLISECOND, 3],
  [TimeUnit.MICROSECOND, 6],
  [TimeUnit.NANOSECOND, 9],
] as const;

/** The hours, minutes and seconds of a period, after its T. */
function expectedClock(units: bigint, decimalsOfUnit: number): string {
  const sign = units < 0n ? '-' : '';
  const [hours, minutes, seconds, rest] = clock(units, 10n ** BigInt(decimalsOfUnit));
  const fraction = rest === 0n ? '' : `.${String(rest).padStart(decimalsOfUnit, '0').replace(/0+$/, '')}`;
  return [
    hours === 0n ? '' : `${sign}${hours}H`,
    minutes === 0n ? '' : `${sign}${minutes}M`,
    seconds === 0n && rest === 0n ? '' : `${sign}${seconds}${fraction}S`,
  ].join('');
}

describe('random values are written exactly', () => {
  test.each(UNITS)('durations, unit %i', (unit, digits) => {
    fc.assert(
      fc.property(int64, (value) => {
        const expected = value === 0n ? 'PT0S' : `PT${expectedClock(value, digits)}`;
        expect(cell(new Duration(unit), longs, value)).toBe(expected);
      }),
    );
  });

  test('intervals of months, days and nanoseconds', () => {
    const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
    const type = new Interval(IntervalUnit.MONTH_DAY_NANO);
    fc.assert(
      fc.property(int32, int32, int64, (months, days, nanos) => {
        const words = [months, days, Number(BigInt.asIntN(32, nanos)), Number(nanos >> 32n)];
        const part = (n: number, letter: string): string => (n === 0 ? '' : `${n}${letter}`);
        const date = `${part(Math.trunc(months / 12), 'Y')}${part(months % 12, 'M')}${part(days, 'D')}`;
        const time = expectedClock(nanos, 9);
        const expected = `P${date}${time === '' ? '' : `T${time}`}`;
        expect(cell(type, intervals, words)).toBe(expected === 'P' ? 'PT0S' : expected);
      }),
    );
  });

  test.each(UNITS.slice(2))('times of day, unit %i', (unit, digits) => {
    fc.assert(
      fc.property(int64, (value) => {
        const [hours, minutes, seconds, rest] = clock(value, 10n ** BigInt(digits));
        const pair = (n: bigint): string => String(n).padStart(2, '0');
        const time = `${pair(hours)}:${pair(minutes)}:${pair(seconds)}.${String(rest).padStart(digits, '0')}`;
        expect(cell(new Time(unit, 64), longs, value)).toBe(`${value < 0n ? '-' : ''}${time}`);
      }),
    );
  });

  test.each([
    ['s', new TimestampSecond(), 0],
    ['ms', new TimestampMillisecond(), 3],
    ['µs', new TimestampMicrosecond(), 6],
    ['ns', new TimestampNanosecond(), 9],
  ] as const)('timestamps in %s have the time of day that division computes', (_unit, type, digits) => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n) + 2n, 2n ** 63n - 2n), (value) => {
        const perDay = 86_400n * 10n ** BigInt(digits);
        const [hours, minutes, seconds, rest] = clock(((value % perDay) + perDay) % perDay, 10n ** BigInt(digits));
        const pair = (n: bigint): string => String(n).padStart(2, '0');
        const fraction = String(rest).padStart(digits, '0').padEnd(6, '0');
        const text = cell(type, longs, value);
        expect(text.slice(text.indexOf('T'))).toBe(`T${pair(hours)}:${pair(minutes)}:${pair(seconds)}.${fraction}Z`);
      }),
    );
  });

  test.each([new TimestampSecond(), new TimestampMillisecond(), new TimestampMicrosecond(), new TimestampNanosecond()])(
    '%s: a value does not depend on the previous row',
    (type) => {
      const most = 2n ** 63n - 1n;
      // Timestamps within one minute, others with the same lower 32 bits, and both ends of the range.
      const near = fc.tuple(fc.bigInt(-2n, 2n), fc.bigInt(-100n, 100n)).map(([n, more]) => (n << 32n) + more);
      const moments = fc.oneof(near, fc.constantFrom(most, most - 1n, -most, -most - 1n, -most + 1n), int64);
      fc.assert(
        fc.property(fc.array(moments, { minLength: 2, maxLength: 10 }), (values) => {
          const alone = values.map((value) => cell(type, longs, value));
          expect(writtenCells(longs(type, values))).toEqual(alone);
        }),
        { numRuns: 300 },
      );
    },
  );

  test.each([32, 64, 128, 256])('decimals of %i bits', (bitWidth) => {
    const most = 2n ** BigInt(bitWidth - 1);
    const values = fc.oneof(fc.bigInt(-most, most - 1n), fc.bigInt(-1000n, 1000n));
    fc.assert(
      fc.property(values, fc.integer({ min: -5, max: 80 }), (value, scale) => {
        const digits = String(magnitude(value)).padStart(scale + 1, '0');
        const text =
          scale > 0
            ? `${digits.slice(0, -scale)}.${digits.slice(-scale)}`
            : `${digits}${value === 0n ? '' : '0'.repeat(-scale)}`;
        expect(cell(new Decimal(scale, 76, bitWidth), decimals, value)).toBe(`${value < 0n ? '-' : ''}${text}`);
      }),
    );
  });

  test('bytes as base64', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (value) => {
        expect(cell(new Binary(), bytes, [...value])).toBe(Buffer.from(value).toString('base64'));
      }),
    );
  });
});

/** A frame with one SYMBOL column: a batch for each list of indices into one dictionary. */
function symbols(dictionary: Vector<Utf8>, ...batches: Int32Array[]): FrameStream {
  const type = new Dictionary(new Utf8(), new Int32(), 1);
  const schema = new Schema([new Field('s', type, false)]);
  const rows = new Struct(schema.fields);
  return streamOfBatches(
    schema,
    batches.map((data) => {
      const children = [makeData({ type, length: data.length, nullCount: 0, data, dictionary })];
      return new RecordBatch(schema, makeData({ type: rows, length: data.length, nullCount: 0, children }));
    }),
  );
}

async function cells(frame: FrameStream): Promise<unknown[]> {
  return JSON.parse((await bytesOf(encodeJsonTable(frame, { query: 'q' }))).toString()).dataset.flat();
}

/** The minimum CPU time of three runs, which other load on the machine affects little. */
async function leastMs(act: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 3; i++) {
    const start = process.cpuUsage();
    await act();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

const texts = (length: number) => Array.from({ length }, (_, i) => `value ${i}`);
const count = (length: number, start = 0) => Int32Array.from({ length }, (_, i) => start + i);

test('a dictionary of several parts is read across them', async () => {
  const dictionary = new Vector(
    [['a', 'b'], ['"'], [], ['d']].map((part) => vectorFromArray(part, new Utf8()).data[0]),
  );
  expect(await cells(symbols(dictionary, Int32Array.of(3, 2, 1, 0, 3)))).toEqual(['d', '"', 'b', 'a', 'd']);
});

test('an index outside the dictionary is an error', async () => {
  const dictionary = vectorFromArray(['a'], new Utf8());
  await expect(cells(symbols(dictionary, Int32Array.of(0, 1)))).rejects.toThrow(RangeError);
});

test('ten times as many distinct values take about ten times as long', { tags: ['slow'] }, async () => {
  const [few, many] = [10_000, 100_000].map((length) => vectorFromArray(texts(length), new Utf8()));
  const fewMs = await leastMs(() => cells(symbols(few, count(10_000))));
  const manyMs = await leastMs(() => cells(symbols(many, count(100_000))));
  expect(manyMs).toBeLessThan(40 * fewMs + 200);
});

test('batches that share a dictionary do not each write all of it', { tags: ['slow'] }, async () => {
  const dictionary = vectorFromArray(texts(100_000), new Utf8());
  const oneMs = await leastMs(() => cells(symbols(dictionary, count(5000))));
  const batches = Array.from({ length: 5000 }, (_, i) => count(1, i));
  // To write all of it for each of them would take some thousand times as long.
  expect(await leastMs(() => cells(symbols(dictionary, ...batches)))).toBeLessThan(500 * oneMs);
});

test('batches with different dictionaries have different values', async () => {
  const [first, second] = [['a', 'b'], ['c']].map((words) => vectorFromArray(words, new Utf8()));
  const { schema, batches } = symbols(first, Int32Array.of(1, 0));
  async function* all() {
    yield* batches;
    yield* symbols(second, Int32Array.of(0)).batches;
    yield* symbols(first, Int32Array.of(0)).batches;
  }
  expect(await cells(streamOfBatches(schema, all()))).toEqual(['b', 'a', 'c', 'a']);
});
