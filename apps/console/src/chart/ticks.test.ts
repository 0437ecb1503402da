import { describe, expect, test } from 'vitest';
import { type Axis, moved, narrowed, placeFromTime, placeText, within } from './axis.ts';
import { bucketsOf, grouped, ticksOf, wholeBuckets } from './ticks.ts';
import { lengthText } from './load-chart.ts';

const US = { kind: 'time', unit: 'us' } as const;
const NS = { kind: 'time', unit: 'ns' } as const;
const at = (text: string): bigint => placeFromTime(US, text)!;

describe('marks of a time axis', () => {
  test.each([
    ['2024-01-01T22:30:00Z', '2024-01-02T01:30:00Z', ['23:00\n2024-01-01', '00:00\n2024-01-02', '01:00']],
    ['2024-01-01T13:00:00Z', '2024-01-01T13:00:20Z', ['13:00:00\n2024-01-01', '13:00:10', '13:00:20']],
    ['2024-01-01T12:00:00Z', '2024-01-04T00:00:00Z', ['2024-01-02', '2024-01-03', '2024-01-04']],
    ['2023-12-20T00:00:00Z', '2024-03-05T00:00:00Z', ['2024-01', '2024-02', '2024-03']],
    ['1999-06-01T00:00:00Z', '2012-06-01T00:00:00Z', ['2000', '2005', '2010']],
  ])('from %s to %s', (lo, hi, labels) => {
    expect(ticksOf(US, { lo: at(lo), hi: at(hi) }, 4).labels).toEqual(labels);
  });

  test('reach nanoseconds', () => {
    const lo = placeFromTime(NS, '2024-01-01T00:00:00.000000100Z')!;
    expect(ticksOf(NS, { lo, hi: lo + 40n }, 4).labels).toEqual([
      '00:00:00.00000010\n2024-01-01',
      '00:00:00.00000011',
      '00:00:00.00000012',
      '00:00:00.00000013',
      '00:00:00.00000014',
    ]);
  });
});

describe('marks of numbers', () => {
  const WHOLE: Axis = { kind: 'whole', scale: 0 };
  test.each<[string, Axis, number | bigint, number | bigint, string[]]>([
    ['small', { kind: 'real' }, 0, 1, ['0.0', '0.5', '1.0']],
    ['below zero', { kind: 'real' }, -7, 12, ['-5', '0', '5', '10']],
    ['tiny', { kind: 'real' }, 0, 3e-9, ['0.000000000', '1e-9', '2e-9', '3e-9']],
    ['long', WHOLE, 2n ** 60n, 2n ** 60n + 2n, ['1152921504606846976', '1152921504606846977', '1152921504606846978']],
    ['decimal', { kind: 'whole', scale: 4 }, 0n, 10000n, ['0.0', '0.5', '1.0']],
  ])('%s', (_, axis, lo, hi, labels) => {
    const shown = ticksOf(axis, { lo, hi }, 4).labels.map((label) => label.replaceAll('\u202F', ''));
    expect(shown).toEqual(labels);
  });

  test('all doubles have a mark', () => {
    expect(ticksOf({ kind: 'real' }, { lo: -Number.MAX_VALUE, hi: Number.MAX_VALUE }, 5).places.length).toBeGreaterThan(
      0,
    );
  });

  test.each([
    ['1234', '1234'],
    ['12345', '12 345'],
    ['-1234567.12345', '-1 234 567.12345'],
  ])('groups of %s', (text, shown) => {
    expect(grouped(text).replaceAll('\u202F', ' ')).toBe(shown);
  });
});

describe('buckets', () => {
  test.each([
    [US, at('2024-01-31T10:11:12Z'), at('2024-03-02T00:00:00Z'), 40, '2024-01-31T00:00:00.000000Z'],
    [US, at('1960-02-10T00:00:00Z'), at('2020-01-01T00:00:00Z'), 100, '1960-01-01T00:00:00.000000Z'],
    [US, -5n, 3_600_000_000n, 60, '1969-12-31T23:58:00.000000Z'],
  ])('start at round times', (axis, lo, hi, most, start) => {
    const bucket = bucketsOf(axis, { lo, hi }, most);
    const whole = wholeBuckets(bucket, { lo, hi });
    expect(placeText(axis, whole.lo)).toBe(start);
    expect(whole.hi > hi).toBe(true);
    for (let key = bucket.of(lo); key < bucket.of(hi); key += 1) expect(bucket.of(bucket.start(key))).toBe(key);
  });

  test.each([
    [86_400, '1 day'],
    [5400, '90 minutes'],
    [0.25, '0.25 s'],
    [31 * 86_400, '1 month'],
    [366 * 86_400, '1 year'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(lengthText(seconds)).toBe(text);
  });
});

describe('zoom', () => {
  const extent = { lo: 0n, hi: 1000n };
  test.each([
    ['in', 100n, 300n, { lo: 150n, hi: 250n }],
    ['out', 100n, 300n, { lo: 0n, hi: 400n }],
    ['out', 0n, 900n, undefined],
    ['left', 100n, 300n, { lo: 50n, hi: 250n }],
    ['left', 20n, 220n, { lo: 0n, hi: 200n }],
    ['right', 900n, 1000n, { lo: 900n, hi: 1000n }],
    ['all', 100n, 300n, undefined],
  ] as const)('%s from %d to %d', (move, lo, hi, range) => {
    expect(moved({ lo, hi }, extent, move)).toEqual(range);
  });

  test('stops where there is nothing between the ends', () => {
    expect(moved({ lo: 7n, hi: 8n }, extent, 'in')).toEqual({ lo: 7n, hi: 8n });
    expect(narrowed({ lo: 1, hi: 2 }, { lo: 1.5, hi: 1.5 })).toEqual({ lo: 1, hi: 2 });
    expect(within({ lo: -5n, hi: 2000n }, extent)).toBeUndefined();
  });
});
