import { expect, test } from 'vitest';
import { fullStatement } from './short-statement.ts';

test.each([
  ['tables()', 'FROM tables()'],
  ['tables();', 'FROM tables();'],
  ["Tables () where table_name = 'x';", "FROM Tables () where table_name = 'x';"],
  ["table_columns('trades')", "FROM table_columns('trades')"],
  ['information_schema.questdb_columns()', 'FROM questdb_columns()'],
  [' Information_Schema.questdb_columns() limit 3', 'FROM  questdb_columns() limit 3'],
  ['SELECT table_name FROM tables', 'SELECT table_name FROM tables()'],
  [
    "select * from tables where table_name ~ 'x' order by id",
    "select * from tables() where table_name ~ 'x' order by id",
  ],
  ['trades', 'FROM trades'],
  [' trades ; ', 'FROM  trades ; '],
  ['"a.b"', 'FROM "a.b"'],
  ["'say ''hi'''", "FROM 'say ''hi'''"],
  ['show columns from trades', "FROM table_columns('trades')"],
  ["SHOW COLUMNS FROM 'it''s';", "FROM table_columns('it''s')"],
  ['show columns from "a""b";', "FROM table_columns('a\"b')"],
])('%s', (short, full) => {
  expect(fullStatement(short)?.sql).toBe(full);
});

test.each([
  '',
  ';',
  'select 1',
  'from trades',
  'select id from "tables"',
  'select id from tables, trades',
  'select id from tables()',
  'select id from tables_2',
  "select 'x from tables'",
  'describe',
  'SHOW',
  'show tables',
  'trades limit 5',
  'trades, other',
  'show columns from trades where x',
  'values (1)',
  'range(3)',
  '-- tables()',
  "'open",
])('is other SQL: %s', (sql) => {
  expect(fullStatement(sql)).toBeUndefined();
});

test.each(['tables() where nothing', 'information_schema.questdb_columns() where nothing'])(
  'a position in the full statement is that of the short one, shifted: %s',
  (short) => {
    const { sql = '', shift = 0 } = fullStatement(short) ?? {};
    expect(sql.indexOf('nothing') - shift).toBe(short.indexOf('nothing'));
  },
);
