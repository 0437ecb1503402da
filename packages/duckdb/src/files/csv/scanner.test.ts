import { expect, test } from 'vitest';
import { createCsvScanner, withoutByteOrderMark } from './text.ts';

const SIGNS = { text: 't', quote: 'q', delimiter: 'd', line_end: 'e' } as const;

test.each([
  ['a,b\n', [','], 'tdte'],
  ['a\r\nb', [','], 'teet'],
  ['"a,b",c', [','], 'qtttqdt'],
  ['"a\nb"', [','], 'qtttq'],
  ['"a""b"', [','], 'qtqttq'],
  ['"","', [','], 'qqdq'],
  [' "a,b"', [','], 'tqtttq'],
  ['5" a,"b"', [','], 'ttttdqtq'],
  ['a;b,"c;d"', [',', ';'], 'tdtdqtttq'],
  ['a||b|c', ['||'], 'ttdttt'],
  ['a|||"b"', ['||'], 'ttdtttt'],
  ['a§b', ['§'], 'ttdt'],
  ['a,b', [''], 'ttt'],
])('%j with the delimiters %j is %s', (text, delimiters, expected) => {
  const scanner = createCsvScanner(delimiters);
  const tokens = [...Buffer.from(text)].map((byte) => SIGNS[scanner.next(byte)]);
  expect(tokens.join('')).toBe(expected);
  expect(skippingTokens(text, delimiters)).toBe(expected);
});

test('text is skipped wherever a text may have it', () => {
  const characters = ['a', ' ', '"', ',', '|', '\n', '\r'];
  const count = characters.length ** 6;
  for (let number = 0; number < count; number += 7) {
    const text = Array.from({ length: 6 }, (_, i) => characters[Math.floor(number / characters.length ** i) % 7]).join(
      '',
    );
    for (const delimiters of [[','], ['||'], [' '], [',', '|']]) {
      const scanner = createCsvScanner(delimiters);
      const tokens = [...Buffer.from(text)].map((byte) => SIGNS[scanner.next(byte)]);
      if (skippingTokens(text, delimiters) !== tokens.join('')) expect.fail(`${JSON.stringify(text)} differs.`);
    }
  }
});

/** The tokens of a scanner that skips text. */
function skippingTokens(text: string, delimiters: readonly string[]): string {
  const scanner = createCsvScanner(delimiters);
  const bytes = Buffer.from(text);
  let tokens = '';
  while (tokens.length < bytes.length) {
    const at = scanner.skipText(bytes, tokens.length);
    tokens = tokens.padEnd(at, 't');
    const byte = bytes[at];
    if (byte !== undefined) tokens += SIGNS[scanner.next(byte)];
  }
  return tokens;
}

test.each([
  ['\uFEFFa', 'a'],
  ['\uFF41', '\uFF41'],
  ['a\uFEFF', 'a\uFEFF'],
  ['', ''],
])('%j without its byte order mark is %j', (text, rest) => {
  expect(Buffer.from(withoutByteOrderMark(Buffer.from(text))).toString()).toBe(rest);
});
