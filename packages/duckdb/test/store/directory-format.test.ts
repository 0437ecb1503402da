import fs, { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createStoreFixture, refOf, rowsOf, type StoreFixture } from '../../src/testing/store-fixture.ts';

let fixture: StoreFixture;
let marker: string;

beforeEach(async () => {
  fixture = await createStoreFixture();
  marker = join(fixture.directory, '.format');
});

afterEach(() => fixture.remove());

test('a directory gets the number of its format when it is opened for writing', async () => {
  await (await fixture.open()).close();
  expect(await readFile(marker, 'utf8')).toBe('{"format":2}\n');
});

test('a directory without a number is opened as before, and gets one', async () => {
  const store = await fixture.open();
  await store.put(refOf('t'), longFrame(2));
  await store.close();
  await rm(marker);
  expect(await rowsOf(await fixture.open({ isReadOnly: true }), refOf('t'))).toHaveLength(2);
  await expect(readFile(marker)).rejects.toThrow('ENOENT');
  expect(await rowsOf(await fixture.open(), refOf('t'))).toHaveLength(2);
  expect(await readFile(marker, 'utf8')).toBe('{"format":2}\n');
});

test.each([false, true])(
  'a directory of a later version is refused and not changed; read-only: %s',
  async (isReadOnly) => {
    await (await fixture.open()).close();
    await writeFile(marker, '{"format":3,"since":"9.0.0"}\n');
    await expect(fixture.open({ isReadOnly })).rejects.toMatchObject({
      name: 'DirectoryFormatError',
      message: expect.stringMatching(/^A later version wrote .* it has format 3, and this one reads formats up to 2\./),
    });
    expect(await readFile(marker, 'utf8')).toBe('{"format":3,"since":"9.0.0"}\n');
  },
);

test.each(['', 'x', '{}', '{"format":0}', '{"format":"2"}', '[1]'])('the text %j is no number', async (text) => {
  await writeFile(marker, text);
  await expect(fixture.open()).rejects.toThrow('does not contain a format number');
});

describe('on a file system without hard links', () => {
  const { link } = fs;
  beforeEach(() => {
    const failed = async (): Promise<never> => {
      throw Object.assign(new Error('EPERM'), { code: 'EPERM' });
    };
    Object.assign(fs, { link: failed });
    syncBuiltinESMExports();
  });
  afterEach(() => {
    Object.assign(fs, { link });
    syncBuiltinESMExports();
  });

  test.each([undefined, '{"format":1}\n'])(
    'a directory with the format %j is refused and not changed',
    async (format) => {
      await mkdir(fixture.directory, { recursive: true });
      if (format !== undefined) await writeFile(marker, format);
      const names = await readdir(fixture.directory);
      await expect(fixture.open()).rejects.toMatchObject({
        name: 'DirectoryFormatError',
        message: expect.stringMatching(/has no hard links\. Keep the frames on ext4, XFS, /),
      });
      const isOurs = (name: string): boolean => name !== '.lock';
      expect((await readdir(fixture.directory)).filter(isOurs)).toEqual(names);
    },
  );
});
