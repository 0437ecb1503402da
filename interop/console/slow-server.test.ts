import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, openFrame, runByKeyboard, useBrowser } from './open-console.ts';

const open = useBrowser();

/** Holds the requests of a method to a path; returns the function that lets them go. */
async function hold(page: Page, path: string, method: string): Promise<() => void> {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const isHeld = ({ pathname }: URL): boolean => pathname === path;
  await page.route(isHeld, async (route) => {
    if (route.request().method() === method) await released;
    await route.continue();
  });
  return () => release();
}

test('an answer is kept once, however slow the server is', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url);
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, 'select 42 as n');
  await expect.poll(() => cellsOf(page)).toEqual(['42']);
  await page.getByRole('grid').focus();
  await page.keyboard.press('k');
  await page.getByLabel('Name', { exact: true }).fill('answer');
  const release = await hold(page, '/frames', 'GET');
  await page.keyboard.press('Enter');
  // It is stored, and the list has not come yet.
  await page.getByText('Kept 1 row as answer.').waitFor();
  await page.keyboard.press('Enter');
  expect(await page.getByRole('progressbar', { name: 'Keeping the answer' }).count()).toBe(1);
  release();
  await page.getByRole('grid', { name: 'Rows of answer' }).waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
});

test('a frame is dropped once, however slow the server is', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ id: 1 }]);
  const { page } = await open(server.url);
  await openFrame(page, 'trades');
  await page.keyboard.press('Alt+4');
  await page.getByRole('button', { name: 'Drop…' }).click();
  const release = await hold(page, '/frames/trades', 'DELETE');
  const button = page.getByRole('button', { name: 'Drop trades for good' });
  await button.click();
  await expect.poll(() => button.isDisabled()).toBe(true);
  release();
  await page.getByRole('heading', { name: 'There is no frame trades.' }).waitFor();
});
