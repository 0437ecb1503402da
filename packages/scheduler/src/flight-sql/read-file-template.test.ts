import { describe, expect, test } from 'vitest';
import { parseReadFile } from './read-file-template.ts';

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
