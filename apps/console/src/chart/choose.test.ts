import { describe, expect, test } from 'vitest';
import { chosenColumns, defaultChoice, withKind } from './choose.ts';
import { relationOf, subqueryOf } from './chart-sql.ts';

const columnsOf = (...types: string[]): { name: string; type: string }[] =>
  types.map((type, i) => ({ name: `${type.toLowerCase()}${i}`, type }));

describe('the first chart of columns', () => {
  test.each([
    [['LONG', 'TIMESTAMP', 'STRING', 'DOUBLE'], { kind: 'line', x: 'timestamp1', y: ['double3'] }],
    [['LONG', 'DATE'], { kind: 'line', x: 'date1', y: ['long0'] }],
    [['STRING', 'LONG'], { kind: 'bar', x: 'string0', y: ['long1'] }],
    [['LONG', 'DOUBLE'], { kind: 'line', x: 'long0', y: ['double1'] }],
    [['DOUBLE'], { kind: 'histogram', y: ['double0'] }],
    [['STRING', 'BOOLEAN'], { kind: 'bar', x: 'string0', y: [] }],
    [['ARRAY', 'BINARY'], undefined],
    [[], undefined],
  ])('%j', (types, choice) => {
    expect(defaultChoice(columnsOf(...types))).toEqual(choice);
  });
});

test('another kind keeps the columns that fit', () => {
  const columns = columnsOf('TIMESTAMP', 'DOUBLE', 'STRING');
  const line = { kind: 'line', x: 'timestamp0', y: ['double1'] } as const;
  expect(withKind(line, 'histogram', columns)).toEqual({ kind: 'histogram', y: ['double1'] });
  expect(withKind({ kind: 'bar', x: 'string2', y: ['double1'] }, 'line', columns)).toEqual(line);
});

test('OHLC takes the columns with those names, in any case', () => {
  const columns = ['ts', 'Close', 'Open', 'High', 'Low'].map((name) => ({
    name,
    type: name === 'ts' ? 'TIMESTAMP' : 'DOUBLE',
  }));
  const line = { kind: 'line', x: 'ts', y: ['Close'] } as const;
  expect(withKind(line, 'ohlc', columns)).toEqual({ kind: 'ohlc', x: 'ts', y: ['Open', 'High', 'Low', 'Close'] });
});

test.each([
  [{ kind: 'line', x: 'gone', y: [] }, /no column "gone"/],
  [{ kind: 'line', x: 'string0', y: ['long1'] }, /x axis/],
  [{ kind: 'line', x: 'long1', y: [] }, /column to draw/],
  [{ kind: 'line', x: 'long1', y: ['string0'] }, /numbers/],
  [{ kind: 'ohlc', x: 'long1', y: ['long1', 'long1'] }, /or four/],
] as const)('%j cannot be drawn, and says why', (choice, sentence) => {
  expect(chosenColumns(choice, columnsOf('STRING', 'LONG'))).toMatch(sentence);
});

test('names are quoted; names that SQL does not tell apart are replaced by places', () => {
  const relation = (...names: string[]): string[] => {
    const one = relationOf({ columns: names.map((name) => ({ name, type: 'INT' })), from: '"f"' });
    return [one.sql, one.column(0)];
  };
  expect(relation('a "b"', 'c')).toEqual(['"f" as r', 'r."a ""b"""']);
  expect(relation('a', 'A')).toEqual(['"f" as r(c0, c1)', 'r.c0']);
  expect(relation('')).toEqual(['"f" as r(c0)', 'r.c0']);
});

test('a statement that ends with a comment is a subquery', () => {
  expect(subqueryOf('select 1 -- one')).toBe('(\nselect 1 -- one\n)');
});
