import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createFrameFiles } from '../files/create-frame-files.ts';
import { createFileChild, type FileChild } from './file-child.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'child-directory-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

function startEngine(): FileChild {
  const engine = createFileChild({ tempDirectory: directory, memoryBytes: 50e6, threads: 1 });
  onTestFinished(() => engine.close());
  return engine;
}

async function spillFolders(): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.startsWith('svc-spill-'));
}

/** Sorts more than fits into memory; the sum over the sorted rows shows whether each came back once, with its value. */
function sortSql(seed: number): string {
  return `SELECT concat_ws(' ', count(*), sum(id), bool_and(text = md5(id::VARCHAR) || repeat('${seed}', 200)))
    FROM (SELECT id, text, row_number() OVER (ORDER BY key) AS at
      FROM (SELECT range AS id, hash(range + ${seed}) AS key, md5(range::VARCHAR) || repeat('${seed}', 200) AS text
        FROM range(200000)))`;
}

test('engines that share a temporary directory do not read the spill files of others', { tags: ['slow'] }, async () => {
  const engines = [startEngine(), startEngine()];
  const answers = await Promise.all(engines.map((engine, i) => engine.call({ op: 'texts', sql: sortSql(i) })));
  expect(answers).toEqual([[['200000 19999900000 true']], [['200000 19999900000 true']]]);
});

test('each child has a private directory, which is removed when it exits', { tags: ['slow'] }, async () => {
  const engine = startEngine();
  await engine.warm();
  const [first = ''] = await spillFolders();
  expect((await stat(join(directory, first))).mode & 0o777).toBe(0o700);
  process.kill(engine.childPid ?? 0, 'SIGKILL');
  await expect.poll(spillFolders).toEqual([]);
  await engine.warm();
  const after = await spillFolders();
  expect(after).toHaveLength(1);
  expect(after).not.toContain(first);
  await engine.close();
  expect(await spillFolders()).toEqual([]);
});

test('directories of a killed process are removed by the next engine, those of a running one are not', async () => {
  const running = startEngine();
  await running.warm();
  await running.scratch.make();
  const held = await readdir(directory);
  expect(held).toHaveLength(2);
  const left = ['svc-spill-4194304-aBcDeF', 'svc-footer-aBcDeF'];
  for (const name of left) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'left'), 'left');
  }
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const name of [...left, ...held]) await utimes(join(directory, name), longAgo, longAgo);
  startEngine();
  await expect.poll(async () => (await readdir(directory)).toSorted()).toEqual(held.toSorted());
});

test('a file that is described with another footer leaves nothing behind', async () => {
  const files = createFrameFiles({ tempDirectory: directory });
  const path = fileURLToPath(new URL('../../test/parquet/int96-nanos.parquet', import.meta.url));
  expect(await files.describe([{ kind: 'parquet', path }])).toMatchObject([{ needsCopy: true }]);
  const scratch = (await readdir(directory)).find((name) => name.startsWith('svc-footer-')) ?? '';
  expect((await readdir(join(directory, scratch))).filter((name) => name.endsWith('.parquet'))).toEqual([]);
  await files.close();
  expect(await readdir(directory)).toEqual([]);
});
