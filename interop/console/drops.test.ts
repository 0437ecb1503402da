import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedProcess, testFile } from '../../apps/server/test/server-process.ts';
import { runByKeyboard, useBrowser } from './open-console.ts';

const open = useBrowser();

/** Drops files and folders of the disk at a place of the page. */
async function drop(page: Page, files: string[], place = { x: 500, y: 300 }): Promise<void> {
  const browser = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await browser.send('Input.dispatchDragEvent', { type, ...place, data });
  }
}

/** Opens the console, and waits for the code that takes what is dropped. */
async function openForDrops(): Promise<Page> {
  const { url } = await sharedProcess();
  const { page } = await open(url);
  await page.getByText('No frames yet.').first().waitFor();
  await page.getByText('From a terminal:').waitFor();
  // It is in the same file as this text.
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  return page;
}

test('a file that is dropped on the editor is for an upload, and leaves the text as it is', async () => {
  const page = await openForDrops();
  await runByKeyboard(page, 'select 1');
  const editor = page.locator('.cm-content');
  await editor.waitFor();
  await page.evaluate(`globalThis.drops = 0;
    document.querySelector('.editor-host').addEventListener('drop', () => (globalThis.drops += 1))`);
  const box = await editor.boundingBox();
  await drop(page, [testFile('prices.csv', 'id\n1\n')], { x: (box?.x ?? 0) + 20, y: (box?.y ?? 0) + 8 });
  await expect.poll(() => page.getByLabel('Name of the frame').inputValue()).toBe('prices');
  expect(await page.evaluate('globalThis.drops')).toBe(0);
  expect(await editor.innerText()).toBe('select 1');
});

test('of a folder and a file that are dropped, the file is taken, and the page says why the folder is not', async () => {
  const page = await openForDrops();
  const file = testFile('prices.csv', 'id\n1\n');
  const folder = join(dirname(file), 'folder');
  mkdirSync(folder);
  writeFileSync(join(folder, 'inside.csv'), 'id\n1\n');
  await drop(page, [folder]);
  await page.getByText('A folder cannot be uploaded. Drop the files that are in it.').waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  await drop(page, [folder, file]);
  await page.getByLabel('Name of the frame').waitFor();
  expect(await page.locator('.upload-form legend').allInnerTexts()).toEqual([expect.stringContaining('prices.csv')]);
});
