import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Store } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDurableStore } from '../../src/store/durable-store.ts';
import type { StoreProblem } from '../../src/store/catalogue/store-problem.ts';
import { refOf, rowsOf } from '../../src/testing/store-fixture.ts';
import { createTestFiles, FILE_KINDS } from '../../src/testing/test-files.ts';

const run = promisify(execFile);
const disk = await mkdtemp(join(tmpdir(), 'read-only-disk-'));
// Only root can mount: other users skip this test.
const isMounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'none', disk]).then(
  () => true,
  () => false,
);
const remount = (mode: 'ro' | 'rw'): Promise<unknown> => run('mount', ['-o', `remount,${mode}`, disk]);
const trades = refOf('trades');

afterAll(async () => {
  if (isMounted) await run('umount', [disk]);
  await rm(disk, { recursive: true });
});

describe.runIf(isMounted).each(FILE_KINDS)('on a disk that becomes read-only, with %s files', (kind) => {
  let store: Store;
  let directory: string;
  let problems: StoreProblem[];

  beforeEach(async () => {
    directory = await mkdtemp(join(disk, 'store-'));
    problems = [];
    store = await createDurableStore({
      directory,
      files: createTestFiles(kind, tmpdir()),
      lockTimes: { beatMs: 20 },
      onProblem: (problem) => problems.push(problem),
    });
    await store.put(trades, longFrame(2));
    await remount('ro');
  });

  afterEach(async () => {
    await remount('rw');
    await rm(directory, { recursive: true });
  });

  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('id\n1\n');
  }

  test('every change is unavailable with a message without a path, and frames can be read', async () => {
    const changes = [
      () => store.put(trades, longFrame(3)),
      () => store.put(trades, { format: 'csv', body: body() }),
      () => store.put(refOf('new', 'other'), longFrame(3)),
      () => store.append(trades, longFrame(3)),
      () => store.expire(trades, 60),
      () => store.drop(trades),
    ];
    for (const change of changes) {
      const error: unknown = await change().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'unavailable',
        message: 'The frames directory cannot be written: its file system is read-only.',
        hint: expect.stringContaining('operator'),
      });
    }
    expect(await rowsOf(store, trades)).toEqual([[0n], [1n]]);
    await store.close();
  });

  test('faults report it before anything is put, until the disk can be written again', async () => {
    const kinds = async (): Promise<string[]> => (await store.faults()).map((fault) => fault.kind);
    await expect.poll(kinds).toEqual(['cannot_write']);
    await remount('rw');
    await expect.poll(kinds).toEqual([]);
    await store.close();
  });

  test('the store closes with one problem', async () => {
    await store.close();
    expect(problems).toMatchObject([{ kind: 'not_released', cause: { code: 'EROFS' } }]);
  });
});
