// A directory of format 1 is taken over, whenever the process that does it dies.
import { cpSync, mkdirSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createBackup } from '../../src/store/backup/create-backup.ts';
import { createDurableStore, type DurableStore } from '../../src/store/durable-store.ts';
import type { StoreProblem } from '../../src/store/catalogue/store-problem.ts';
import { createArrowFrameFiles } from '../../src/testing/arrow-frame-files.ts';
import { refOf, rowsOf } from '../../src/testing/store-fixture.ts';
import { schemaText } from '../../src/types/stored-types.ts';

let root: string;
let directory: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'take-over-'));
  directory = join(root, 'cold');
  folder = join(directory, 'default');
  mkdirSync(folder, { recursive: true });
});

afterEach(() => rm(root, { recursive: true }));

const at = (time: number): string => `${time.toString().padStart(10, '0')}${'0'.repeat(16)}`;
const leave = (name: string, text = ''): Promise<void> => writeFile(join(folder, name), text);

async function leaveRows(name: string, ids: readonly number[]): Promise<object> {
  const [start = 0] = ids;
  const path = join(folder, name);
  const written = await createArrowFrameFiles().write(path, longFrame(ids.length, { start }), { compression: 'none' });
  return { file: name, rows: ids.length, bytes: written.fileBytes };
}

async function leaveManifest(name: string, parts: readonly object[]): Promise<void> {
  const schema = schemaText(longFrame(1).schema);
  const checksum = crc32(JSON.stringify([schema, parts])).toString(16);
  await leave(name, `${JSON.stringify({ format: 1, crc32: checksum, schema, parts })}\n`);
}

/** A folder with every kind of file. */
async function leaveAll(): Promise<void> {
  await leaveRows(`One@${at(1)}.parquet`, [1]);
  await leaveRows(`one@${at(2)}.parquet`, [2]);
  const parts = [await leaveRows(`many@${at(1)}.parquet`, [1, 2]), await leaveRows(`many@${at(3)}.part.parquet`, [3])];
  await leaveManifest(`many@${at(2)}.parts`, parts.slice(0, 1));
  await leaveManifest(`many@${at(3)}.parts`, parts);
  await leaveRows(`expiring@${at(1)}.parquet`, [4]);
  await leave(`expiring@${at(1)}.json`, '{"expires":"2121-01-01T00:00:00.000Z"}');
  await leaveRows(`dropped@${at(1)}.parquet`, [5]);
  await leave(`dropped@${at(1)}.dropped`);
  await leaveRows(`leaving@${at(1)}.parquet`, [6]);
  await leave(`leaving@${at(1)}.moved`, JSON.stringify({ handle: 'arrived', version: at(2) }));
  await leaveRows(`arrived@${at(2)}.parquet`, [6]);
  await leaveRows(`staying@${at(1)}.parquet`, [7]);
  await leave(`staying@${at(1)}.moved`, JSON.stringify({ handle: 'missing', version: at(2) }));
  await leave('.tmp-1', 'half');
  await leave('notes.txt', 'not ours');
}

const HANDLES = ['one', 'many', 'expiring', 'dropped', 'leaving', 'arrived', 'staying'];

async function openStore(from: string, options: object = {}): Promise<DurableStore> {
  return createDurableStore({ directory: from, files: createArrowFrameFiles(), ...options });
}

async function contentsOf(from: string): Promise<unknown> {
  const store = await openStore(from);
  try {
    const rows = HANDLES.map(async (handle) => [handle, (await rowsOf(store, refOf(handle)))?.flat()]);
    const listed = (await store.list('default')).map(({ handle, version, expires }) => [handle, version, expires]);
    return { rows: await Promise.all(rows), listed, names: (await readdir(join(from, 'default'))).toSorted() };
  } finally {
    await store.close();
  }
}

const TAKEN_OVER = {
  rows: [
    ['one', [2n]],
    ['many', [1n, 2n, 3n]],
    ['expiring', [4n]],
    ['dropped', undefined],
    ['leaving', undefined],
    ['arrived', [6n]],
    ['staying', [7n]],
  ],
  listed: [
    ['arrived', at(2), null],
    ['expiring', at(1), new Date('2121-01-01T00:00:00.000Z')],
    ['many', at(3), null],
    ['one', at(2), null],
    ['staying', at(1), null],
  ],
  names: ['arrived', 'expiring', 'many', 'notes.txt', 'one', 'staying'],
};

test('every frame keeps its rows, version and expiry, and no old file stays', async () => {
  await leaveAll();
  expect(await contentsOf(directory)).toEqual(TAKEN_OVER);
  expect(await readFile(join(directory, '.format'), 'utf8')).toBe('{"format":2}\n');
  expect(await contentsOf(directory)).toEqual(TAKEN_OVER);
});

