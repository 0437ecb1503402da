import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ServiceError } from '@svc/errors';
import { describe, expect, test } from 'vitest';
import type { ContentCoding } from '../encoding.ts';
import { decompressBody, decompressPortably, zstdUnits } from './decompress-body.ts';

/** Returns a zstd frame of raw blocks, without a checksum. */
function zstdFrame(content: string, blockBytes = content.length > 1000 ? 100_000 : 7): Buffer {
  const bytes = Buffer.from(content);
  const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])];
  for (let at = 0; at === 0 || at < bytes.length; at += blockBytes) {
    const block = bytes.subarray(at, at + blockBytes);
    const word = (block.length << 3) | (at + blockBytes >= bytes.length ? 1 : 0);
    parts.push(Buffer.from([word & 255, (word >> 8) & 255, word >> 16]), block);
  }
  return Buffer.concat(parts);
}

/** `zstd --check` of "hello hello hello hello hello hello hello hello\n": a compressed block and a checksum. */
const CHECKED = Buffer.from('28b52ffd04586d00003868656c6c6f200a0100029522f19b5515', 'hex');
const SKIPPABLE = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

const COMPRESS: Readonly<Record<ContentCoding, (text: string) => Buffer>> = { gzip: gzipSync, zstd: zstdFrame };

async function* chunksOf(bytes: Uint8Array, chunkBytes: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const found: Uint8Array[] = [];
  for await (const chunk of chunks) found.push(chunk);
  return Buffer.concat(found).toString();
}

const decompressed = (coding: ContentCoding, bytes: Uint8Array, chunkBytes = Infinity, maxBytes = Infinity) =>
  textOf(decompressBody(chunksOf(bytes, Math.min(chunkBytes, bytes.length + 1)), coding, { maxBytes }));

async function failureOf(result: Promise<unknown>): Promise<string> {
  const error: unknown = await result.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof ServiceError ? `${error.code}: ${error.message}` : String(error);
}

describe.each(['gzip', 'zstd'] as const)('%s', (coding) => {
  const [one, two] = [COMPRESS[coding]('one\n'), COMPRESS[coding]('two\n')];

  test.each([1, 2, 3, 5, 8, 13, Infinity])(
    'is decompressed from chunks of %s bytes, and so are two in a row',
    async (n) => {
      expect(await decompressed(coding, one, n)).toBe('one\n');
      expect(await decompressed(coding, Buffer.concat([one, two]), n)).toBe('one\ntwo\n');
    },
  );

  test('without content is empty', async () => {
    expect(await decompressed(coding, COMPRESS[coding](''))).toBe('');
  });

  test('that ends too early is invalid at every byte', async () => {
    for (let bytes = 1; bytes < one.length; bytes++) {
      const failure = await failureOf(decompressed(coding, one.subarray(0, bytes)));
      expect(`${bytes} ${failure}`).toBe(`${bytes} invalid_data: The ${coding} data in the body ends too early.`);
    }
    const cutLater = Buffer.concat([one, two.subarray(0, -1)]);
    expect(await failureOf(decompressed(coding, cutLater))).toContain('ends too early');
  });

  test.each([1, Infinity])('followed by other bytes is invalid, in chunks of %s', async (n) => {
    for (const rest of ['x', 'garbage that is longer', '\0\0x']) {
      expect(await failureOf(decompressed(coding, Buffer.concat([one, Buffer.from(rest)]), n))).toContain(
        'invalid_data',
      );
    }
  });

  test('is limited by what it decompresses to', async () => {
    const zeros = COMPRESS[coding]('0'.repeat(1000));
    expect(await decompressed(coding, zeros, Infinity, 2000)).toHaveLength(1000);
    expect(await failureOf(decompressed(coding, COMPRESS[coding]('0'.repeat(100_000)), Infinity, 99_999))).toMatch(
      /^payload_too_large: The (upload decompresses to more|compressed upload is longer) than 99999 bytes/,
    );
  });

  test('an error of the body itself stays as it is', async () => {
    async function* broken(): AsyncGenerator<Uint8Array, void> {
      yield one.subarray(0, 5);
      throw new ServiceError('cancelled', 'The client closed the connection.');
    }
    expect(await failureOf(textOf(decompressBody(broken(), coding)))).toBe(
      'cancelled: The client closed the connection.',
    );
  });

  test('is read no faster than its content', async () => {
    const bytes = COMPRESS[coding]('0'.repeat(5_000_000));
    let read = 0;
    async function* counted(): AsyncGenerator<Uint8Array, void> {
      for await (const chunk of chunksOf(Buffer.concat([bytes, bytes, bytes, bytes]), 1000)) {
        read += chunk.length;
        yield chunk;
      }
    }
    const content = decompressBody(counted(), coding);
    await content.next();
    for (let turn = 0; turn < 100; turn++) await setImmediate();
    expect(read).toBeLessThan(bytes.length);
    await content.return();
  });
});

