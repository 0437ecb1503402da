import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.ts';
import { BOMBS, HOSTILE_SQL } from '../../src/testing/hostile-sql.ts';
import { CANARY, createSandbox, expectDefused, type Sandbox } from '../sandbox.ts';

/** Long enough that none of these comes near it on a busy machine. */
const TIMEOUT_MS = 30_000;

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createSandbox(TIMEOUT_MS);
});

afterAll(() => sandbox.close());

describe.each(Object.entries(HOSTILE_SQL))('no SQL can %s', (_, texts) => {
  afterEach(async () => {
    expect(await readFile(sandbox.outside, 'utf8')).toBe(`${CANARY}\n`);
  });

  for (const [options, some] of byTier(texts))
    test.each(some)('%s', options, async (text) => {
      const { outside, fixture } = sandbox;
      const sql = text.replaceAll('{outside}', outside.replaceAll("'", "''"));
      const { code, message, hint } = await sandbox.failureOf(sql);
      expect(['permission_denied', 'invalid_sql']).toContain(code);
      const said = `${message} ${hint}`.replaceAll(outside, '');
      expect(said).not.toContain(CANARY);
      expect(said).not.toContain(fixture.directory);
    });

  test('and the next statement succeeds', () => sandbox.expectAnswers());
});

describe('no SQL can exceed its limits', () => {
  const soon = BOMBS.filter((sql) => /repeat\('x', 2000000000\)|map\(range|NOT NOT|\[\[/.test(sql));

  test.each(soon.map((sql) => [sql.slice(0, 100), sql] as const))('%s', (_, sql) => expectDefused(sandbox, sql));
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
