import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { watchFiles } from './watch-files.ts';

/** Watches a file whose content is a number. `fail` makes the next loads fail, after `failMs`. */
async function watchNumber(failMs = 0) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-watch-'));
  const path = join(folder, 'number');
  await writeFile(path, '1');
  let failing = 0;
  const failures: string[] = [];
  const watched = await watchFiles({
    paths: [path],
    load: async () => {
      if (failing > 0) {
        const end = performance.now() + failMs;
        while (performance.now() < end);
        throw new Error(`EMFILE ${failing--}`);
      }
      return Number(await readFile(path, 'utf8'));
    },
    onFailure: (error) => failures.push(String(error)),
    pollMs: 5,
  });
  onTestFinished(async () => {
    watched.close();
    await rm(folder, { recursive: true });
  });
  return {
    watched,
    failures,
    write: (text: string) => writeFile(path, text),
    fail: (times: number) => (failing = times),
  };
}

test('a changed file is loaded again', async () => {
  const { watched, write } = await watchNumber();
  await write('22');
  await expect.poll(() => watched.current).toBe(22);
});

test('a change whose load fails for a while is loaded in the end, and the failure is reported once', async () => {
  const { watched, failures, write, fail } = await watchNumber();
  fail(3);
  await write('22');
  await expect.poll(() => watched.current).toBe(22);
  expect(failures).toEqual(['Error: EMFILE 3']);
});

test('a change after a load that took long to fail is loaded without a delay', { tags: ['slow'] }, async () => {
  // The same state would be tried again after 20 s.
  const { watched, failures, write, fail } = await watchNumber(1000);
  fail(1);
  await write('x');
  await expect.poll(() => failures).toHaveLength(1);
  await write('333');
  await expect.poll(() => watched.current, { timeout: 10_000 }).toBe(333);
});