test('zero bytes may follow gzip data', async () => {
  const padded = Buffer.concat([gzipSync('one\n'), Buffer.alloc(600)]);
  for (const n of [1, 64, Infinity]) expect(await decompressed('gzip', padded, n)).toBe('one\n');
});

test('skippable zstd frames have no content', async () => {
  const body = Buffer.concat([SKIPPABLE, zstdFrame('one\n'), SKIPPABLE, SKIPPABLE, zstdFrame('two\n')]);
  for (const n of [1, 4, Infinity]) expect(await decompressed('zstd', body, n)).toBe('one\ntwo\n');
});

test('100,000 skippable zstd frames are the most', { tags: ['slow'] }, async () => {
  const frame = Buffer.of(0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0);
  const most = Buffer.alloc(100_000 * frame.length, frame);
  expect(await decompressed('zstd', Buffer.concat([most, zstdFrame('one\n')]))).toBe('one\n');
  expect(await failureOf(decompressed('zstd', Buffer.concat([most, frame])))).toContain(
    'more than 100000 skippable frames',
  );
});

test.each([
  ['a window of 16 MiB', [0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3, 1, 0, 0], 'a window of 16777216 bytes'],
  ['a window of 2 TiB', [0x28, 0xb5, 0x2f, 0xfd, 0x00, 31 << 3, 1, 0, 0], 'a window of 2199023255552 bytes'],
  ['one segment of 4 GiB', [0x28, 0xb5, 0x2f, 0xfd, 0xa0, 255, 255, 255, 255, 1, 0, 0], 'a window of 4294967295 bytes'],
  ['a dictionary', [0x28, 0xb5, 0x2f, 0xfd, 0x01, 0x58, 7, 1, 0, 0], 'needs a dictionary'],
  ['a block of 2 MiB', [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0xfb, 0xff, 0xff, 0], 'a block is too long'],
  ['other bytes', [1, 2, 3, 4, 5], 'there is no zstd frame'],
])('a zstd frame with %s is invalid', async (_, bytes, message) => {
  expect(await failureOf(decompressed('zstd', Uint8Array.from(bytes)))).toContain(message);
});

describe('the portable zstd decompressor', () => {
  const portably = (bytes: Uint8Array) => textOf(decompressPortably(zstdUnits(chunksOf(bytes, 7))));

  test('reads blocks, runs and frames, and verifies checksums', async () => {
    const run = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, (10 << 3) | 2 | 1, 0, 0, 0x61]);
    expect(await portably(Buffer.concat([zstdFrame('one\n'), run, CHECKED, zstdFrame('')]))).toBe(
      `one\n${'a'.repeat(10)}${'hello '.repeat(7)}hello\n`,
    );
  });

  test('refuses content that does not match its checksum', async () => {
    const spoilt = Buffer.from(CHECKED);
    spoilt[spoilt.indexOf('h')] = 'j'.charCodeAt(0);
    await expect(portably(spoilt)).rejects.toThrow('the checksum does not match');
    expect(await failureOf(decompressed('zstd', spoilt))).toContain(
      'invalid_data: The zstd data in the body is corrupt',
    );
  });
});
