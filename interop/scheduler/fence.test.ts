// What the fence refuses, on an engine without a fence: the attacks are real.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Driver } from '../../packages/scheduler/src/driver.ts';
import { checkStatement } from '../../packages/scheduler/src/fence/check-statement.ts';
import { createSparkDriver } from '../../packages/scheduler/src/spark-connect/create-spark-driver.ts';
import { SPARK_ATTACKS } from '../../packages/scheduler/src/testing/fence-attacks.ts';
import { programsOf } from './programs.ts';
import { startSail } from './start-sail.js';
import { startSpark } from './start-spark.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-fence-'));
const file = join(folder, 'secret.txt');
writeFileSync(file, 'the secret\n');
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs SQL without the fence, as the driver would send it. Returns its rows as text, or the error. */
async function runRaw(driver: Driver, sql: string): Promise<string> {
  const text = sql.replaceAll(/\bFROM frame\b/g, "FROM (SELECT 'x' AS a) AS frame");
  const statement = { sql: text, params: [], parameters: 0, frames: [], tenant: 'default', tag: 'svc-fence' };
  try {
    const { batches } = await driver.query(statement, AbortSignal.timeout(60_000));
    const rows: unknown[] = [];
    for await (const batch of batches) rows.push(...batch.toArray().map((row: unknown) => JSON.stringify(row)));
    return `rows: ${rows.join(' ')}`;
  } catch (error) {
    return `error: ${String(error)}`;
  }
}

/** Attacks whose success shows in their rows, and what it shows there. */
const VISIBLE: Readonly<Record<'sail' | 'spark', readonly (readonly [string, string | RegExp])[]>> = {
  sail: [
    [`SELECT * FROM text.\`${file}\``, 'the secret'],
    [`SELECT * FROM TEXT /* x */ . \`${file}\``, 'the secret'],
    [`WITH a AS (SELECT * FROM text.\`${file}\`) SELECT * FROM a`, 'the secret'],
    [`SELECT (SELECT max(value) FROM text.\`${file}\`)`, 'the secret'],
    [`TABLE text.\`${file}\``, 'the secret'],
    [`SELECT * FROM IDENTIFIER('text.\`${file}\`')`, 'the secret'],
    ['SELECT 1) UNION (SELECT 2', '2'],
    ['SELECT current_catalog()', 'sail'],
  ],
  spark: [
    [`SELECT reflect('java.lang.System', 'getProperty', 'java.vendor.url')`, /https?:/],
    ["SELECT `reflect`('java.lang.System', 'getProperty', 'java.vendor.url')", /https?:/],
    [`SELECT system.builtin.reflect('java.lang.System', 'getProperty', 'java.vendor.url')`, /https?:/],
    [`SELECT java_method('java.lang.System', 'getProperty', 'java.vendor.url')`, /https?:/],
    [`SELECT r'\\', reflect('java.lang.System', 'getProperty', 'java.vendor.url') AS x --'`, /https?:/],
    [`SELECT TRANSFORM(a) USING 'cat' AS (b) FROM VALUES ('the secret') AS t(a)`, 'the secret'],
    [`SELECT TRANSFORM(a) U\u017fING 'cat' AS (b) FROM VALUES ('the secret') AS t(a)`, 'the secret'],
    [`FROM VALUES ('the secret') AS t(a) MAP a USING 'cat' AS (b)`, 'the secret'],
    ['SELECT 1) UNION (SELECT 2', '2'],
    ['SELECT current_catalog()', 'spark_catalog'],
  ],
};

/** Attacks that the settings of the driver's sessions prevent, too, and what would show their success. */
const PREVENTED: typeof VISIBLE = {
  sail: [],
  spark: [
    ["SELECT '${system:java.vendor.url}'", /https?:/],
    ['SELECT 1 AS a -- ${system:line.separator}, 2 AS b', '"b":2'],
    [`SELECT * FROM text.\`${file}\``, 'the secret'],
  ],
};

describe.each([
  ['sail', startSail],
  ['spark', startSpark],
] as const)('on %s', (name, start) => {
  let engine: { readonly port: number; readonly stop: () => Promise<void> };
  let driver: Driver;

  beforeAll(async () => {
    engine = await start(programsOf(name));
    driver = createSparkDriver({ protocol: 'spark-connect', host: '127.0.0.1', port: engine.port, hasTls: false });
  }, 240_000);

  afterAll(async () => {
    await driver.close();
    await engine.stop();
  });

  test.each(VISIBLE[name])('%s succeeds without the fence, which refuses it', async (sql, shown) => {
    await expect(checkStatement(sql, 'spark')).rejects.toThrow();
    expect(await runRaw(driver, sql)).toMatch(shown);
  });

  test.each(PREVENTED[name])('%s shows nothing without the fence, which refuses it', async (sql, shown) => {
    await expect(checkStatement(sql, 'spark')).rejects.toThrow();
    expect(await runRaw(driver, sql)).not.toMatch(shown);
  });

  test('the fence refuses every attack that the engine would run', async () => {
    const executed: string[] = [];
    for (const { sql, does } of SPARK_ATTACKS) {
      const isRun = (await runRaw(driver, sql)).startsWith('rows:');
      if (isRun) executed.push(`${does}: ${sql}`);
      await expect(checkStatement(sql, 'spark')).rejects.toThrow();
    }
    console.info(
      `${name} would have run ${executed.length} of ${SPARK_ATTACKS.length} attacks:\n${executed.join('\n')}`,
    );
    expect(executed.length).toBeGreaterThan(0);
  }, 240_000);
});

test('the fence knows the functions and keywords of this Spark', { timeout: 240_000 }, () => {
  const python = join(programsOf('spark'), 'python');
  const home = execFileSync(python, ['-c', 'import pyspark; print(pyspark.__path__[0])'], { encoding: 'utf8' }).trim();
  const tool = fileURLToPath(new URL('../../packages/scheduler/tools/list-spark-words.js', import.meta.url));
  execFileSync(process.execPath, [tool, '--check'], { env: { ...process.env, SPARK_HOME: home } });
});
