import { expect, test } from 'vitest';
import type { CellLook } from '../rows/row-source.ts';
import { filterSql, sortSql, type SqlRows } from './sql-commands.ts';

const rowsOf = (type: string, other: Partial<SqlRows> = {}): SqlRows => ({
  from: '"a-b"',
  columns: [{ name: 'c', type }],
  engine: 'local',
  ...other,
});

test.each<[string, Partial<SqlRows>, string]>([
  ['of a frame', { limit: 1000 }, 'order by c desc nulls last\nlimit 1000'],
  ['of an answer', {}, 'order by c desc nulls last'],
  ['of a time-series database', { engine: 'tsdb' }, 'order by c desc'],
  ['by a name in capitals', { columns: [{ name: 'Price', type: 'LONG' }] }, 'order by "Price" desc nulls last'],
])('a sort %s has the largest values first', (_, other, clause) => {
  expect(sortSql(rowsOf('DOUBLE', other), 0)).toBe(`select *\nfrom "a-b"\n${clause}`);
});

test('columns whose names differ only in case are called by their places', () => {
  const columns = ['x', 'A', 'a'].map((name) => ({ name, type: 'LONG' }));
  const rows = rowsOf('', { columns });
  expect([0, 1, 2].map((index) => sortSql(rows, index).split('\n').at(-1))).toEqual([
    'order by x desc nulls last',
    'order by 2 desc nulls last',
    'order by 3 desc nulls last',
  ]);
  expect(filterSql(rows, 2, { look: 'value', text: '5' })?.split('\n').at(-1)).toBe('where #3 = 5');
});

test.each<[string, string, CellLook, string | undefined]>([
  ['LONG', '9007199254740993', 'value', '= 9007199254740993'],
  ['DECIMAL(10,2)', '-1.10', 'value', '= -1.10'],
  ['DOUBLE', '0.1', 'value', "= '0.1'::double"],
  ['DOUBLE', 'NaN', 'nan', "= 'NaN'::double"],
  ['STRING', "it's", 'value', "= 'it''s'"],
  ['STRING', '', 'empty', "= ''"],
  ['STRING', 'null', 'value', "= 'null'"],
  ['STRING', '', 'null', 'is null'],
  ['ARRAY', '', 'null', 'is null'],
  ['ARRAY', '[1]', 'value', undefined],
  ['BINARY', 'AAE=', 'value', "= from_base64('AAE=')"],
  ['TIMESTAMP', '2024-01-02T03:04:05.678901Z', 'value', "= '2024-01-02T03:04:05.678901Z'"],
])('the rows with the %s %j (%s) are those %s', (type, text, look, condition) => {
  const sql = filterSql(rowsOf(type, { limit: 1000 }), 0, { look, text });
  expect(sql).toBe(condition && `select *\nfrom "a-b"\nwhere c ${condition}\nlimit 1000`);
});

test.each([
  ['DOUBLE', '1.5e-7', '= 1.5e-7'],
  ['SYMBOL', 'BTC', "= 'BTC'"],
  ['BOOLEAN', 'true', "= 'true'"],
])('other engines read a %s %j as %s', (type, text, condition) => {
  expect(filterSql(rowsOf(type, { engine: 'tsdb' }), 0, { look: 'value', text })).toBe(
    `select *\nfrom "a-b"\nwhere c ${condition}`,
  );
});
