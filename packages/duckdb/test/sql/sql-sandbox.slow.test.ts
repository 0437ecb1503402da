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
  const names = await readdir(join(sandbox.fixture.directory, 'default'));
  expect(names).toEqual([expect.stringMatching(/^trades@\w+\.parquet$/)]);
});

test('the memory of the server has not grown', () => {
  expect(sandbox.grownBytes()).toBeLessThan(100e6);
});
