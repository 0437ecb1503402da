import { type EncodingRow, ENCODINGS, UPLOAD_FORMATS } from '@svc/frames';
import { expect, test } from 'vitest';
import {
  describeInputFormats,
  INPUT_FORMATS,
  OUTPUT_FORMATS,
  outputContentType,
  outputFormat,
  readInputName,
} from '../src/args/formats.ts';
import { handleOfFile } from '../src/args/input-options.ts';

test('the formats are those of the server', () => {
  expect(OUTPUT_FORMATS).toEqual(
    Object.entries<EncodingRow>(ENCODINGS).flatMap(([name, row]) => (row.out ? name : [])),
  );
  expect(INPUT_FORMATS).toEqual(UPLOAD_FORMATS);
});

test.each(UPLOAD_FORMATS.flatMap((format) => ENCODINGS[format].in.extensions.map((ext) => [ext, format] as const)))(
  'a file .%s is put as %s, and the help says so',
  (extension, format) => {
    expect(readInputName(`a.b.${extension.toUpperCase()}`)).toMatchObject({ format, stem: 'a.b' });
    expect(describeInputFormats().find((line) => line.includes(`.${extension}`))).toMatch(new RegExp(`^ +${format} `));
  },
);

test.each(OUTPUT_FORMATS)('the name that the server gives to %s is one for -o', (format) => {
  expect(outputFormat(`x.${ENCODINGS[format].out.extension}`)).toEqual({ kind: 'format', format });
});

test.each(OUTPUT_FORMATS)('%s is expected with the content type that the server sends', (format) => {
  expect(outputContentType(format)).toBe(ENCODINGS[format].out.contentType);
});

test.each(['x', '.json', 'x.', 'x.gz', '.gz', 'json', '-', ''])('%j implies no format', (name) => {
  expect(readInputName(name).format).toBeUndefined();
  expect(outputFormat(name)).toEqual({ kind: 'unknown' });
});

test.each([
  ['x.json.gz', 'json', 'gzip', undefined],
  ['x.CSV.GZ', 'csv', 'gzip', undefined],
  ['x.parquet.zst', 'parquet', 'zstd', undefined],
  ['x.tsv', 'csv', undefined, '\t'],
  ['x.tsv.gz', 'csv', 'gzip', '\t'],
])('%s is read as %s, compressed with %s, but not written', (name, format, contentEncoding, delimiter) => {
  expect(readInputName(`a/b/${name}`)).toEqual({ format, contentEncoding, delimiter, stem: 'x' });
  expect(outputFormat(name)).toMatchObject({ kind: 'only-read', format });
});

test.each([
  ['trades.csv', 'trades'],
  ['../data/trades.csv.gz', 'trades'],
  ['trades.2024-01.parquet', 'trades.2024-01'],
  ['My Trades (1).csv', 'My_Trades_1'],
  ['Größe & café.json', 'Gro_e_cafe'],
  ['_private.csv', 'private'],
  ['.hidden.csv', 'hidden'],
  ['日本 2024.csv', '2024'],
  ['data.tar', 'data.tar'],
  [`${'x'.repeat(200)}.csv`, 'x'.repeat(128)],
])('the handle of %s is %s', (file, handle) => {
  expect(handleOfFile(file)).toBe(handle);
});
