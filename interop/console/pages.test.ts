import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, runByKeyboard, useBrowser } from './open-console.ts';

const open = useBrowser();

/** Opens the console twice in one browser. */
async function openTwice(): Promise<readonly [Page, Page]> {
  const { url } = await sharedProcess();
  const { page: first } = await open(url);
  const second = await first.context().newPage();
  await second.goto(url);
  for (const page of [first, second]) await page.getByRole('main').waitFor();
  return [first, second];
}

async function run(page: Page, number: number): Promise<void> {
  await runByKeyboard(page, `select ${number} as n`);
  await expect.poll(() => cellsOf(page)).toEqual([String(number)]);
}

const entriesOf = (page: Page) => page.getByRole('dialog', { name: 'History' }).locator('code');

test('the history has what all pages of a browser ran, and what one of them forgets stays forgotten', async () => {
  const [first, second] = await openTwice();
  await first.keyboard.press('Alt+h');
  await first.getByText('Queries that you run are listed here.').waitFor();
  await run(second, 2);
  await expect.poll(() => entriesOf(first).allInnerTexts()).toEqual(['select 2 as n']);
  await first.keyboard.press('Escape');
  await run(first, 1);
  await second.keyboard.press('Alt+h');
  await expect.poll(() => entriesOf(second).allInnerTexts()).toEqual(['select 1 as n', 'select 2 as n']);
  await second.getByRole('button', { name: 'Forget all' }).click();
  await second.getByRole('button', { name: 'Really forget all' }).click();
  await first.keyboard.press('Alt+h');
  await first.getByText('Queries that you run are listed here.').waitFor();
  await first.keyboard.press('Escape');
  await run(first, 3);
  await first.reload();
  await first.getByRole('main').waitFor();
  await first.keyboard.press('Alt+h');
  await expect.poll(() => entriesOf(first).allInnerTexts()).toEqual(['select 3 as n']);
});

test('each page of a browser has its own tabs after a reload', async () => {
  const [first, second] = await openTwice();
  await run(first, 1);
  await run(second, 2);
  for (const [page, text] of [
    [first, 'select 1 as n'],
    [second, 'select 2 as n'],
  ] as const) {
    await page.reload();
    await expect.poll(() => page.locator('.cm-content').innerText()).toBe(text);
  }
});
