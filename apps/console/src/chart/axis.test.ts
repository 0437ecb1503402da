import { describe, expect, test } from 'vitest';
import {
  axisOf,
  commonAxis,
  dayOfMonth,
  decimalText,
  distance,
  isNumber,
  isTime,
  monthOfDay,
  placeFromTime,
  placeText,
  shifted,
  unitsFromDecimal,
  valueAxisOf,
  widened,
} from './axis.ts';
import { mergedSeries, pointsInView } from './load-chart.ts';
import { pixelsOf } from './pixels.ts';

const US = { kind: 'time', unit: 'us' } as const;
const NS = { kind: 'time', unit: 'ns' } as const;

test.each([
  ['TIMESTAMP', US],
  ['TIMESTAMP_NS', NS],
  ['DATE', US],
  ['LONG', { kind: 'whole', scale: 0 }],
  ['DECIMAL(18,4)', { kind: 'whole', scale: 4 }],
  ['DECIMAL(38,10)', { kind: 'real' }],
  ['DECIMAL(5,-2)', { kind: 'real' }],
  ['LONG128', { kind: 'real' }],
  ['DOUBLE', { kind: 'real' }],
  ['STRING', undefined],
  ['STRUCT', undefined],
])('the axis of %s', (type, axis) => {
  expect(axisOf(type)).toEqual(axis);
});

test('values of any length have exact axes; places on the x axis only if SQL can compute them', () => {
  expect(valueAxisOf('DECIMAL(38,10)')).toEqual({ kind: 'whole', scale: 10 });
  expect(valueAxisOf('LONG128')).toEqual({ kind: 'whole', scale: 0 });
  expect([isNumber('DECIMAL(9,2)'), isNumber('DATE'), isTime('DATE'), isTime('TIME')]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

test('columns that are drawn together share the finest unit, or doubles', () => {
  expect(
    commonAxis([
      { kind: 'whole', scale: 2 },
      { kind: 'whole', scale: 5 },
    ]),
  ).toEqual({ kind: 'whole', scale: 5 });
  expect(commonAxis([{ kind: 'whole', scale: 2 }, { kind: 'real' }])).toEqual({ kind: 'real' });
});

describe('texts of places', () => {
  test.each([
    [US, '2024-01-02T03:04:05.678901Z', 1704164645678901n],
    [NS, '2024-01-02T03:04:05.678901234Z', 1704164645678901234n],
    [US, '1969-12-31T23:59:59.999999Z', -1n],
    [US, '1500-01-01T00:00:00.000001Z', -14831769599999999n],
    [US, '+012024-01-01T00:00:00.000000Z', 317273587200000000n],
  ])('%o %s', (axis, text, place) => {
    expect(placeText(axis, place)).toBe(text);
    expect(placeFromTime(axis, text)).toBe(place);
  });

  test('a date is a time, infinity is none', () => {
    expect(placeFromTime(US, '2024-01-02T00:00:00.000Z')).toBe(1704153600000000n);
    expect(placeFromTime(US, 'infinity')).toBeUndefined();
  });

  test('a time that JavaScript has no date for has one', () => {
    expect(placeText(US, 9_200_000_000_000_000_000n)).toBe('+293506-05-25T11:33:20.000000Z');
  });

  test.each([
    ['-0.0500', 4, -500n],
    ['12', 2, 1200n],
    ['99999999999999999999999999.999999999999', 12, 99999999999999999999999999999999999999n],
  ])('%s with scale %d', (text, scale, units) => {
    expect(unitsFromDecimal(text, scale)).toBe(units);
    expect(Number(decimalText(units, scale))).toBe(Number(text));
  });

  test('a decimal with more digits than the scale is refused', () => {
    expect(unitsFromDecimal('1.234', 2)).toBeUndefined();
    expect(unitsFromDecimal('1e5', 2)).toBeUndefined();
  });
});

test('a range of one value is widened, exactly', () => {
  expect(widened(US, { lo: 5n, hi: 5n })).toEqual({ lo: -999_995n, hi: 1_000_005n });
  expect(widened({ kind: 'real' }, { lo: 0, hi: 0 })).toEqual({ lo: -1, hi: 1 });
  expect(widened({ kind: 'real' }, { lo: 1, hi: 2 })).toEqual({ lo: 1, hi: 2 });
});

test('places far from zero keep the distance of one', () => {
  const lo = 2n ** 62n;
  expect(distance(lo, lo + 1n)).toBe(1);
  expect(shifted(lo, 1)).toBe(lo + 1n);
});

test('values near 2^60 that differ by one have different pixels', () => {
  const base = 2n ** 60n;
  const { ys, yBase } = pixelsOf({
    kind: 'line',
    xName: 'x',
    xAxis: NS,
    yAxis: { kind: 'whole', scale: 0 },
    range: { lo: base, hi: base + 9n },
    extent: undefined,
    places: [base, base + 1n, base + 3n],
    series: [{ label: 'y', texts: [String(base + 1n), null, String(base)] }],
    notes: [],
  });
  expect({ ys, yBase }).toEqual({ ys: [[1, null, 0]], yBase: base });
});

test('lines with places of their own share them; a gap is not a missing point', () => {
  const lines = [
    { places: [1n, 2n, 2n, 5n], texts: ['a', 'b', 'c', null] },
    { places: [2n, 4n], texts: ['x', 'y'] },
  ];
  expect(mergedSeries(lines)).toEqual({
    places: [1n, 2n, 2n, 4n, 5n],
    texts: [
      ['a', 'b', 'c', undefined, null],
      [undefined, 'x', undefined, 'y', undefined],
    ],
  });
});

test('the points beside the range are drawn, but not listed', () => {
  const range = { lo: 10n, hi: 20n };
  expect(pointsInView({ places: [9n, 10n, 20n, 21n], range, xAxis: US })).toEqual([1, 2]);
  expect(pointsInView({ places: [0, 1], range: { lo: -0.5, hi: 1.5 }, xAxis: undefined })).toEqual([0, 1]);
});

const DAY_MS = 86_400_000;

test.each([0, 1, 59, 60, 365, 10_956, 10_957, 11_016, 157_053, -1, -719_528, 2_932_896, 99_999_999, -99_999_999])(
  'the month of day %d is that of Date',
  (day) => {
    const date = new Date(day * DAY_MS);
    const month = monthOfDay(day);
    expect([Math.floor(month / 12), ((month % 12) + 12) % 12]).toEqual([date.getUTCFullYear(), date.getUTCMonth()]);
    expect(dayOfMonth(month)).toBe(day - date.getUTCDate() + 1);
  },
);

test.each([
  [294_247 * 12, '+294247-01'],
  [-290_308 * 12 + 11, '-290308-12'],
])('the month %d starts with its first day, and the day before is of the month before', (month) => {
  expect(monthOfDay(dayOfMonth(month))).toBe(month);
  expect(monthOfDay(dayOfMonth(month) - 1)).toBe(month - 1);
});
