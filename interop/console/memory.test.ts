import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type ServerProcess, sharedProcess } from '../../apps/server/test/server-process.ts';
import { useBrowser } from './open-console.ts';

const open = useBrowser();

/** The most rows of an answer, all different, in every type of column that a chart reads. */
const WIDE = `select ${Array.from({ length: 5 }, (_, i) =>
  [
    `timestamp '2024-01-01' + to_microseconds((range * ${1_000_003 + i})::bigint) as t${i}`,
    `sin(range * ${i + 1}) as v${i}`,
    `(hash(range + ${i}) % 1000000007)::bigint as n${i}`,
    `('k' || (hash(range * ${i + 1}) % 100000)) as s${i}`,
  ].join(', '),
).join(', ')}, range % 3 as few, (range / 7)::decimal(12, 4) as d from range(190000)`;

async function run(page: Page, sql: string): Promise<void> {
  await page.getByRole('main').waitFor();
  await page.keyboard.press('Alt+t');
  await page.keyboard.insertText(sql);
  await page.keyboard.press('Control+Enter');
  await page
    .locator('.facts')
    .getByText(/^190.000 rows/)
    .waitFor();
}

/** The number of different values, the lowest and the highest of a column, as the engine finds them. */
async function figuresOf(server: ServerProcess, column: string): Promise<string[]> {
  const sql = `select count(distinct ${column}), min(${column}), max(${column}) from (${WIDE})`;
  const response = await server.fetch('/exec?engine=local&fmt=json', { method: 'POST', body: sql });
  const { dataset } = (await response.json()) as { dataset: unknown[][] };
  return (dataset[0] ?? []).map(String);
}

test('a summary of the longest answer is that of the engine, the page takes keys meanwhile, and its chart is drawn', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url);
  await run(page, WIDE);
  await page.keyboard.press('Alt+3');
  await page.locator('.summary-pane').waitFor();
  await page.keyboard.press('Alt+1');
  await page.getByRole('gridcell').first().waitFor();
  await page.keyboard.press('Alt+3');
  const rows = page.locator('.summary-pane tbody tr');
  await expect.poll(() => rows.locator('td:nth-child(7)').count(), { timeout: 150_000 }).toBe(22);
  for (const [at, column] of [
    [2, 'n0'],
    [19, 's4'],
    [20, 'few'],
  ] as const) {
    const cells = await rows.nth(at).locator('td').allInnerTexts();
    expect([column, ...cells.slice(2, 5).map((text) => text.replaceAll(/\s/gu, ''))]).toEqual([
      column,
      ...(await figuresOf(server, column)),
    ]);
  }
  await page.keyboard.press('Alt+2');
  await page.getByText(/^Table of/).waitFor();
}, 240_000);
