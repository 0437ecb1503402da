import { describe, expect, test } from 'vitest';
import { createColumnWidths, formatBytes, isNumeric } from './columns.ts';

describe('column widths', () => {
  test('the column at each of its pixels is itself, after any resize', () => {
    const widths = createColumnWidths(500);
    widths.resize(3, 77);
    widths.fit(100, 240);
    widths.resize(499, 1);
    for (let column = 0; column < 500; column += 1) {
      const left = widths.leftOf(column);
      expect([widths.columnAt(left), widths.columnAt(left + widths.widthOf(column) - 1)]).toEqual([column, column]);
    }
    expect(widths.leftOf(500)).toBe(widths.totalPx);
    expect(widths.columnAt(1e9)).toBe(499);
  });

  test.each([
    [0, 48],
    [100, 118],
    [5000, 360],
  ])('texts of %i px make a column of %i px', (textPx, px) => {
    const widths = createColumnWidths(1);
    widths.fit(0, textPx);
    expect(widths.widthOf(0)).toBe(px);
  });

  test.each([
    [10, 48],
    [200.4, 200],
    [9999, 2000],
  ])('a resize to %d px is one to %i px', (asked, px) => {
    const widths = createColumnWidths(1);
    widths.resize(0, asked);
    expect(widths.widthOf(0)).toBe(px);
  });
});

test('a column grows for longer texts, but never shrinks and never changes a width that was chosen', () => {
  const widths = createColumnWidths(2);
  widths.fit(0, 100);
  widths.grow(0, 90);
  expect(widths.widthOf(0)).toBe(118);
  widths.grow(0, 150);
  expect(widths.widthOf(0)).toBe(168);
  widths.resize(0, 60);
  widths.grow(0, 150);
  expect(widths.widthOf(0)).toBe(60);
});

test('all widths are multiples of the step, those before it and after', () => {
  const widths = createColumnWidths(4);
  widths.fit(0, 100);
  widths.setStep(7.5);
  widths.fit(1, 100);
  widths.resize(2, 77);
  expect([0, 1, 2, 3].map((column) => widths.widthOf(column) / 7.5)).toEqual([16, 16, 10, 16]);
  expect(widths.totalPx).toBe(58 * 7.5);
});

test.each([
  ['LONG', true],
  ['DECIMAL(10,2)', true],
  ['DOUBLE', true],
  ['STRING', false],
  ['TIMESTAMP', false],
])('%s is numeric: %s', (type, expected) => {
  expect(isNumeric({ name: 'c', type })).toBe(expected);
});

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [2_000_000, '2.0 MB'],
  [999_960, '1.0 MB'],
  [5e12, '5000.0 GB'],
])('%i bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
