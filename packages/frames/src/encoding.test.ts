import { expect, test } from 'vitest';
import { recogniseFormat } from './encoding.ts';

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1');

test.each([
  ['Parquet', latin1('PAR1\x15\x04'), 'parquet'],
  ['an Arrow file', latin1('ARROW1\0\0'), 'arrow'],
  ['an Arrow stream', latin1('\xff\xff\xff\xff\x78\0\0\0'), 'arrow'],
  ['gzip', latin1('\x1f\x8b\x08'), 'gzip'],
  ['zstd', latin1('\x28\xb5\x2f\xfd'), 'zstd'],
  ['a skippable zstd frame', latin1('\x5a\x2a\x4d\x18'), 'zstd'],
  ['an array of objects', latin1(' \n[ {"a":1}]'), 'json'],
  ['an empty array', latin1('[]'), 'json'],
  ['an array of numbers', latin1('[1,2]'), 'json'],
  ['a byte order mark and an array', Buffer.from('\ufeff[{"a":1}]'), 'json'],
  ['an object', latin1('{"a":1}\n{"a":2}\n'), 'ndjson'],
  ['an empty object', latin1('{ }'), 'ndjson'],
  ['CSV', latin1('id,name\n1,a\n'), 'csv'],
  ['CSV in latin-1', latin1('id,n\xe4me\n1,a\n'), 'csv'],
  ['a name in brackets', latin1('[Date],[Price]\n'), 'csv'],
  ['a name in braces', latin1('{x},{y}\n'), 'csv'],
  ['one number', latin1('1'), 'csv'],
  ['UTF-16, little endian', Buffer.from('\ufeffid,name\n', 'utf16le'), 'csv'],
  ['UTF-16, big endian', Buffer.from('\ufeffid,name\n', 'utf16le').swap16(), 'csv'],
  ['JSON in UTF-16', Buffer.from('\ufeff[{"a":1}]', 'utf16le'), 'The body is JSON in UTF-16.'],
  ['xls', latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0'), 'The body is an Excel file (.xls), which cannot be read.'],
  [
    'xlsx',
    latin1('PK\x03\x04\x14\0\x06\0_rels/.rels\0xl/workbook.xml'),
    'The body is an Excel file (.xlsx), which cannot be read.',
  ],
  [
    'ods',
    latin1('PK\x03\x04\x14\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet'),
    'The body is a spreadsheet (.ods), which cannot be read.',
  ],
  ['ZIP', latin1('PK\x03\x04\x14\0trades.csv'), 'The body is a ZIP archive, which cannot be read.'],
  ['xz', latin1('\xfd7zXZ\0'), 'The body is compressed with xz, which cannot be read.'],
  [
    'docx',
    latin1('PK\x03\x04\x14\0\x06\0[Content_Types].xml'),
    'The body is an Office file, for example .xlsx, which cannot be read.',
  ],
  ['PDF', latin1('%PDF-1.7'), 'The body is a PDF file, which cannot be read.'],
  ['HTML', latin1('\n<!DOCTYPE html><p>404'), 'The body is HTML or XML, which cannot be read.'],
  [
    'a picture',
    latin1('\x89PNG\r\n\x1a\n\0\0'),
    'The body is neither text nor Parquet nor Arrow: it contains zero bytes.',
  ],
])('%s is recognised by its first bytes', (_, head, expected) => {
  const found = recogniseFormat(head);
  expect(found.kind === 'format' ? found.format : found.kind === 'compressed' ? found.coding : found.message).toBe(
    expected,
  );
});

test('the hint of an Excel file says how to export it', () => {
  expect(recogniseFormat(latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'))).toHaveProperty(
    'hint',
    expect.stringContaining('CSV UTF-8'),
  );
});
