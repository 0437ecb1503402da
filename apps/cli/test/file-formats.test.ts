import { type EncodingRow, ENCODINGS, UPLOAD_FORMATS } from '@svc/frames';
import { expect, test } from 'vitest';
import {
  describeInputFormats,
  INPUT_FORMATS,
  inputFormat,
  OUTPUT_FORMATS,
  outputContentType,
  outputFormat,
} from '../src/args/file-formats.ts';

test('the formats are those of the server', () => {
  expect(OUTPUT_FORMATS).toEqual(
    Object.entries<EncodingRow>(ENCODINGS).flatMap(([name, row]) => (row.out ? name : [])),
  );
  expect(INPUT_FORMATS).toEqual(UPLOAD_FORMATS);
});

test.each(UPLOAD_FORMATS.flatMap((format) => ENCODINGS[format].in.extensions.map((ext) => [ext, format] as const)))(
  'a file .%s is put as %s, and the help says so',
  (extension, format) => {
    expect(inputFormat(`a.b.${extension.toUpperCase()}`)).toBe(format);
    expect(describeInputFormats().find((line) => line.includes(`.${extension}`))).toMatch(new RegExp(`^ +${format} `));
  },
);

test.each(OUTPUT_FORMATS)('the name that the server gives to %s is one for -o', (format) => {
  expect(outputFormat(`x.${ENCODINGS[format].out.extension}`)).toEqual({ kind: 'format', format });
});

test.each(OUTPUT_FORMATS)('%s is expected with the content type that the server sends', (format) => {
  expect(outputContentType(format)).toBe(ENCODINGS[format].out.contentType);
});

test.each(['x', '.json', 'x.', 'x.json.gz', 'json', '-', ''])('%j implies no format', (name) => {
  expect(inputFormat(name)).toBeUndefined();
  expect(outputFormat(name)).toEqual({ kind: 'unknown' });
});
