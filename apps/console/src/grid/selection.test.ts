import { describe, expect, test } from 'vitest';
import { extendTo, moveSelection, parseGoTo, selectCell, selectedRange } from './selection.ts';

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

test.each([
  ['1', { row: 0 }],
  ['1 000 000', { row: 999_999 }],
  ['12,345', { row: 12_344 }],
  ['50%', { row: 50_000_000 }],
  ['100 %', { row: 99_999_999 }],
  ['999999999999', { row: 99_999_999 }],
  ['price', { column: 1 }],
  ['PR', { column: 1 }],
  ['mbol', { column: 2 }],
  ['2024', { column: 3 }],
  ['nothing', undefined],
  [' ', undefined],
])('%j goes to %j', (text, expected) => {
  expect(parseGoTo(text, 100_000_000, ['id', 'price', 'symbol', '2024'])).toEqual(expected);
});
