import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BOMBS } from '../../src/testing/hostile-sql.ts';
import { createSandbox, expectDefused, type Sandbox } from '../sandbox.ts';

const TIMEOUT_MS = 1000;

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createSandbox(TIMEOUT_MS);
});

afterAll(() => sandbox.close());

describe('no SQL can exceed its limits', () => {
  test.each(BOMBS.map((sql) => [sql.slice(0, 100), sql] as const))('%s', (_, sql) => expectDefused(sandbox, sql));
});

test('the frames are unchanged, and there are no other files', async () => {
  const folder = join(sandbox.fixture.directory, 'default');
  const names = (await readdir(folder, { recursive: true })).toSorted();
  const log = ['trades/_delta_log', 'trades/_delta_log/00000000000000000000.json'];
  expect(names).toEqual(['trades', expect.stringMatching(/^trades\/[\w-]+\.parquet$/), ...log]);
});

test('the memory of the server has not grown', () => {
  expect(sandbox.grownBytes()).toBeLessThan(100e6);
});
