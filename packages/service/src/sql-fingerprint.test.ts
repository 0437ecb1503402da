import { describe, expect, test } from 'vitest';
import { sqlFingerprint } from './sql-fingerprint.ts';

describe('the fingerprint of SQL', () => {
  test.each([
    ['select 1', 'select ?'],
    ["select * from t where name = 'o''brien' and id>-12.5e3", 'select * from t where name = ? and id>-?'],
    ['select\n\t a ,b -- note 42\n from /* 7 */ t1', 'select a ,b from t1'],
    ["where d = DATE '2024-01-02' and x in (1, 2,3)", 'where d = DATE ? and x in (?)'],
    ["insert into t values (1, 'a'), (2, 'b')", 'insert into t values (?)'],
    ['select $1, ?, $name', 'select $1, ?, $name'],
    ['select $$it is $1$$, $tag$ $$ 5 $tag$ x', 'select ?, ? x'],
    ['select $é$secret$é$, $größe1$ secret $größe1$ x', 'select ?, ? x'],
    ["select --\r, 'a\nsecret'", 'select …'],
    ['select 0xFF, 1_000, .5, 10L, a1', 'select ?, ?, ?, ?, a1'],
    ["select 'not closed", 'select ?'],
    ['select 1 /* not closed', 'select ?'],
    ['', ''],
    ['select "my col" from "f-1"', 'select "my col" from "f-1"'],
    ["select 'größe' as größe", 'select ? as größe'],
  ])('%j is %j', (sql, fingerprint) => {
    expect(sqlFingerprint(sql, 'local')).toBe(fingerprint);
  });

  test.each([
    ['select "secret", `secret` from t', 'select ?, ? from t'],
    [String.raw`select 'it\'s secret', 'secret'`, 'select ? …'],
    [String.raw`select "a\" secret" from t`, 'select ? …'],
    ['select 1 /* a /* b */ secret */ from t', 'select ? …'],
  ])('of a dialect that may read quotes in another way: %j is %j', (sql, fingerprint) => {
    expect(sqlFingerprint(sql, 'scheduler')).toBe(fingerprint);
  });

  test('is short and quick for any SQL', () => {
    const long = sqlFingerprint(`select ${"'x' || ".repeat(200_000)}1`, 'local');
    expect(long).toHaveLength(1000);
    expect(long.endsWith('…')).toBe(true);
    for (const char of ["'", '"', '/*', '$a$', '(', '?,', "''"]) {
      expect(sqlFingerprint(char.repeat(200_000), 'local').length).toBeLessThanOrEqual(1000);
    }
  });
});