test('a takeover whose process dies at any flush is completed by the next one', async () => {
  await leaveAll();
  const file = await open(join(folder, 'notes.txt'));
  const prototype = Object.getPrototypeOf(file) as typeof file;
  await file.close();
  const sync = Reflect.get(prototype, 'sync');
  const copies: string[] = [];
  const spy = vi.spyOn(prototype, 'sync').mockImplementation(function copying(this: typeof file) {
    const copy = join(root, `at-${copies.length}`);
    // The lock is of this process.
    cpSync(directory, copy, { recursive: true, filter: (path) => !basename(path).includes('.lock') });
    copies.push(copy);
    return sync.call(this);
  });
  onTestFinished(() => spy.mockRestore());
  await (await openStore(directory)).close();
  spy.mockRestore();
  expect(copies.length).toBeGreaterThan(20);
  for (const copy of copies) expect(await contentsOf(copy), basename(copy)).toEqual(TAKEN_OVER);
});

test('who only reads is refused until then, and changes nothing', async () => {
  await leaveAll();
  const before = await readdir(folder);
  const error = { name: 'DirectoryFormatError', message: expect.stringContaining('An earlier version wrote') };
  await expect(openStore(directory, { isReadOnly: true })).rejects.toMatchObject(error);
  await expect(createBackup({ directory, destination: join(root, 'backup') })).rejects.toMatchObject(error);
  expect(await readdir(folder)).toEqual(before);
});

test('who only reads is refused also if the takeover was interrupted', async () => {
  await leaveAll();
  await writeFile(join(directory, '.format'), '{"format":2,"taking_over":true}\n');
  const error = { name: 'DirectoryFormatError' };
  await expect(openStore(directory, { isReadOnly: true })).rejects.toMatchObject(error);
  await expect(createBackup({ directory, destination: join(root, 'backup') })).rejects.toMatchObject(error);
  expect(await contentsOf(directory)).toEqual(TAKEN_OVER);
  await (await openStore(directory, { isReadOnly: true })).close();
});

test('a frame with a part that is missing stays as it is, is reported, and is taken over when the part is restored', async () => {
  const [first, second] = [
    await leaveRows(`many@${at(1)}.parquet`, [1]),
    await leaveRows(`many@${at(2)}.part.parquet`, [2]),
  ];
  await leaveManifest(`many@${at(2)}.parts`, [first, second]);
  const names = (await readdir(folder)).toSorted();
  await rm(join(folder, `many@${at(2)}.part.parquet`));
  const problems: StoreProblem[] = [];
  const store = await openStore(directory, { onProblem: (problem: StoreProblem) => problems.push(problem) });
  for (const change of [store.open(refOf('many')), store.append(refOf('many'), longFrame(1))]) {
    await expect(change).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('"many"') });
  }
  await store.close();
  expect(problems).toMatchObject([{ kind: 'damaged_frame', handle: 'many' }]);
  await leaveRows(`many@${at(2)}.part.parquet`, [2]);
  expect((await readdir(folder)).filter((name) => name.includes('@')).toSorted()).toEqual(names);
  const again = await openStore(directory);
  expect((await rowsOf(again, refOf('many')))?.flat()).toEqual([1n, 2n]);
  await again.close();
});

test.each([
  ['a file', (path: string) => writeFile(path, '')],
  ['a link to nothing', (path: string) => symlink('/nowhere', path)],
  [
    'a file that is named as the log',
    (path: string) => mkdir(path).then(() => writeFile(join(path, '_delta_log'), '')),
  ],
])('%s in the place of the folder of a frame is reported, and the others are taken over', async (_name, place) => {
  await leaveRows(`a@${at(1)}.parquet`, [1]);
  await leaveRows(`b@${at(1)}.parquet`, [2]);
  await place(join(folder, 'a'));
  const store = await openStore(directory);
  expect(await store.faults()).toMatchObject([{ kind: 'damaged_frame', tenant: 'default', handle: 'a' }]);
  expect((await rowsOf(store, refOf('b')))?.flat()).toEqual([2n]);
  await store.close();
  const reader = await openStore(directory, { isReadOnly: true });
  await rowsOf(reader, refOf('b'));
  const states: unknown[] = [];
  for await (const { handle, state } of reader.verify()) states.push([handle, state]);
  expect(states).toEqual([
    ['a', 'damaged'],
    ['b', 'unchecked'],
  ]);
  await reader.close();
  const { frames, problems } = await createBackup({ directory, destination: join(root, 'backup') });
  expect([frames, problems]).toEqual([1, ['The frame "a" is not in the backup: it could not be taken over.']]);
  await rm(join(folder, 'a'), { recursive: true });
  const again = await openStore(directory);
  expect((await rowsOf(again, refOf('a')))?.flat()).toEqual([1n]);
  await again.close();
});
