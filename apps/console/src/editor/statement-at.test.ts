import { describe, expect, test } from 'vitest';
import { errorPlace, statementAt, statementsOf } from './statement-at.ts';

/** The place is where the text has a bar; it is removed. */
function statementAtBar(text: string): string | undefined {
  return statementAt(text.replace('|', ''), text.indexOf('|'))?.text;
}

describe('the statements of a text', () => {
  test.each(["'", '"', '`', "e'", ''])('may have 10 MB after %j', (quote) => {
    const value = `${quote}${'1'.repeat(10_000_000)}${quote.slice(-1)}`;
    expect(statementsOf(`${value}; select 2`).map(({ text }) => text.length)).toEqual([value.length, 8]);
  });

  test.each([
    ['select 1', ['select 1']],
    ['select 1;', ['select 1']],
    [' select 1 ; ; select 2 ', ['select 1', 'select 2']],
    ["select ';' ; select 2", ["select ';'", 'select 2']],
    ["select 'it''s;' ; select 2", ["select 'it''s;'", 'select 2']],
    ["select 'a\\' ; select 2", ["select 'a\\'", 'select 2']],
    ["select e'a\\';' ; select 2", ["select e'a\\';'", 'select 2']],
    ['select "a;""b" ; select 2', ['select "a;""b"', 'select 2']],
    ['select `a;b` ; select 2', ['select `a;b`', 'select 2']],
    ['select $$a;b$$ ; select 2', ['select $$a;b$$', 'select 2']],
    ['select $t$a;$$b$t$ ; select 2', ['select $t$a;$$b$t$', 'select 2']],
    ['select $1; select $2', ['select $1', 'select $2']],
    ['select 1 -- a;b\n; select 2', ['select 1', 'select 2']],
    ['select 1 -- a;b\n + 1; select 2', ['select 1 -- a;b\n + 1', 'select 2']],
    ['/* ; /* ; */ ; */ select 1; select 2', ['select 1', 'select 2']],
    ["select 'open; select 2", ["select 'open; select 2"]],
    ['select 1 /* open; select 2', ['select 1']],
    ['select $$open; select 2', ['select $$open; select 2']],
    ['-- only a comment;', []],
    ['', []],
    [';;', []],
    ["select '😀;' ; select 2", ["select '😀;'", 'select 2']],
  ])('%j are %j', (text, expected) => {
    expect(statementsOf(text).map((statement) => statement.text)).toEqual(expected);
  });

  test('have their place in the whole text', () => {
    expect(statementsOf(' a ;\n b')).toEqual([
      { from: 1, to: 2, text: 'a' },
      { from: 6, to: 7, text: 'b' },
    ]);
  });
});

describe('the statement at the cursor', () => {
  test.each([
    ['|select 1; select 2', 'select 1'],
    ['select| 1; select 2', 'select 1'],
    ['select 1|; select 2', 'select 1'],
    ['select 1;| select 2', 'select 1'],
    ['select 1; |select 2', 'select 2'],
    ['select 1; select 2|', 'select 2'],
    ['select 1;\n|\nselect 2', 'select 2'],
    ['select 1; -- said|\nselect 2', 'select 1'],
    ['select 1;\n-- above|\nselect 2', 'select 2'],
    ['select 1;\n\n|', 'select 1'],
    ['select 1;\n-- the end|', 'select 1'],
    ['|\n\nselect 1', 'select 1'],
    ["select ';|' ; select 2", "select ';'"],
    ['|', undefined],
    ['-- nothing|', undefined],
  ])('in %j is %j', (text, expected) => {
    expect(statementAtBar(text)).toBe(expected);
  });
});

describe('the mark of an error', () => {
  const marked = (text: string, index: number, position: number, engine: 'local' | 'tsdb' = 'local'): string => {
    const { from, to } = errorPlace(statementsOf(text)[index], position, engine);
    return `${from}:${text.slice(from, to)}`;
  };
  test.each([
    ['is the word at the position', 'select nope from t', 0, 7, 'local', '7:nope'],
    ['is in the second statement', 'select 1;\n selec 2', 1, 0, 'local', '11:selec'],
    ['counts characters of frames', "select '😀', nope", 0, 12, 'local', '13:nope'],
    ['counts UTF-16 units of the database', "select '😀', nope", 0, 13, 'tsdb', '13:nope'],
    ['is a whole name in quotes', 'select "no pe"', 0, 8, 'local', '7:"no pe"'],
    ['is the last word if the position is the end', 'select (1', 0, 9, 'local', '8:1'],
    ['is the next word if the position is a space', 'select  nope', 0, 7, 'local', '8:nope'],
    ['stays inside of the text', 'select 1', 0, 999, 'local', '7:1'],
  ] as const)('%s', (_name, text, index, position, engine, expected) => {
    expect(marked(text, index, position, engine)).toBe(expected);
  });
});
