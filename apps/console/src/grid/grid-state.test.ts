import { isNumericType } from '@svc/client/internal';
import { describe, expect, test } from 'vitest';
import {
  contentFromScroll,
  createColumnWidths,
  extendTo,
  formatBytes,
  MAX_SCROLL_PX,
  moveSelection,
  scrollFromContent,
  selectCell,
  selectedRange,
  spacerPx,
} from './grid-state.ts';

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
  expect(isNumericType(type)).toBe(expected);
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

const VIEW_PX = 900;

describe.each([10, 1000, 600_000, 700_000, 100_000_000, 1_000_000_000])('%i rows', (rows) => {
  test.each([24, 48])('of %i px: both ends are reached, and both directions are the reverse of each other', (rowPx) => {
    const sizes = { contentPx: rows * rowPx, viewPx: VIEW_PX };
    const most = Math.max(0, sizes.contentPx - VIEW_PX);
    const bar = Math.max(0, spacerPx(sizes) - VIEW_PX);
    expect(spacerPx(sizes)).toBeLessThanOrEqual(MAX_SCROLL_PX);
    expect([contentFromScroll(0, sizes), contentFromScroll(bar, sizes)]).toEqual([0, most]);
    expect([scrollFromContent(0, sizes), scrollFromContent(most, sizes)]).toEqual([0, bar]);
    for (const share of [0, 0.001, 0.01, 0.3, 0.5, 0.9, 0.999, 1]) {
      const content = share * most;
      expect(contentFromScroll(scrollFromContent(content, sizes), sizes)).toBeCloseTo(content, 3);
    }
  });
});

test('the first and the last rows move by the pixels of the scroll bar', () => {
  const sizes = { contentPx: 24e8, viewPx: VIEW_PX };
  const bar = MAX_SCROLL_PX - VIEW_PX;
  expect(contentFromScroll(5024, sizes) - contentFromScroll(5000, sizes)).toBe(24);
  expect(contentFromScroll(bar - 100, sizes) - contentFromScroll(bar - 124, sizes)).toBe(24);
});

const SIZE = { rows: 100_000_000, columns: 8, pageRows: 40 };
const FROM = selectCell(1000, 3);

describe('keys', () => {
  test.each([
    ['ArrowDown', false, 1001, 3],
    ['ArrowUp', false, 999, 3],
    ['ArrowLeft', false, 1000, 2],
    ['ArrowRight', false, 1000, 4],
    ['PageDown', false, 1039, 3],
    ['PageUp', false, 961, 3],
    ['Home', false, 1000, 0],
    ['End', false, 1000, 7],
    ['Home', true, 0, 0],
    ['End', true, 99_999_999, 7],
    ['ArrowDown', true, 99_999_999, 3],
    ['ArrowRight', true, 1000, 7],
  ])('%s with control %s goes to row %i, column %i', (key, isControl, row, column) => {
    expect(moveSelection(FROM, { key, isControl, isShift: false }, SIZE)).toEqual(selectCell(row, column));
  });

  test('shift keeps the anchor', () => {
    const moved = moveSelection(FROM, { key: 'ArrowUp', isControl: false, isShift: true }, SIZE);
    expect(moved && selectedRange(moved)).toEqual({ firstRow: 999, lastRow: 1000, firstColumn: 3, lastColumn: 3 });
  });

  test('no move leaves the grid', () => {
    const press = { isControl: false, isShift: false };
    expect(moveSelection(selectCell(0, 0), { ...press, key: 'ArrowUp' }, SIZE)).toEqual(selectCell(0, 0));
    expect(moveSelection(selectCell(99_999_999, 7), { ...press, key: 'PageDown' }, SIZE)).toEqual(
      selectCell(99_999_999, 7),
    );
    expect(moveSelection(selectCell(0, 0), { ...press, key: 'ArrowDown' }, { ...SIZE, rows: 0 })).toBeUndefined();
  });

  test('control and A selects everything', () => {
    const all = moveSelection(FROM, { key: 'a', isControl: true, isShift: false }, SIZE);
    expect(all && selectedRange(all)).toEqual({ firstRow: 0, lastRow: 99_999_999, firstColumn: 0, lastColumn: 7 });
  });

  test.each(['x', 'Tab', 'Escape', 'Control'])('%s does not move', (key) => {
    expect(moveSelection(FROM, { key, isControl: false, isShift: false }, SIZE)).toBeUndefined();
  });
});

test('a range has its corners in order', () => {
  expect(selectedRange(extendTo(selectCell(5, 6), 2, 9))).toEqual({
    firstRow: 2,
    lastRow: 5,
    firstColumn: 6,
    lastColumn: 9,
  });
});
