import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDurableStore, type DurableStore } from '../../src/store/durable-store.ts';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';

let directory: string;
let temporary: string;

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'read-only-copies-'));
  directory = join(folder, 'frames');
  temporary = join(folder, 'temporary');
  await mkdir(directory);
  await mkdir(temporary);
  vi.stubEnv('TMPDIR', temporary);
  await writeFile(join(directory, 'names.csv'), 'name\nAda\n');
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(dirname(directory), { recursive: true });
});

const openReader = (): Promise<DurableStore> =>
  createDurableStore({ directory, files: createFrameFiles({ tempDirectory: temporary }), isReadOnly: true });

async function copyOf(store: DurableStore): Promise<string> {
  const pinned = await store.pin({ tenant: 'default', name: 'names' });
  pinned?.release();
  return pinned?.paths[0] ?? '';
}

async function makeCopies(): Promise<void> {
  const store = await openReader();
  await copyOf(store);
  await store.close();
}

const PROGRAM = `
  const { createDurableStore, createFrameFiles } = await import(process.argv[1]);
  const [, , directory, tempDirectory] = process.argv;
  const store = await createDurableStore({ directory, files: createFrameFiles({ tempDirectory }), isReadOnly: true });
  const pinned = await store.pin({ tenant: 'default', name: 'names' });
  process.stdout.write(pinned.paths[0] + '\\n');
  setInterval(() => {}, 1000);
`;

test.runIf(process.platform !== 'win32')(
  'only this user can read copies, and they are removed with the store',
  async () => {
    const store = await openReader();
    expect(await readdir(temporary)).toEqual([]);
    const path = await copyOf(store);
    const own = dirname(dirname(path));
    expect((await stat(own)).mode & 0o777).toBe(0o700);
    expect(dirname(own)).toBe(temporary);
    await store.close();
    expect(await readdir(temporary)).toEqual([]);
  },
);

test(
  'the next process that makes copies removes those of killed processes, but not of running ones',
  { tags: ['slow'] },
  async () => {
    const index = new URL('../../dist/index.js', import.meta.url).href;
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, index, directory, temporary], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    try {
      const [path] = (await once(createInterface(child.stdout), 'line')) as [string];
      await makeCopies();
      expect((await stat(path)).isFile()).toBe(true);
      child.kill('SIGKILL');
      await ended;
      await makeCopies();
      expect(await readdir(temporary)).toEqual([]);
    } finally {
      child.kill('SIGKILL');
    }
  },
);
