import { Schema } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { bindFrames, type Dialect, inParentheses, parseReadFile, withoutRows } from './bind-frames.ts';

const STANDARD: Dialect = { quote: '"', isNesting: true, isCaseSensitive: true };
const FLAT: Dialect = { ...STANDARD, isNesting: false };

function bind(sql: string, names: readonly string[], dialect: Dialect) {
  const frames = names.map((name) => ({
    name,
    handle: name,
    version: '1',
    rows: 1,
    uris: ['u'],
    schema: new Schema([]),
  }));
  return bindFrames(sql, frames, { readFile: parseReadFile("f('{uri}')"), dialect });
}

describe('bindFrames', () => {
  test.each([
    ['SELECT 1', ['a"b'], STANDARD, `WITH "a""b" AS (SELECT * FROM f('u')) (\nSELECT 1\n)`],
    ['SELECT 1', ['a`b'], { ...STANDARD, quote: '`' }, `WITH \`a\`\`b\` AS (SELECT * FROM f('u')) (\nSELECT 1\n)`],
    ['SELECT 1', [], STANDARD, '(\nSELECT 1\n)'],
    ['WITH a AS (b) SELECT 1', ['x'], STANDARD, `WITH "x" AS (SELECT * FROM f('u')) (\nWITH a AS (b) SELECT 1\n)`],
    ['WITH a AS (b) SELECT 1', ['x'], FLAT, `(\nWITH "x" AS (SELECT * FROM f('u')), a AS (b) SELECT 1\n)`],
    [
      '-- with\n/* c */ with\nrecursive a AS (b) SELECT 1',
      ['x'],
      FLAT,
      `(\n-- with\n/* c */ with\nrecursive "x" AS (SELECT * FROM f('u')), a AS (b) SELECT 1\n)`,
    ],
    ['WITHOUT', ['x'], FLAT, `WITH "x" AS (SELECT * FROM f('u')) (\nWITHOUT\n)`],
  ])('binds %j with %j', (sql, names, dialect, expected) => {
    expect(bind(sql, names, dialect).text).toBe(expected);
  });

  test('binds each spelling of a name, unless the engine ignores the case', () => {
    expect(bind('SELECT 1', ['t', 'T'], STANDARD).text).toMatch(/"t" AS .* "T" AS /);
    expect(bind('SELECT 1', ['t', 'T'], { ...STANDARD, isCaseSensitive: false }).text).not.toMatch(/"t" AS .* "T" AS /);
  });
});

test('a statement of comments is bound without a long wait', () => {
  const comments = '/**/'.repeat(28);
  const start = performance.now();
  expect(bind(`${comments} SELECT 1`, ['x'], FLAT).text).toContain(`${comments} SELECT 1`);
  expect(performance.now() - start).toBeLessThan(500);
  const sql = `${'/**/'.repeat(120_000)}WITH ${'/* * */'.repeat(70_000)}a AS (SELECT 1) SELECT 1`;
  expect(bind(sql, ['x'], FLAT).text).toContain('WITH "x" AS');
});

describe('positions', () => {
  const sql = "WITH a AS (SELECT '🙂') SELECT here";
  const place = Array.from(sql.slice(0, sql.indexOf('here'))).length;

  test.each([
    ['in parentheses', inParentheses(sql)],
    ['after frames', bind(sql, ['x'], STANDARD)],
    ['between frames', bind(sql, ['x'], FLAT)],
    ['under limit 0', withoutRows(bind(sql, ['x'], STANDARD))],
  ])('%s are those of the statement', (_where, { text, placeIn }) => {
    const at = Array.from(text.slice(0, text.indexOf('here'))).length;
    expect(placeIn(at)).toBe(place);
    expect(placeIn(Array.from(text).length)).toBeUndefined();
  });

  test('of the frames are none of the statement, and those before them are', () => {
    const { text, placeIn } = bind(sql, ['x'], FLAT);
    expect(placeIn(text.indexOf('f(') + 1)).toBeUndefined();
    expect(placeIn(text.indexOf('WITH'))).toBe(0);
  });
});

describe('a template', () => {
  test.each([
    ["read_parquet('{uri}')", "s3://b/o'x", "read_parquet('s3://b/o''x')"],
    ['parquet.`{uri}`', 'file:///a`b', 'parquet.`file:///a``b`'],
    ["s3('{uri}', 'Parquet')", 's3://b/x', "s3('s3://b/x', 'Parquet')"],
    ["f('it''s', \"{uri}\")", 'a"b', 'f(\'it\'\'s\', "a""b")'],
  ])('%s reads %s by %s', (template, uri, expected) => {
    expect(parseReadFile(template)(uri)).toBe(expected);
  });

  test.each(['read_parquet()', 'read_parquet({uri})', "f('{uri}', '{uri}')", "f('a', {uri})", "f('{uri})"])(
    '%s is invalid_argument',
    (template) => {
      expect(() => parseReadFile(template)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
    },
  );

  test('does not read a location with a backslash', () => {
    const read = parseReadFile("f('{uri}')");
    expect(() => read(String.raw`a\' OR 1`)).toThrow(expect.objectContaining({ code: 'scheduler_failed' }));
  });
});
