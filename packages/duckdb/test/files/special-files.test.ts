import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Store } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { StoreProblem } from '../../src/store/catalogue/store-problem.ts';
import { createFilesFixture, type FilesFixture } from '../../src/testing/files-fixture.ts';
import {
  createStoreFixture,
  listDescribed,
  refOf,
  rowsOf,
  type StoreFixture,
} from '../../src/testing/store-fixture.ts';

let files: FilesFixture;
let fixture: StoreFixture;
let problems: StoreProblem[];

beforeAll(async () => {
  files = await createFilesFixture();
});

afterAll(() => files.close());

beforeEach(async () => {
  fixture = await createStoreFixture(files.files);
  problems = [];
  await mkdir(fixture.folder, { recursive: true });
});

afterEach(() => fixture.remove());

function open(duckdbPath?: string): Promise<Store> {
  const onProblem = (problem: StoreProblem): void => void problems.push(problem);
  return fixture.open({ onProblem, ...(duckdbPath !== undefined && { duckdbPath }) });
}

async function handles(store: Store): Promise<string[]> {
  return (await listDescribed(store)).map(({ handle }) => handle);
}

const makeFifo = (path: string): void => void execFileSync('mkfifo', [path]);

const SPECIAL: readonly (readonly [string, (path: string) => unknown])[] = [
  ['a FIFO', makeFifo],
  [
    'a link to a FIFO',
    async (path) => {
      const fifo = `${files.path()}.fifo`;
      makeFifo(fifo);
      await symlink(fifo, path);
    },
  ],
  ['a directory', (path) => mkdir(path)],
  [
    'a socket',
    async (path) => {
      const server = createServer();
      onTestFinished(() => void server.close());
      // Socket paths have a short length limit.
      const here = process.cwd();
      process.chdir(join(path, '..'));
      await new Promise<void>((resolve) => server.listen(path.slice(path.lastIndexOf('/') + 1), resolve));
      process.chdir(here);
    },
  ],
  ['a link to a device', (path) => symlink('/dev/zero', path)],
];

// The greatest version, which would hide every other.
const VERSION = '7ZZZZZZZZZZZZZZZZZZZZZZZZY';

describe.skipIf(process.platform === 'win32').each(SPECIAL)('%s', (_, make) => {
  test('in a folder of frames is ignored, and the other frames are served', async () => {
    const store = await open();
    await store.put(refOf('put'), longFrame(2));
    await store.close();
    await writeFile(join(fixture.folder, 'beside.csv'), 'a\n1\n');
    for (const name of ['a.csv', 'b.parquet', 'c.arrow', `d@${VERSION}.parquet`, `put@${VERSION}.parquet`]) {
      await make(join(fixture.folder, name));
      if (!name.includes('@')) await make(join(fixture.directory, `top-${name}`));
    }
    const again = await open();
    expect(await handles(again)).toEqual(['beside', 'put']);
    expect(await rowsOf(again, refOf('put'))).toEqual([[0n], [1n]]);
    for (const handle of ['a', 'b', 'c', 'd', 'top-a']) expect(await again.describe(refOf(handle))).toBeUndefined();
  });

  test('in place of a frame file is a damaged frame, and blocks no other', async () => {
    const store = await open();
    for (const handle of ['put', 'other']) await store.put(refOf(handle), longFrame(2));
    await store.close();
    let now = Date.now();
    const cold = await fixture.open({ cacheBytes: 0, now: () => now });
    expect(await rowsOf(cold, refOf('put'))).toHaveLength(2);
    const [path = ''] = await fixture.parts('put');
    await rm(path);
    await make(path);
    // The file that was read is not kept any more.
    now += 60_000;
    await cold.list('default');
    const pid = files.files.childPid;
    await expect(rowsOf(cold, refOf('put'))).rejects.toMatchObject({ message: expect.stringMatching(/is damaged\.$/) });
    expect(await rowsOf(cold, refOf('other'))).toHaveLength(2);
    expect(await cold.faults()).toMatchObject([{ kind: 'damaged_frame', handle: 'put' }]);
    expect(files.files.childPid).toBe(pid);
  });

  test('with the name of the next entry, or of a folder, is ignored', async () => {
    const store = await open();
    await store.put(refOf('put'), longFrame(2));
    await store.close();
    await make((await fixture.entry('put')).replace('0.json', '1.json'));
    await make(join(fixture.folder, 'folder'));
    const again = await open();
    expect(await handles(again)).toEqual(['put']);
    expect(await rowsOf(again, refOf('put'))).toHaveLength(2);
    expect(problems).toEqual([]);
  });

  test('in place of a lock file does not lock the directory', async () => {
    await make(join(fixture.directory, '.lock-0123456789'));
    expect(await handles(await open())).toEqual([]);
  });

  test('in place of the database is reported, and other frames are served', async () => {
    const path = join(fixture.directory, 'database');
    await make(path);
    await writeFile(join(fixture.folder, 'beside.csv'), 'a\n1\n');
    expect(await handles(await open(path))).toEqual(['beside']);
    expect(problems.map(({ kind }) => kind)).toEqual(['unreadable_database']);
  });
});

test('a symbolic link to a regular file is a frame', async () => {
  const path = `${files.path()}.csv`;
  await writeFile(path, 'a\n1\n');
  await symlink(path, join(fixture.folder, 'linked.csv'));
  const store = await open();
  await store.put(refOf('put'), longFrame(2));
  await store.close();
  const name = (await readdir(fixture.folder)).find((one) => one.startsWith('put@')) ?? '';
  await rename(join(fixture.folder, name), `${path}.parquet`);
  await symlink(`${path}.parquet`, join(fixture.folder, name));
  const again = await open();
  expect(await handles(again)).toEqual(['linked', 'put']);
  expect(await rowsOf(again, refOf('put'))).toEqual([[0n], [1n]]);
});
