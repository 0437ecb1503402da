import { describe, expect, test } from 'vitest';
import { parseDeclaredColumns } from './write-frame.ts';

describe('columns=', () => {
  test.each([
    ['a', [{ name: 'a' }]],
    ['id:LONG,s', [{ name: 'id', type: 'LONG' }, { name: 's' }]],
    ['px:DECIMAL(18,4),s', [{ name: 'px', type: 'DECIMAL(18,4)' }, { name: 's' }]],
    ['s,px:decimal(18, 4)', [{ name: 's' }, { name: 'px', type: 'decimal(18, 4)' }]],
    ['"px:DECIMAL(18,4)"', [{ name: 'px', type: 'DECIMAL(18,4)' }]],
    ['"a,b:LONG",c', [{ name: 'a,b', type: 'LONG' }, { name: 'c' }]],
    ['"5"" pipe"', [{ name: '5" pipe' }]],
    ['a:b:LONG', [{ name: 'a:b', type: 'LONG' }]],
    ['a b(c)', [{ name: 'a b(c)' }]],
    ['"a\nb:LONG"', [{ name: 'a\nb', type: 'LONG' }]],
  ])('%j', (text, columns) => {
    expect(parseDeclaredColumns(text)).toEqual(columns);
  });

  test.each(['', 'a,', ',a', 'a,,b', '"a', '"a"b', 'a"b'])('%j is not a list of columns', (text) => {
    expect(() => parseDeclaredColumns(text)).toThrow(/is not a list of columns/);
  });

  test('a name is given once, with any type', () => {
    expect(() => parseDeclaredColumns('a:LONG,b,a:STRING')).toThrow('names the column "a" twice');
  });
});
