import { writeFile } from 'node:fs/promises';
import { columnInfo, type CsvOptions } from '@svc/frames';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCsvHead } from '../../src/files/csv/dialect.ts';
import { createFilesFixture, type FilesFixture, textOf } from '../../src/testing/files-fixture.ts';
import { byTier } from '../../../../test/tier.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await createFilesFixture();
  await fixture.files.warm();
});
afterAll(() => fixture.close());

async function convert(body: string | Uint8Array, options: CsvOptions = {}): Promise<{ types: string; rows: string }> {
  const path = fixture.path();
  await writeFile(path, body);
  const target = fixture.path();
  const written = await fixture.files.convert({ kind: 'csv', path, ...options }, target, {
    compression: 'zstd',
    level: 1,
  });
  const types = written.schema.fields.map((field) => `${field.name}:${columnInfo(field).type}`).join(' ');
  return { types, rows: await textOf(fixture.files.read({ kind: 'parquet', path: target }, written)) };
}

/** Puts a line after more good lines than DuckDB's sniffer reads. */
function afterManyLines(line: string): string {
  return `a,b\n${Array.from({ length: 30_000 }, (_, i) => `${i},x${i}\n`).join('')}${line}\n`;
}

describe('a CSV file', () => {
  test('gets its types from its values; an empty value is null, a quoted empty value is a string', async () => {
    expect(await convert('id,name,at\n1,a,2024-01-02 03:04:05\n2,"",\n3,,2024-01-02\n')).toEqual({
      types: 'id:LONG name:STRING at:TIMESTAMP',
      rows:
        '{"id":1,"name":"a","at":"2024-01-02T03:04:05.000000Z"}\n' +
        '{"id":2,"name":"","at":null}\n{"id":3,"name":null,"at":"2024-01-02T00:00:00.000000Z"}\n',
    });
  });

  test('is read with the dialect, names and types that are given', async () => {
    const columns = [
      { name: 'x', type: 'long' },
      { name: 'y', type: 'SYMBOL' },
      { name: 'z', type: 'DECIMAL(5,2)' },
      { name: 'w' },
    ];
    expect(await convert('1;2;3;a,b\n4;5;6;c\n', { header: false, delimiter: ';', columns })).toEqual({
      types: 'x:LONG y:SYMBOL z:DECIMAL(5,2) w:STRING',
      rows: '{"x":1,"y":"2","z":"3.00","w":"a,b"}\n{"x":4,"y":"5","z":"6.00","w":"c"}\n',
    });
  });

  test.each(['a,b,a\n1,2,3\n', '"a",b,a\n1,2,3\n', 'a,a,a\n'])('with a duplicate name is refused: %j', async (body) => {
    await expect(convert(body)).rejects.toMatchObject({
      code: 'invalid_data',
      message: 'The CSV file has two columns with the name "a".',
    });
  });

  test('keeps names that differ only in case, look numbered, or are missing', async () => {
    expect(await convert('a,A,a_1,\n1,2,3,4\n')).toMatchObject({ types: 'a:LONG A:LONG a_1:LONG column3:LONG' });
  });

  test('keeps names that differ only in case, however long the header is', async () => {
    const names = [...Array.from({ length: 80 }, (_, i) => `${i}`.padStart(1000, 'x')), 'a', 'A'];
    const { types } = await convert(`${names.join(',')}\n${names.map(() => '1').join(',')}\n`);
    expect(types.split(' ').slice(-2)).toEqual(['a:LONG', 'A:LONG']);
  });

  test.each([
    ['texts', 'a,b\nc,d\n', 'a:STRING b:STRING'],
    ['texts, some missing', ',a,\n1,x,y\n', 'column0:LONG a:STRING column2:STRING'],
    ['a text over numbers', '1,b\n1,2\n', '1:LONG b:LONG'],
    ['a date over numbers', 'x,2024-01-02\ny,5\n', 'x:STRING 2024-01-02:LONG'],
    ['a text and years', 'country,2019,2020\nFrance,1.5,2.5\n', 'country:STRING 2019:DOUBLE 2020:DOUBLE'],
    ['a text and years in quotes', '"country","2015","2020"\n"France",1,2\n', 'country:STRING 2015:LONG 2020:LONG'],
    ['a text and a year', 'city,2024\nRome,7\n', 'city:STRING 2024:LONG'],
    ['a text and numbers that count up', 'name,1,2,3\nx,1,2,3\n', 'name:STRING 1:LONG 2:LONG 3:LONG'],
    ['the names of an index of pandas', ',0\n0,1.5\n1,2.5\n', 'column0:LONG 0:DOUBLE'],
  ])('has a header if its first line has %s', async (_, body, types) => {
    expect(await convert(body)).toMatchObject({ types });
  });

  test.each([
    ['numbers', '2019,2020\n1.5,2.5\n'],
    ['numbers that count up', '1,2,3\n4,5,6\n'],
    ['a text and a number', 'x,7\ny,8\n'],
    ['a text and numbers that do not count up', 'x,10,20\ny,11,21\n'],
    ['a text and decimals', 'x,1.5,2.5\ny,3.5,4.5\n'],
    ['a date and a text', '2024-01-02,x\n2024-01-03,y\n'],
    ['a boolean', 'true,x\nfalse,y\n'],
    ['nothing but nulls', ',\n1,2\n'],
  ])('has no header if its first line has %s like those below', async (_, body) => {
    const { types, rows } = await convert(body);
    expect(types).toMatch(/^column0:/);
    expect(rows.split('\n')).toHaveLength(body.split('\n').length);
  });

  test.each([
    ['a declared type that a value does not fit', 'x,7\n8,9\n', [{ name: 'p', type: 'LONG' }, { name: 'q' }], 1],
    ['declared types that all values fit', '7,x\n8,y\n', [{ name: 'p', type: 'STRING' }, { name: 'q' }], 2],
    ['names, and a year in its first line', 'x,2024\ny,7\n', [{ name: 'p' }, { name: 'q' }], 2],
  ])('with %s has the rows below its header, if any', async (_, body, columns, count) => {
    expect((await convert(body, { columns })).rows.split('\n')).toHaveLength(count + 1);
  });

  test('may begin with a byte order mark and a name in quotes', async () => {
    expect(await convert('\uFEFF"a;b;c",d\n1,2\n')).toMatchObject({ types: 'a;b;c:LONG d:LONG' });
  });

  const quotes = [
    ['names', 'id,5" pipe,6" pipe\n'],
    ['a name', 'id,5" pipe\n'],
    ['a name before the first delimiter', '5" pipe,id\n'],
  ] as const;
  for (const [options, headers] of byTier(quotes)) {
    test.each(headers)('may have a quote inside %s that is not quoted', options, async (_, header) => {
      const line = header.replaceAll(/[^,\n]+/g, '1');
      const names = header.trim().split(',');
      const { types, rows } = await convert(header + line.repeat(600_000));
      expect(types).toBe(names.map((name) => `${name}:LONG`).join(' '));
      expect(rows.slice(0, rows.indexOf('\n'))).toBe(
        JSON.stringify(Object.fromEntries(names.map((name) => [name, 1]))),
      );
    });
  }

  test.each([
    ['20190 columns', `${'123456,'.repeat(20_189)}1\n1\n`, /^The CSV file has more than 5000 columns/],
    ['one column too many', `${'a,'.repeat(5000)}a\n`, /^The CSV file has more than 5000 columns/],
    ['as many after a quote', `5" pipe${',1'.repeat(20_189)}\n1\n`, /^The CSV file has more than 5000 columns/],
    ['a million delimiters', ';'.repeat(1_000_000), /^The CSV file has more than 5000 columns/],
  ])('with %s is refused by its first line', async (_, body, message) => {
    await expect(convert(body)).rejects.toMatchObject({
      code: 'invalid_data',
      message: expect.stringMatching(message),
    });
  });

  test.each([
    ['millions of delimiters', 'a,'.repeat(2_000_000), /^The CSV file has more than 5000 columns/],
    ['no line feed', 'a'.repeat(33_000_000), /^Line 1 of the CSV file is too long: .* 32000000 bytes/],
    ['an unterminated quote', `"${'a\n'.repeat(2_000_000)}`, /^Line 1 of the CSV file has an unterminated quote/],
  ])('that is long, with %s, is refused by its first line', { tags: ['slow'] }, async (_, body, message) => {
    await expect(convert(body)).rejects.toMatchObject({
      code: 'invalid_data',
      message: expect.stringMatching(message),
    });
  });

  test('may have thousands of columns', { tags: ['slow'] }, async () => {
    const names = Array.from({ length: 3000 }, (_, i) => `c${i}`);
    const text = `${names.join(',')}\n${names.map((_, i) => i).join(',')}\n`;
    const path = fixture.path();
    await writeFile(path, text);
    const { schema, rows } = await fixture.files.convert({ kind: 'csv', path }, fixture.path(), {
      compression: 'zstd',
    });
    expect([schema.names, rows]).toEqual([names, 1]);
  });

  const LINE_ENDS: [name: string, body: string, texts?: string[]][] = [
    ['CR LF and LF', 'a,b\r\n1,x\n2,y\r\n'],
    ['LF, and CR LF after many', `a,b\n${'1,x\n'.repeat(60_000)}2,y\r\n3,z\n`],
    ['CR LF, and LF after many', `a,b\r\n${'1,x\r\n'.repeat(60_000)}2,y\n3,z\r\n`],
    ['LF and CR LF', 'a,b\n1,x\r\n2,y\n'],
    ['LF and CR', 'a,b\n1,x\r2,y\n'],
    ['CR LF and LF, with both in quotes', 'a,b\r\n1,"x\n\r\ny"\n2,"\r"\r\n', ['x\n\r\ny', '\r']],
    ['CR LF and LF, in one column', 'b\r\nx\ny\r\n'],
  ];
  for (const [options, ends] of byTier(LINE_ENDS)) {
    test.each(ends)('may have lines that end with %s', options, async (_, body, texts = body.match(/[x-z]/g) ?? []) => {
      for (const csv of [{}, { header: true, delimiter: ',' }]) {
        const { rows } = await convert(body, csv);
        const lines = rows.split('\n').slice(0, -1);
        expect(lines.map((line) => (JSON.parse(line) as { b: string }).b)).toEqual(texts);
      }
    });
  }

  test.each([
    ['a,b\n1,x\r\n2,y\n', 'Line 2 of the CSV file ends with CR LF, but line 1 with LF.'],
    ['a,b\r\n1,"x\n"\r\n2,y', undefined],
    ['a,b\r\n1,"x\n"\r\n2,y\r3,z\r\n', 'Line 4 of the CSV file ends with CR, but line 1 with CR LF.'],
    ['Report\na,b\n1,2\n', 'Line 2 of the CSV file has 2 values, but there is 1 column.'],
  ])('in place must have lines that match: %j', async (body, message) => {
    const path = fixture.path();
    await writeFile(path, body);
    const [info] = await fixture.files.describe([{ kind: 'csv', path }]);
    if (message === undefined) expect(info).toMatchObject({ rows: 2 });
    else expect(info).toMatchObject({ code: 'invalid_data', message });
  });

  test.each([
    ['\n\na,b\n\n1,2\n\n3,4\n\n', '{"a":1,"b":2}\n{"a":3,"b":4}\n'],
    ['\r\n\r\na,b\r\n1,2\r\n', '{"a":1,"b":2}\n'],
    ['\n1,x\n2,y\n', '{"column0":1,"column1":"x"}\n{"column0":2,"column1":"y"}\n'],
    ['\n\na\n1\n\n3\n', '{"a":1}\n{"a":null}\n{"a":3}\n'],
  ])('may have empty lines, which hold nulls only below a single column: %j', async (body, rows) => {
    expect(await convert(body)).toMatchObject({ rows });
  });

  test('may have long lines', async () => {
    const text = 'x'.repeat(3_000_000);
    expect(await convert(`a,b\n1,${text}\n2,y\n`)).toMatchObject({
      rows: `{"a":1,"b":"${text}"}\n{"a":2,"b":"y"}\n`,
    });
    expect(await convert(`a,b\n1,y\n2,${text}`)).toMatchObject({
      rows: `{"a":1,"b":"y"}\n{"a":2,"b":"${text}"}\n`,
    });
  });

  test('with only a header has columns and no rows', async () => {
    expect(await convert('a,b\n')).toEqual({ types: 'a:STRING b:STRING', rows: '' });
  });

  test('can be read in place', async () => {
    const path = fixture.path();
    await writeFile(path, 'id,name\n1,a\n2,b\n3,c\n');
    const source = { kind: 'csv', path } as const;
    const info = await fixture.describe(source);
    expect(info).toMatchObject({ rows: 3, isForeign: true });
    expect(await textOf(fixture.files.read(source, info, { offset: 1, limit: 1, columns: [1] }))).toBe(
      '{"name":"b"}\n',
    );
  });

  const columns = [
    { name: 'x', type: 'LONG' },
    { name: 'y', type: 'LONG' },
  ];
  test.each<[string, string | Uint8Array, CsvOptions, string]>([
    [
      'a value that is not of its declared type',
      afterManyLines('oops,7'),
      { columns: [{ name: 'a', type: 'LONG' }, { name: 'b' }] },
      'Line 30002 of the CSV file, column "a": "oops" is not of the type LONG.',
    ],
    [
      'a line with too few values',
      afterManyLines('1'),
      {},
      'Line 30002 of the CSV file has 1 value, but there are 2 columns.',
    ],
    [
      'a line with too many values',
      afterManyLines('1,2,3'),
      {},
      'Line 30002 of the CSV file has 3 values, but there are 2 columns.',
    ],
    ['an unterminated quote', afterManyLines('1,"abc'), {}, 'Line 30002 of the CSV file has an unterminated quote.'],
    [
      'bytes that are not UTF-8',
      Buffer.concat([Buffer.from(afterManyLines('1,2')), Buffer.of(0x31, 0x2c, 0xff, 10)]),
      {},
      'Line 30003 of the CSV file is not UTF-8.',
    ],
    [
      'a value that is not of the named type',
      '1,b\n',
      { header: false, columns },
      'Line 1 of the CSV file, column "y": "b" is not of the type LONG.',
    ],
    [
      'more columns than were named',
      '1,2,3\n',
      { header: false, columns },
      'The CSV file has 3 columns, but 2 were named.',
    ],
    [
      'an early line with too many values',
      'a,b\n1,2\n3,4,5\n',
      {},
      'Line 3 of the CSV file has 3 values, but there are 2 columns.',
    ],
    [
      'an early line with too few values',
      'a,b\r\n"x\ny",2\r\n3\r\n',
      {},
      'Line 4 of the CSV file has 1 value, but there are 2 columns.',
    ],
    [
      'a line with too many values after a quote inside a value',
      'a,b\n5" pipe,2\n3,4,5\n',
      {},
      'Line 3 of the CSV file has 3 values, but there are 2 columns.',
    ],
    [
      'a line with too many values between delimiters of two bytes',
      'a§b\n1§2\n3§4§5\n',
      { delimiter: '§' },
      'Line 3 of the CSV file has 3 values, but there are 2 columns.',
    ],
    ['an early unterminated quote', 'a,b\nx,"open\n3,4\n', {}, 'Line 2 of the CSV file has an unterminated quote.'],
    [
      'a title above the header',
      'Report of today\n\na,b\n1,2\n',
      {},
      'Line 3 of the CSV file has 2 values, but there is 1 column.',
    ],
    [
      'a comment above the header',
      '# note\na,b\n1,2\n',
      {},
      'Line 2 of the CSV file has 2 values, but there is 1 column.',
    ],
    ['no bytes', '', {}, 'The CSV file is empty.'],
    ['only line ends', '\n\r\n\n', {}, 'The CSV file has only empty lines.'],
    [
      'a short line after empty ones',
      '\n\na,b\n\n1,2\n3\n',
      {},
      'Line 6 of the CSV file has 1 value, but there are 2 columns.',
    ],
    [
      'a value that does not fit after empty lines',
      '\n\na\n\nx\n',
      { header: true, columns: [{ name: 'a', type: 'LONG' }] },
      'Line 5 of the CSV file, column "a": "x" is not of the type LONG.',
    ],
    [
      'a line that is too long',
      `a,b\n1,x\n2,${'x'.repeat(33_000_000)}\n`,
      {},
      'The CSV file has a line of more than 32000000 bytes.',
    ],
    [
      // DuckDB drops such a line.
      'a last line without a line end that is too long',
      `${'1,x\n'.repeat(1000)}2,${'x'.repeat(33_000_000)}`,
      {},
      'The last line of the CSV file is too long: it is longer than 32000000 bytes.',
    ],
    [
      'bytes of something else',
      Uint8Array.from({ length: 3000 }, (_, i) => 128 + ((i * 79) % 128)),
      {},
      'Line 1 of the CSV file is not UTF-8.',
    ],
  ])('with %s is refused', async (_, body, options, message) => {
    const error: unknown = await convert(body, options).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_data', message });
    expect(JSON.stringify(error)).not.toContain(fixture.folder);
  });

  test.each(['# note\na,b\n1,2\n', afterManyLines('1,2,3')])(
    'with a line of another length gets a hint about lines to skip',
    async (body) => {
      await expect(convert(body)).rejects.toMatchObject({ hint: expect.stringContaining('?skip=') });
    },
  );

  test.each([
    ['a,b\n1,2\n', ','],
    ['a;b\n1,5;2\n', ';'],
    ['a\tb\n', '\t'],
    ['a|b|c,d\n', '|'],
    ['"a;b;c",d\n', ','],
    ['a,  "b;c;d"\n', ','],
    ['"a""b;c;d",e\n', ','],
    ['5" pipe,b;c;d\n', ';'],
    ['a,5"" pipe,b;c;d;e\n', ';'],
    ['a\n1,2,3\n', ','],
  ])('%j has the delimiter %j', async (text, delimiter) => {
    const path = fixture.path();
    await writeFile(path, text);
    expect(await readCsvHead(path)).toMatchObject({ delimiter });
  });

  test.each<[string, CsvOptions]>([
    ['an unknown type', { columns: [{ name: 'a', type: 'FOO' }] }],
    ['a decimal of too many digits', { columns: [{ name: 'a', type: 'DECIMAL(39,2)' }] }],
    ['a name that is empty', { columns: [{ name: '' }] }],
    ['a delimiter that is a new line', { delimiter: '\n' }],
    ['a delimiter that is empty', { delimiter: '' }],
  ])('cannot be declared to have %s', async (_, options) => {
    await expect(convert('a\n1\n', options)).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});
