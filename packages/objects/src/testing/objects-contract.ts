import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Objects, type ObjectStat, readObject } from '../objects.ts';

/** A home to test. It is empty. */
export interface ContractHome {
  readonly objects: Objects;
  /** Another process with the same home. Default: the same objects. */
  readonly others?: Objects;
  readonly close?: () => Promise<void>;
}

const MAX_BYTES = 1 << 20;

async function keysOf(objects: Objects, prefix: string, after?: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of objects.list(prefix, after === undefined ? {} : { after })) keys.push(key);
  return keys;
}

/** The facts that hold for every implementation of `Objects`. */
export function objectsContract(name: string, open: () => Promise<ContractHome>): void {
  describe(`${name} keeps the contract of objects`, () => {
    let home: ContractHome;
    let objects: Objects;
    let others: Objects;
    let folder: string;
    const textOf = async (key: string): Promise<string | undefined> => {
      const found = await readObject(objects, key, MAX_BYTES);
      return found && Buffer.from(found.bytes).toString();
    };

    beforeEach(async () => {
      home = await open();
      ({ objects, others = home.objects } = home);
      folder = await mkdtemp(join(tmpdir(), 'objects-contract-'));
    });

    afterEach(async () => {
      await home.close?.();
      await rm(folder, { recursive: true });
    });

    test('an object has the bytes that it was created with', async () => {
      const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 251);
      expect(await objects.create('a/b.bin', bytes)).toBe(true);
      expect(Buffer.from((await readObject(others, 'a/b.bin', MAX_BYTES))?.bytes ?? [])).toEqual(Buffer.from(bytes));
    });

    test('later changes of the buffer do not change the object', async () => {
      const bytes = Buffer.from('before');
      await objects.create('a', bytes);
      bytes.write('after!');
      expect(await textOf('a')).toBe('before');
    });

    test('a name that exists is not created again, and keeps its bytes', async () => {
      expect(await objects.create('a', Buffer.from('first'))).toBe(true);
      expect(await others.create('a', Buffer.from('second'))).toBe(false);
      expect(await objects.create('a', Buffer.from('third'))).toBe(false);
      expect(await textOf('a')).toBe('first');
    });

    test('of many that create a name at once, one succeeds, and the object is its own', async () => {
      for (let round = 0; round < 5; round++) {
        const key = `race/${round}`;
        const created = await Promise.all(
          Array.from({ length: 20 }, (_, i) => (i % 2 ? objects : others).create(key, Buffer.from(String(i)))),
        );
        expect(created.filter(Boolean)).toHaveLength(1);
        expect(await textOf(key)).toBe(String(created.indexOf(true)));
      }
    });

    test('a file can be the body, and stays', async () => {
      const path = join(folder, 'body');
      await writeFile(path, 'from a file');
      expect(await objects.create('x/from-file', { path })).toBe(true);
      expect(await objects.create('x/from-file', { path })).toBe(false);
      await rm(path);
      expect(await textOf('x/from-file')).toBe('from a file');
    });

    test('an empty object is an object', async () => {
      expect(await objects.create('empty', new Uint8Array())).toBe(true);
      expect(await textOf('empty')).toBe('');
      expect(await objects.create('empty', Buffer.from('x'))).toBe(false);
    });

    test('what was not created is absent', async () => {
      await objects.create('a/b', Buffer.from('x'));
      for (const key of ['c', 'a', 'a/c', 'a/b/c']) {
        expect(await objects.get(key)).toBeUndefined();
        expect(await objects.stat(key)).toBeUndefined();
      }
    });

    test.each([
      [{ start: 0, end: 3 }, '012'],
      [{ start: 4, end: 6 }, '45'],
      [{ start: 8, end: 100 }, '89'],
      [{ start: 5, end: 5 }, ''],
      [{ start: 6, end: 2 }, ''],
      [{ start: 10, end: 20 }, ''],
      [{ start: 30, end: 40 }, ''],
    ])('the range %j is %j', async (range, expected) => {
      expect(await objects.get('digits', { range })).toBeUndefined();
      await objects.create('digits', Buffer.from('0123456789'));
      const body = await objects.get('digits', { range });
      expect(body?.bytes).toBe(expected.length);
      const chunks: Uint8Array[] = [];
      for await (const chunk of body?.chunks ?? []) chunks.push(chunk);
      expect(Buffer.concat(chunks).toString()).toBe(expected);
    });

    test('a body can be closed unread, and left in the middle', async () => {
      await objects.create('large', Buffer.alloc(3_000_000));
      await (await objects.get('large'))?.close();
      const body = await objects.get('large');
      for await (const chunk of body?.chunks ?? []) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
      await body?.close();
    });

    test('a small read of a large object fails instead of filling memory', async () => {
      await objects.create('large', Buffer.alloc(2000));
      await expect(readObject(objects, 'large', 1999)).rejects.toThrow(RangeError);
    });

    test('a tag is that of the body, for everyone, as long as the object is there', async () => {
      await objects.create('a', Buffer.from('x'));
      const tag = (await objects.stat('a'))?.tag;
      expect(tag).toEqual(expect.any(String));
      expect((await others.stat('a'))?.tag).toBe(tag);
      expect((await readObject(others, 'a', MAX_BYTES))?.tag).toBe(tag);
    });

    test('a stat tells the size, and a time by the clock of the home', async () => {
      await objects.create('a', Buffer.from('0123456789'));
      expect(await objects.stat('a')).toMatchObject({ bytes: 10, modified: expect.any(Date) });
    });

    test('the same bytes under the name of a removed object have another tag, if the clock of the home went on', async () => {
      const make = async (): Promise<ObjectStat | undefined> => {
        await objects.create('a', Buffer.from('the same'));
        const made = await objects.stat('a');
        await objects.remove(['a']);
        return made;
      };
      const first = await make();
      let second = await make();
      while (second?.modified.getTime() === first?.modified.getTime()) second = await make();
      expect(second?.tag).not.toBe(first?.tag);
    });

    test('removed objects are gone, and those that are not there are skipped', async () => {
      for (const key of ['r/1', 'r/2', 'r/3']) await objects.create(key, Buffer.from(key));
      await others.remove(['r/0', 'r/1', 'r/3']);
      expect(await keysOf(objects, '')).toEqual(['r/2']);
      await objects.remove([]);
    });

    test('a body that is being read is not cut by its removal', async () => {
      await objects.create('large', Buffer.alloc(3_000_000, 7));
      const body = await objects.get('large');
      await others.remove(['large']);
      let bytes = 0;
      for await (const chunk of body?.chunks ?? []) bytes += chunk.length;
      expect(bytes).toBe(3_000_000);
    });

    describe('a list', () => {
      const KEYS = ['a-b/1', 'a.txt', 'a/1', 'a/2/deep/er', 'a/2/x', 'a0', 'b/1', 'b/10', 'b/2', 'c@d=e'];
      beforeEach(async () => {
        for (const key of KEYS.toReversed()) await objects.create(key, Buffer.from(key));
      });

      test('has all keys in the order of their characters', async () => {
        expect(await keysOf(others, '')).toEqual(KEYS.toSorted());
      });

      test.each(['a/', 'a/2/', 'b/', 'none/', 'a/1/'])('of the prefix %s has only its keys', async (prefix) => {
        expect(await keysOf(objects, prefix)).toEqual(KEYS.filter((key) => key.startsWith(prefix)).toSorted());
      });

      test('can begin after any key, also one that is not there', async () => {
        for (const after of [...KEYS, '', 'a', 'a/', 'a/2/deep/', 'a/2/e', 'b/11', 'c']) {
          expect(await keysOf(objects, '', after)).toEqual(KEYS.filter((key) => key > after).toSorted());
        }
      });
    });

    test.each(['', '/a', 'a/', 'a//b', '.', '..', '../a', 'a/../b', 'a\0b', 'a b', 'ä', 'a%2fb', 'x'.repeat(201)])(
      'the key %j is refused',
      async (key) => {
        await expect(objects.create(key, Buffer.from('x'))).rejects.toThrow(TypeError);
        await expect(objects.get(key)).rejects.toThrow(TypeError);
        await expect(objects.stat(key)).rejects.toThrow(TypeError);
        await expect(objects.remove([key])).rejects.toThrow(TypeError);
        await expect(keysOf(objects, `${key}/`)).rejects.toThrow(TypeError);
      },
    );

    test('an aborted signal ends every call before it does anything', async () => {
      const signal = AbortSignal.abort(new Error('enough'));
      await objects.create('a', Buffer.from('x'));
      await expect(objects.create('b', Buffer.from('x'), signal)).rejects.toThrow('enough');
      await expect(objects.get('a', { signal })).rejects.toThrow('enough');
      await expect(objects.stat('a', signal)).rejects.toThrow('enough');
      await expect(objects.remove(['a'], signal)).rejects.toThrow('enough');
      await expect(objects.list('', { signal })[Symbol.asyncIterator]().next()).rejects.toThrow('enough');
      expect(await keysOf(objects, '')).toEqual(['a']);
    });
  });
}
