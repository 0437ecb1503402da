import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServerProcess, startProcess } from './server-process.ts';

let server: ServerProcess;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  server = await startProcess({ onEnd: (end) => void ends.push(end) });
});
afterAll(async () => {
  await Promise.all(ends.map((end) => end()));
});

const little = (text: string): Buffer => Buffer.from(text, 'utf16le');
const big = (text: string): Buffer => little(text).swap16();
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Puts a CSV file, and returns the types and rows of the frame, or the error. */
async function put(params: string, body: string | Uint8Array, contentType = 'text/csv'): Promise<unknown> {
  const headers = { 'content-type': contentType };
  const response = await server.fetch(`/frames/t?${params}`, { method: 'PUT', body, headers });
  if (!response.ok) {
    const { code, error, hint } = (await response.json()) as Record<string, string>;
    return { status: response.status, code, error, hint };
  }
  const { columns, dataset } = (await (await server.fetch('/exec?handle=t&fmt=json')).json()) as {
    columns: { name: string; type: string }[];
    dataset: unknown[];
  };
  return { types: columns.map(({ name, type }) => `${name}:${type}`).join(' '), rows: JSON.stringify(dataset) };
}

describe('null', () => {
  const BODY = 'a,b\nNA,"NA"\n,""\n-,-\n1,x\n';
  test.each([
    ['null=NA&null=-&null=', 'a:LONG b:STRING', '[[null,"NA"],[null,""],[null,null],[1,"x"]]'],
    ['null=NA', 'a:STRING b:STRING', '[[null,"NA"],["",""],["-","-"],["1","x"]]'],
    ['null=', 'a:STRING b:STRING', '[["NA","NA"],[null,""],["-","-"],["1","x"]]'],
    ['', 'a:STRING b:STRING', '[["NA","NA"],[null,""],["-","-"],["1","x"]]'],
  ])('%j names the texts that mean null, unless they are in quotes', async (params, types, rows) => {
    expect(await put(params, BODY)).toEqual({ types, rows });
  });

  test.each([
    ['null=a%2Cb', 'The text "a,b" cannot mean null in a CSV file.'],
    ['null=%22', 'The text "\\"" cannot mean null in a CSV file.'],
    ['null=a%0Ab', 'The text "a\\nb" cannot mean null in a CSV file.'],
    ['delimiter=;&null=%3B', 'The text ";" cannot mean null in a CSV file.'],
    [Array.from({ length: 101 }, (_, i) => `null=${i}`).join('&'), '101 texts for null are too many.'],
  ])('%.30j is refused', async (params, error) => {
    expect(await put(params, BODY)).toMatchObject({ status: 400, code: 'invalid_argument', error });
  });
});

describe('encoding', () => {
  const TEXT = 'é,b\n日本,😀\n';
  const TABLE = { types: 'é:STRING b:STRING', rows: '[["日本","😀"]]' };
  const WESTERN = { types: 'é:STRING b:STRING', rows: '[["ü","ß"]]' };
  test.each<[params: string, contentType: string, body: Uint8Array, expected: unknown]>([
    ['', 'text/csv', little(`\uFEFF${TEXT}`), TABLE],
    ['', 'text/csv', big(`\uFEFF${TEXT}`), TABLE],
    ['encoding=UTF-16', 'text/csv', little(`\uFEFF${TEXT}`), TABLE],
    ['encoding=utf-16le', 'text/csv', little(TEXT), TABLE],
    ['encoding=utf-16be', 'text/csv', big(TEXT), TABLE],
    ['', 'text/csv; charset=utf-16', big(`\uFEFF${TEXT}`), TABLE],
    ['', 'text/csv; charset=UTF-8; header=present', Buffer.from(TEXT), TABLE],
    ['', 'text/csv; charset="us-ascii"', Buffer.from(TEXT), TABLE],
    ['encoding=latin-1', 'text/csv', latin1('é,b\nü,ß\n'), WESTERN],
    ['encoding=latin1', 'text/csv; charset=utf-8', latin1('é,b\nü,ß\n'), WESTERN],
    ['', 'text/csv;charset=ISO-8859-1', latin1('é,b\nü,ß\n'), WESTERN],
    ['encoding=windows-1252', 'text/csv', latin1('a\n\x80\n'), { types: 'a:STRING', rows: '[["€"]]' }],
    ['encoding=latin-1', 'text/csv', latin1('a\n\x80\n'), { types: 'a:STRING', rows: '[["\x80"]]' }],
  ])('%j with the content type %j is read', async (params, contentType, body, expected) => {
    expect(await put(params, body, contentType)).toEqual(expected);
  });

  test.each<[params: string, contentType: string, body: Uint8Array, expected: unknown]>([
    [
      'encoding=koi8-r',
      'text/csv',
      Buffer.from(TEXT),
      {
        code: 'invalid_argument',
        error: 'encoding="koi8-r" is not supported.',
        hint: 'Send encoding= with one of: utf-8, utf-16, utf-16le, utf-16be, latin-1, windows-1252.',
      },
    ],
    [
      '',
      'text/csv; charset=koi8-r',
      Buffer.from(TEXT),
      { code: 'invalid_argument', error: 'The charset "koi8-r" of the Content-Type is not supported.' },
    ],
    [
      'encoding=utf-16',
      'text/csv',
      little('a\n1\n\uD800\n'),
      { error: 'Line 3 of the CSV file, byte 8: half of a surrogate pair is not UTF-16.' },
    ],
    [
      'encoding=windows-1252',
      'text/csv',
      latin1('a\n\x81\n'),
      { error: 'Line 2 of the CSV file, byte 2: the byte 81 is not Windows-1252.' },
    ],
    ['', 'text/csv', little(TEXT.slice(2)), { hint: 'If it is UTF-16, send ?encoding=utf-16.' }],
    [
      '',
      'text/csv',
      latin1('a,b\n1,2\n3,é\n'),
      { error: 'Line 3 of the CSV file is not UTF-8.', hint: expect.stringContaining('?encoding=') },
    ],
  ])('%j with the content type %j is refused', async (params, contentType, body, expected) => {
    expect(await put(params, body, contentType)).toMatchObject({
      status: 400,
      code: 'invalid_data',
      ...(expected as object),
    });
  });
});

describe('skip', () => {
  test.each([
    ['skip=2', 'Report "of today\n\na,b\n1,2\n'],
    ['skip=2', 'Report "of today\r\n\r\na,b\r\n1,2\r\n'],
    ['skip=1', '# a;b;c;d\na,b\n1,2\n'],
    ['skip=0', 'a,b\n1,2\n'],
    ['skip=3&header=false&columns=a,b', '1,2\n1,2\n1,2\n1,2\n'],
  ])('%s leaves out the lines before the header: %j', async (params, body) => {
    expect(await put(params, body)).toEqual({ types: 'a:LONG b:LONG', rows: '[[1,2]]' });
  });

  test.each([
    ['skip=1.5', 'invalid_argument', 'skip="1.5" is not a whole number from 0 to 2^53-1.'],
    ['skip=9', 'invalid_data', 'The CSV file has no line after the 9 lines to skip.'],
    ['skip=2', 'invalid_data', 'Line 5 of the CSV file has 1 values, but there are 2 columns.'],
  ])('%s is refused, and errors count the skipped lines', async (params, code, error) => {
    expect(await put(params, 'Report\n\na,b\n1,2\n3\n')).toMatchObject({ status: 400, code, error });
  });
});
