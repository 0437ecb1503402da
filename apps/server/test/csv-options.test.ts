import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.ts';
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
    ['encoding=utf-16', '', little(TEXT), TABLE],
    ['encoding=utf-16', 'application/octet-stream', gzipSync(little(TEXT)), TABLE],
    ['encoding=utf-8', '', Buffer.from('[1],b\nx,y\n'), { types: '[1]:STRING b:STRING', rows: '[["x","y"]]' }],
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
    ['skip=2', 'invalid_data', 'Line 5 of the CSV file has 1 value, but there are 2 columns.'],
  ])('%s is refused, and errors count the skipped lines', async (params, code, error) => {
    expect(await put(params, 'Report\n\na,b\n1,2\n3\n')).toMatchObject({ status: 400, code, error });
  });
});

describe('dateformat and timestampformat', () => {
  const FORMAT = 'dateformat=%25d/%25m/%25Y';
  for (const [options, cases] of byTier<[what: string, params: string, body: string, types: string, rows: string]>([
    [
      'all values',
      FORMAT,
      'd,x\n31/12/2024,a\n01/02/2024,b\n',
      'd:DATE x:STRING',
      '[["2024-12-31T00:00:00.000Z","a"],["2024-02-01T00:00:00.000Z","b"]]',
    ],
    ['days without their zero', FORMAT, 'd\n1/2/2024\n', 'd:DATE', '[["2024-02-01T00:00:00.000Z"]]'],
    [
      'dates of one column, and ISO dates of another',
      FORMAT,
      'd,e\n1/2/2024,2024-01-02\n,\n',
      'd:DATE e:DATE',
      '[["2024-02-01T00:00:00.000Z","2024-01-02T00:00:00.000Z"],[null,null]]',
    ],
    [
      'names of months in any letter case',
      'dateformat=%25d-%25b-%25Y',
      'd\n02-JAN-2024\n03-feb-2024\n',
      'd:DATE',
      '[["2024-01-02T00:00:00.000Z"],["2024-02-03T00:00:00.000Z"]]',
    ],
    ['digits only', 'dateformat=%25Y%25m%25d', 'd\n20240102\n', 'd:DATE', '[["2024-01-02T00:00:00.000Z"]]'],
    [
      'ISO dates read day-first',
      'dateformat=%25Y-%25d-%25m',
      'd\n2024-01-02\n',
      'd:DATE',
      '[["2024-02-01T00:00:00.000Z"]]',
    ],
    [
      'timestamps',
      'timestampformat=%25m/%25d/%25Y+%25I:%25M+%25p',
      't\n1/2/2024 3:04 PM\n12/31/2024 12:00 am\n',
      't:TIMESTAMP',
      '[["2024-01-02T15:04:00.000000Z"],["2024-12-31T00:00:00.000000Z"]]',
    ],
    [
      'nanoseconds',
      'timestampformat=%25d.%25m.%25Y+%25H:%25M:%25S.%25n',
      't\n02.01.2024 03:04:05.123456789\n',
      't:TIMESTAMP_NS',
      '[["2024-01-02T03:04:05.123456789Z"]]',
    ],
    [
      'a declared type',
      `${FORMAT}&columns=d:DATE,e:STRING`,
      'd,e\n01/02/2024,01/02/2024\n',
      'd:DATE e:STRING',
      '[["2024-02-01T00:00:00.000Z","01/02/2024"]]',
    ],
  ])) {
    test.each(cases)('give the type to %s', options, async (_, params, body, types, rows) => {
      expect(await put(params, body)).toEqual({ types, rows });
    });
  }

  for (const [options, cases] of byTier([
    ['a day that does not exist', '01/02/2024\n31/02/2024'],
    ['a year of two digits', '01/02/2024\n01/02/24'],
    ['another order', '01/02/2024\n12/31/2024'],
    ['an ISO date among them', '01/02/2024\n2024-01-02'],
    ['a word of DuckDB', 'infinity\nepoch'],
    ['spaces', '01/02/2024\n 01/02/2024'],
    ['a text after 25 000 rows', `${'01/02/2024\n'.repeat(25_000)}1.2.2024`],
  ])) {
    test.each(cases)('leave a column as text that has %s, and refuse it as a DATE', options, async (_, values) => {
      expect(await put(FORMAT, `d\n${values}\n`)).toMatchObject({ types: 'd:STRING' });
      const { length } = values.split('\n');
      const line = values.startsWith('infinity') ? 2 : length + 1;
      expect(await put(`${FORMAT}&columns=d:DATE`, `d\n${values}\n`)).toMatchObject({
        status: 400,
        code: 'invalid_data',
        error: expect.stringMatching(
          new RegExp(
            `^Line ${line} of the CSV file, column "d": ".*" is not of the type DATE in the format "%d/%m/%Y"\\.$`,
          ),
        ),
      });
    });
  }

  test('read the rows of an append in the types of the frame', async () => {
    await put('', 'd,t,x\n2024-01-02,2024-01-02T03:04:05Z,1\n');
    const params = `${FORMAT}&timestampformat=%25d/%25m/%25Y+%25H:%25M:%25S`;
    const response = await server.fetch(`/frames/t?${params}`, {
      method: 'POST',
      body: 'd,t,x\n3/1/2024,03/01/2024 04:05:06,2\n',
      headers: { 'content-type': 'text/csv' },
    });
    expect(response.status).toBe(200);
    expect(await (await server.fetch('/exp?handle=t')).text()).toBe(
      'd,t,x\r\n2024-01-02,2024-01-02T03:04:05.000000Z,1\r\n2024-01-03,2024-01-03T04:05:06.000000Z,2\r\n',
    );
  });

  test.each([
    ['dateformat=', 'dateformat="" does not have a year, month and day.'],
    ['dateformat=%25d/%25m', 'dateformat="%d/%m" does not have a year, month and day.'],
    ['dateformat=%25d/%25q/%25Y', 'dateformat="%d/%q/%Y" has the unknown specifier "%q".'],
    ['dateformat=%25d/%25m/%25', 'dateformat="%d/%m/%" has the unknown specifier "%".'],
    ['dateformat=%25d/%25m/%25Y+%25H', 'dateformat="%d/%m/%Y %H" has a time, which belongs in timestampformat.'],
    ['timestampformat=%25d/%25m/%25Y', 'timestampformat="%d/%m/%Y" does not have an hour.'],
    ['timestampformat=%25d/%25m/%25Y+%25I', 'timestampformat="%d/%m/%Y %I" must have %I and %p together.'],
    [`dateformat=%25d/%25m/%25Y${'x'.repeat(100)}`, / has a NUL character or more than 100 bytes\.$/],
  ])('%.40j is refused', async (params, error) => {
    expect(await put(params, 'a\n1\n')).toMatchObject({
      status: 400,
      code: 'invalid_argument',
      error: typeof error === 'string' ? error : expect.stringMatching(error),
    });
  });
});
