import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedProcess, startProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, openFrame, useBrowser } from './open-console.ts';

const open = useBrowser();

async function runSql(page: Page, sql: string): Promise<void> {
  await page.getByRole('main').waitFor();
  await page.keyboard.press('Alt+t');
  await page.keyboard.insertText(sql);
  await page.keyboard.press('Control+Enter');
}

test('a page from another machine without TLS shows rows and runs SQL', async () => {
  const env = { SERVICE_HTTP_ALLOWED_HOSTS: '127.0.0.1, rebound.example' };
  const server = await startProcess({ env });
  await server.put('trades', [{ symbol: 'BTC' }]);
  // Chromium ignores one header of such a page, and reports it.
  const expected = [/Cross-Origin-Opener-Policy header has been ignored/];
  const { page } = await open(`http://rebound.example:${server.port}/`, { expected });
  expect(await page.evaluate('isSecureContext')).toBe(false);
  await openFrame(page, 'trades');
  await expect.poll(() => cellsOf(page)).toEqual(['BTC']);
  await runSql(page, 'select 6 * 7');
  await expect.poll(() => cellsOf(page)).toEqual(['42']);
});

test('control and bidi characters of names and values are symbols in the list and in the summary', async () => {
  const server = await sharedProcess();
  await server.put('hostile', [{ '\u202Elive\n': '\u202Eexe\0' }]);
  const { page } = await open(server.url);
  await openFrame(page, 'hostile');
  await page.getByRole('button', { name: 'Columns of hostile' }).click();
  expect(await page.getByRole('list').getByText('live').innerText()).toBe('‹U+202E›live␊');
  await page.keyboard.press('Alt+3');
  const cells = page.getByRole('region', { name: 'Summary of the columns' }).getByRole('cell');
  await expect.poll(() => cells.allInnerTexts()).toContain('‹U+202E›exe␀');
});
