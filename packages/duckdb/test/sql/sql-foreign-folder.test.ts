import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { longFrame } from '@svc/frames/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDurableStore } from '../../src/store/durable-store.ts';
import { createFrameFiles } from '../../src/files/create-frame-files.ts';
import { rowsOf } from '../../src/testing/sql-fixture.ts';
import { createSqlEngine } from '../../src/sql/engine.ts';
import { byTier } from '../../../../test/tier.ts';

let temporary: string;
let directory: string;

beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'sql-foreign-folder-'));
  directory = join(temporary, 'deep', 'frames');
  await mkdir(directory, { recursive: true });
  const files = createFrameFiles({ tempDirectory: temporary });
  await files.write(join(directory, 'ids.parquet'), longFrame(5), { compression: 'zstd' });
  await files.close();
  await writeFile(join(directory, 'names.csv'), 'name\nAda\nGrace\n');
});

afterEach(() => rm(temporary, { recursive: true }));

async function resultsOf(isReadOnly: boolean, at: string, hasTenants = false): Promise<unknown> {
  const files = createFrameFiles({ tempDirectory: temporary });
  const store = await createDurableStore({ directory: at, files, isReadOnly, hasTenants });
  const engine = createSqlEngine({ store, tempDirectory: temporary, maxConcurrent: 1 });
  try {
    return [
      await rowsOf(engine, 'SELECT count(*)::INTEGER FROM ids'),
      await rowsOf(engine, 'FROM names ORDER BY name'),
      await rowsOf(engine, 'SELECT count(*)::INTEGER FROM ids, names'),
    ];
  } finally {
    await engine.close();
    await store.close();
  }
}

const results = [[[5]], [['Ada'], ['Grace']], [[10]]];

test(
  'a directory of foreign files is queried as tables of the default tenant if there are others',
  { tags: ['slow'] },
  async () => {
    expect(await resultsOf(false, directory, true)).toEqual(results);
  },
);

for (const [options, cases] of byTier([
  ['is writable', false],
  ['is read-only', true],
] as const))
  describe.each(cases)('a directory of foreign files that %s', options, (_, isReadOnly) => {
    test('is queried as tables', async () => {
      expect(await resultsOf(isReadOnly, directory)).toEqual(results);
    });

    test('is queried as tables through a symbolic link', { tags: ['slow'] }, async () => {
      const link = join(temporary, 'link');
      await symlink(directory, link);
      expect(await resultsOf(isReadOnly, link)).toEqual(results);
    });
  });
