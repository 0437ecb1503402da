import { describe, expect, test } from 'vitest';
import { selectBytes } from './conditions.ts';

const ETAG = '"01ABC"';
const BYTES = 100;

function select(headers: Readonly<Record<string, string>>, method = 'GET', bytes = BYTES): string {
  const selected = selectBytes({ method, header: (name) => headers[name] }, ETAG, bytes);
  return selected.kind === 'range' ? `${selected.range.start}..${selected.range.end}` : selected.kind;
}

describe('Range', () => {
  test.each([
    ['bytes=0-', '0..100'],
    ['bytes=0-0', '0..1'],
    ['bytes=0-99', '0..100'],
    ['bytes=0-100', '0..100'],
    ['bytes=99-', '99..100'],
    ['bytes=99-99', '99..100'],
    ['bytes=10-19', '10..20'],
    ['bytes=-1', '99..100'],
    ['bytes=-100', '0..100'],
    ['bytes=-101', '0..100'],
    ['bytes=-99999999999999999999999999', '0..100'],
    ['bytes=5-99999999999999999999999999', '5..100'],
    ['BYTES=10-19', '10..20'],
    [' bytes= 10-19 ', '10..20'],
    ['bytes=100-', 'not_satisfiable'],
    ['bytes=100-200', 'not_satisfiable'],
    ['bytes=99999999999999999999999999-', 'not_satisfiable'],
    ['bytes=-0', 'not_satisfiable'],
    ['bytes=20-10', 'whole'],
    ['bytes=200-100', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=', 'whole'],
    ['bytes', 'whole'],
    ['', 'whole'],
    ['bytes=a-b', 'whole'],
    ['bytes=0x1-5', 'whole'],
    ['bytes=1.5-5', 'whole'],
    ['bytes=--5', 'whole'],
    ['bytes=1-2-3', 'whole'],
    ['rows=0-5', 'whole'],
    ['bytes=0-1,4-5', 'whole'],
    ['bytes=0-1, -5', 'whole'],
  ])('%j of 100 bytes is %s', (range, selected) => {
    expect(select({ range })).toBe(selected);
  });

  test.each([
    ['bytes=0-', 'not_satisfiable'],
    ['bytes=-5', 'not_satisfiable'],
  ])('%j of no bytes is %s', (range, selected) => {
    expect(select({ range }, 'GET', 0)).toBe(selected);
  });

  test('counts only for GET', () => {
    expect(select({ range: 'bytes=0-5' }, 'HEAD')).toBe('whole');
  });
});

describe('conditions', () => {
  const range = 'bytes=0-4';
  test.each<[headers: Record<string, string>, selected: string]>([
    [{ 'if-match': ETAG }, 'whole'],
    [{ 'if-match': `"x", ${ETAG}`, range }, '0..5'],
    [{ 'if-match': '*', range }, '0..5'],
    [{ 'if-match': '"x"', range }, 'precondition_failed'],
    [{ 'if-match': `W/${ETAG}` }, 'precondition_failed'],
    [{ 'if-match': '01ABC' }, 'precondition_failed'],
    [{ 'if-match': '"x"', 'if-none-match': ETAG }, 'precondition_failed'],
    [{ 'if-none-match': ETAG }, 'not_modified'],
    [{ 'if-none-match': `"x",W/${ETAG}`, range }, 'not_modified'],
    [{ 'if-none-match': '*' }, 'not_modified'],
    [{ 'if-none-match': '"x"', range }, '0..5'],
    [{ 'if-match': ETAG, 'if-none-match': ETAG }, 'not_modified'],
    [{ 'if-range': ETAG, range }, '0..5'],
    [{ 'if-range': '"x"', range }, 'whole'],
    [{ 'if-range': `W/${ETAG}`, range }, 'whole'],
    [{ 'if-range': 'Wed, 21 Oct 2015 07:28:00 GMT', range }, 'whole'],
    [{ 'if-range': '"x"', range: 'bytes=100-' }, 'whole'],
    [{ 'if-range': ETAG }, 'whole'],
  ])('%o select %s', (headers, selected) => {
    expect(select(headers)).toBe(selected);
  });
});
