import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseQueryString } from './query-string.ts';

describe('parseQueryString', () => {
  test.each<[target: string, params: [string, string][]]>([
    ['/exec', []],
    ['/exec?', []],
    ['/exec?a', [['a', '']]],
    ['/exec?a=', [['a', '']]],
    [
      '/exec?&a=1&&b=2&',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    ['/exec?a=1=2', [['a', '1=2']]],
    ['/exec?a=b+c%20d%2B', [['a', 'b c d+']]],
    ['/exec?%61=1', [['a', '1']]],
    ['/exec?a=%C3%A9', [['a', 'é']]],
    ['/exec?a=1#b=2', [['a', '1']]],
    ['/exec?a=?b', [['a', '?b']]],
    ['http://h:1/exec?a=1', [['a', '1']]],
  ])('%s', (target, params) => {
    expect(parseQueryString(target)).toEqual(params);
  });

  test.each(['%', '%z', '%zz', '%4', 'a%', '%FF', '%C3', '%C3%28', '%ED%A0%80'])('refuses %j', (text) => {
    for (const target of [`/exec?a=${text}`, `/exec?${text}=a`]) {
      expect(() => parseQueryString(target)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
    }
  });

  test('decodes everything that encodeURIComponent encodes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ unit: 'grapheme' }), (name, value) => {
        expect(parseQueryString(`/?${encodeURIComponent(name)}=${encodeURIComponent(value)}`)).toEqual([[name, value]]);
      }),
    );
  });
});
