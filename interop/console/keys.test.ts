import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, expectAccessible, openFrame, runByKeyboard, useBrowser } from './open-console.ts';

const open = useBrowser();

/** The element with the focus after a key and the render that it asks for, before the browser can hand out another key. */
async function focusAfter(page: Page, key: string): Promise<string> {
  return page.evaluate(`(async () => {
    const target = document.activeElement ?? document.body;
    target.dispatchEvent(new KeyboardEvent('keydown', { key: ${JSON.stringify(key)}, bubbles: true, cancelable: true }));
    for (let i = 0; i < 20; i += 1) await null;
    const { tagName, role, className } = document.activeElement ?? document.body;
    return [tagName.toLowerCase(), role ?? className].join(' ').trim();
  })()`);
}

/** Presses a key when the page has its first elements, before they are painted. */
const PRESS_AT_ONCE = `new MutationObserver((_, observer) => {
  if (document.querySelector('main') === null) return;
  observer.disconnect();
  const key = { key: 't', code: 'KeyT', altKey: true, bubbles: true, cancelable: true };
  document.body.dispatchEvent(new KeyboardEvent('keydown', key));
}).observe(document, { childList: true, subtree: true })`;

test('a key that is pressed as soon as the page has elements runs its command', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url);
  await page.addInitScript(PRESS_AT_ONCE);
  await page.reload();
  await page.getByRole('textbox', { name: 'SQL' }).waitFor();
});

test('keys that are pressed while the code of a dialog is loading are for the dialog', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ symbol: 'BTC' }]);
  await server.put('dust', [{ symbol: 'none' }]);
  const { page } = await open(server.url);
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/sheets-[^/]*\.js$/, (route) => released.then(() => route.continue()));
  await page.reload();
  await page.getByRole('button', { name: /^trades 1 / }).waitFor();
  // Escape closes what is not there yet, with what was typed for it.
  await page.keyboard.press('Control+k');
  await page.keyboard.type('dust');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('tradu');
  await page.keyboard.press('Backspace');
  await page.keyboard.press('Enter');
  release();
  await expect.poll(() => cellsOf(page)).toEqual(['BTC']);
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  expect(await page.getByRole('combobox').inputValue()).toBe('');
});

test('what is typed at once after a command of the palette is for what the command opened', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url);
  await page.getByRole('main').waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  await page.keyboard.type('open a new q');
  expect(await focusAfter(page, 'Enter')).toBe('textarea draft');
});

test('the palette opens another dialog, which stays open', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url);
  await page.getByRole('main').waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  await page.keyboard.type('all keys');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  // The event of the first dialog has come.
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  expect(await page.getByRole('dialog', { name: 'Keys' }).count()).toBe(1);
});

test('in a narrow window the filter has the focus before the next key', async () => {
  const server = await sharedProcess();
  await server.put('dust', [{ id: 1 }]);
  const { page } = await open(server.url, { viewport: { width: 390, height: 800 } });
  await page.getByText('Choose a frame').waitFor();
  expect(await focusAfter(page, '/')).toBe('input');
});

test('a grid that had the focus has it again with a newer version of its frame', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ symbol: 'old' }]);
  const { page } = await open(server.url);
  await openFrame(page, 'trades');
  await page.getByRole('grid').focus();
  await server.put('trades', [{ symbol: 'new' }, { symbol: 'newer' }]);
  await page.getByText('A newer version is there: 2 rows.').waitFor();
  expect(await focusAfter(page, 'r')).toBe('div grid');
  await expect.poll(() => cellsOf(page)).toEqual(['new', 'newer']);
});

test('a grid that had the focus has it again with the next answer', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url);
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, 'select uuid() as id');
  await page.getByRole('gridcell').first().waitFor();
  const before = await cellsOf(page);
  await page.getByRole('grid').focus();
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => cellsOf(page)).not.toEqual(before);
  expect(await page.evaluate('document.activeElement.role')).toBe('grid');
});

test('what is typed replaces the selection, and a bracket is put around it', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url);
  await page.getByRole('main').waitFor();
  await page.keyboard.press('Alt+t');
  const editor = page.locator('.cm-content');
  await editor.waitFor();
  await page.keyboard.type("select 1 as a, 'b'");
  await page.keyboard.press('Control+a');
  await page.keyboard.type('(');
  await expect.poll(() => editor.innerText()).toBe("(select 1 as a, 'b')");
  await page.keyboard.press('Control+a');
  await page.keyboard.type('x');
  await expect.poll(() => editor.innerText()).toBe('x');
  await page.keyboard.press('Control+z');
  await expect.poll(() => editor.innerText()).toBe("(select 1 as a, 'b')");
});

test('the help has the keys of the page and those of rows', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url, { bypassCSP: true });
  await page.getByRole('main').waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  await help.waitFor();
  const keys = await help.locator('dt').allInnerTexts();
  expect(keys).toEqual(expect.arrayContaining(['Alt T', 'Ctrl G', 'Space', 'Ctrl C', 'S', 'F']));
  await expectAccessible(page, 'help');
});
