import type { CsvEncoding, CsvOptions } from '@svc/frames';
import { describe, expect, test } from 'vitest';
import { csvText } from './text.ts';

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** The text of an upload that arrives in chunks of `size` bytes. */
async function textOf(bytes: Uint8Array, options: CsvOptions, size: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of csvText(inChunks(bytes, size), options)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** A character boundary falls into every place of a chunk of one of these sizes. */
const SIZES = [1, 2, 3, 5, 7, 1000];

const little = (text: string): Buffer => Buffer.from(text, 'utf16le');
const big = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
const TEXT = 'a,é,日本\n😀,𝄞x,\r\n';

describe('an upload', () => {
  test.each<[string, Uint8Array, CsvEncoding | undefined, string]>([
    ['UTF-8', Buffer.from(TEXT), undefined, TEXT],
    ['UTF-8 by name', Buffer.from(TEXT), 'utf-8', TEXT],
    ['UTF-16 with its mark', little(`\uFEFF${TEXT}`), undefined, TEXT],
    ['UTF-16, big endian, with its mark', big(`\uFEFF${TEXT}`), undefined, TEXT],
    ['UTF-16 by name with its mark', little(`\uFEFF${TEXT}`), 'utf-16', TEXT],
    ['UTF-16 by name, big endian, with its mark', big(`\uFEFF${TEXT}`), 'utf-16', TEXT],
    ['UTF-16 by name without a mark', little(TEXT), 'utf-16', TEXT],
    ['UTF-16 by name, big endian, without a mark', big(TEXT), 'utf-16', TEXT],
    ['UTF-16 that starts with a Chinese character', little(`日,${TEXT}`), 'utf-16', `日,${TEXT}`],
    ['little endian', little(`日,${TEXT}`), 'utf-16le', `日,${TEXT}`],
    ['big endian', big(`日,${TEXT}`), 'utf-16be', `日,${TEXT}`],
    ['big endian with its mark', big(`\uFEFF日`), 'utf-16be', '日'],
    ['ISO 8859-1', Buffer.from('a,é,\x80\xff\n', 'latin1'), 'latin-1', 'a,é,\x80\xff\n'],
    ['Windows-1252', Buffer.from('a,é,\x80\x8a\x93\x9f\xff\n', 'latin1'), 'windows-1252', 'a,é,€Š“Ÿÿ\n'],
    ['UTF-8 with a NUL character after the start', Buffer.from('name\na\0b\n'), undefined, 'name\na\0b\n'],
    ['no bytes', Buffer.of(), undefined, ''],
    ['one byte', Buffer.from('a'), undefined, 'a'],
    ['one character of UTF-16', little('a'), 'utf-16', 'a'],
    ['only a byte order mark', little('\uFEFF'), undefined, ''],
  ])('in %s is read in chunks of any size', async (_, bytes, encoding, expected) => {
    for (const size of SIZES) {
      expect(await textOf(bytes, encoding === undefined ? {} : { encoding }, size)).toBe(expected);
    }
  });

  test.each<[string, Uint8Array, CsvEncoding | undefined, string]>([
    ['half of a pair', little('a\nb\uD800c\n'), 'utf-16', 'Line 2 of the CSV file, byte 6: half of a surrogate pair'],
    ['the other half', big('a\nb\uDC00c\n'), 'utf-16', 'Line 2 of the CSV file, byte 6: half of a surrogate pair'],
    [
      'an odd byte',
      Buffer.concat([little('a\n'), Buffer.of(65)]),
      'utf-16',
      'Line 2 of the CSV file, byte 4: the file',
    ],
    ['half of a pair at its end', little('a\uD800'), 'utf-16', 'Line 1 of the CSV file, byte 2: the file ends inside'],
    [
      'a byte without a character',
      Buffer.from('a\nb\x9d\n', 'latin1'),
      'windows-1252',
      'Line 2 of the CSV file, byte 3: the byte 9D is not Windows-1252.',
    ],
    ['UTF-16 without a mark', little('a,b\n'), undefined, 'Line 1 of the CSV file is not UTF-8 text'],
    ['UTF-16 without a mark, big endian', big('a,b\n'), undefined, 'Line 1 of the CSV file is not UTF-8 text'],
    ['UTF-32', Buffer.of(0xff, 0xfe, 0, 0, 97, 0, 0, 0), undefined, 'Line 1 of the CSV file is not UTF-8 text'],
  ])('with %s is refused', async (_, bytes, encoding, message) => {
    for (const size of SIZES) {
      await expect(textOf(bytes, encoding === undefined ? {} : { encoding }, size)).rejects.toMatchObject({
        code: 'invalid_data',
        message: expect.stringContaining(message),
      });
    }
  });

  test.each([
    ['Title, "open\nThe rest\na,b\n1,2\n', 2, 'a,b\n1,2\n'],
    ['Title, "open\r\nThe rest\r\na,b\r\n', 2, 'a,b\r\n'],
    ['Title\rThe rest\ra,b\r', 2, 'a,b\r'],
    ['\n\na,b\n', 2, 'a,b\n'],
    ['\r\n\r\n\na', 2, '\na'],
    ['\uFEFFTitle\na', 1, 'a'],
    ['a\n', 0, 'a\n'],
  ])('%j without the first %i lines is %j', async (text, skip, expected) => {
    for (const size of SIZES) expect(await textOf(Buffer.from(text), { skip }, size)).toBe(expected);
  });

  test('in UTF-16 can have lines to skip', async () => {
    for (const size of SIZES) expect(await textOf(little('\uFEFFTitle\r\na'), { skip: 1 }, size)).toBe('a');
  });

  test.each([
    ['a\nb\n', 2],
    ['a\nb', 2],
    ['a\r\n', 1],
    ['', 1],
  ])('%j has no line after %i lines', async (text, skip) => {
    for (const size of SIZES) {
      await expect(textOf(Buffer.from(text), { skip }, size)).rejects.toMatchObject({
        code: 'invalid_data',
        message: `The CSV file has no line after the ${skip} lines to skip.`,
      });
    }
  });
});
