import { expect, test } from 'vitest';
import { createCsvScanner, withoutByteOrderMark } from './csv-scanner.ts';

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
});

test.each([
  ['\uFEFFa', 'a'],
  ['\uFF41', '\uFF41'],
  ['a\uFEFF', 'a\uFEFF'],
  ['', ''],
])('%j without its byte order mark is %j', (text, rest) => {
  expect(Buffer.from(withoutByteOrderMark(Buffer.from(text))).toString()).toBe(rest);
});
