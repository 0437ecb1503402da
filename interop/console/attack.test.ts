import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { sharedProcess, startProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, openFrame, takePicture, useBrowser } from './open-console.ts';

declare const localStorage: { setItem(name: string, value: string): void };
declare const sessionStorage: { clear(): void };

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

test('control and bidi characters of columns are symbols in the info, the controls of charts and the points', async () => {
  const server = await sharedProcess();
  await server.put('turned', [
    { '\u202Ex\n': 1, '\u202Ey': 2 },
    { '\u202Ex\n': 2, '\u202Ey': 3 },
  ]);
  const { page } = await open(server.url);
  await openFrame(page, 'turned');
  await page.keyboard.press('Alt+4');
  await expect.poll(() => page.locator('.info-pane td').allInnerTexts()).toContain('‹U+202E›x␊');
  await page.keyboard.press('Alt+2');
  await page.getByText(/^Table of/).click();
  const shown = await page.locator('.chart-pane').innerText();
  expect(shown).toContain('‹U+202E›y');
  expect(shown).not.toMatch(/\u202E/);
  expect(await page.locator('.chart-pane option').allInnerTexts()).toContain('‹U+202E›x␊');
});

test('a long name of a column leaves the figures of a summary on the page', async () => {
  const server = await sharedProcess();
  await server.put('named', [{ [`long ${'x'.repeat(200)}`]: 1, other: 2 }]);
  const { page } = await open(server.url, { viewport: { width: 1200, height: 800 } });
  await openFrame(page, 'named');
  await page.keyboard.press('Alt+3');
  const mean = page
    .getByRole('region', { name: 'Summary of the columns' })
    .locator('tbody tr')
    .last()
    .locator('td')
    .last();
  await expect.poll(() => mean.innerText()).toBe('2');
  const box = await mean.boundingBox();
  expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThan(1200);
  await takePicture(page, 'summary-long-name');
});

test.each([
  ['#2.abc', 'This link is of another version of the console.'],
  ['#1.abc', 'This link is damaged.'],
  ['#nothing', 'This is not a link to a tab.'],
])('the link %s opens nothing, and the page says why', async (fragment, text) => {
  const { url } = await sharedProcess();
  const { page } = await open(`${url}/${fragment}`);
  await page.getByText(text).waitFor();
  expect(new URL(page.url()).hash).toBe('');
});

test('the longest SQL that a tab keeps can be typed into, and is kept', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url);
  await page.getByRole('main').waitFor();
  await page.evaluate(() => {
    const sql = `-- ${'x'.repeat(96)}\n`.repeat(9_900);
    const tab = { kind: 'query', id: 'long', title: 'q1', sql, engine: 'local', view: 'rows' };
    localStorage.setItem('svc:/::tabs', JSON.stringify({ tabs: [tab], currentId: 'long' }));
    sessionStorage.clear();
  });
  await page.reload();
  await page.locator('.editor-host').waitFor();
  await page.locator('.editor-host').click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('select 1');
  const firstLine = page.locator('.cm-line').first();
  await expect.poll(() => firstLine.innerText()).toMatch(/^select 1-- x/);
  await page.reload();
  await page.locator('.editor-host').click();
  await page.keyboard.press('Control+Home');
  await expect.poll(() => firstLine.innerText()).toMatch(/^select 1-- x/);
}, 180_000);

test('a history of thousands of starred entries with broken numbers is shown', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url);
  await page.getByRole('main').waitFor();
  await page.evaluate(() => {
    const entry = { engine: 'local', outcome: 'done', elapsedMs: 1, isStarred: true };
    const many = Array.from({ length: 20_000 }, (_, i) => ({
      ...entry,
      id: String(i),
      sql: `select ${i}`,
      ranAtMs: i % 2 === 0 ? 1e300 : i,
    }));
    localStorage.setItem('svc:/::history', JSON.stringify(many));
  });
  await page.reload();
  await page.getByRole('main').waitFor();
  await page.keyboard.press('Alt+h');
  await page.getByText('The first 200 of 500.').waitFor();
  expect(await page.getByRole('dialog').getByRole('listitem').count()).toBe(200);
});

test('a tab that is opened at the end of a full bar is in view, with its close button', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(url, { viewport: { width: 900, height: 600 } });
  await page.getByRole('main').waitFor();
  for (let i = 0; i < 12; i += 1) await page.keyboard.press('Alt+t');
  const bar = page.getByRole('navigation', { name: 'Tabs' }).getByRole('list');
  const close = bar.getByRole('button', { name: 'Close q12' });
  const endOf = async (element: typeof bar): Promise<number> => {
    const box = await element.boundingBox();
    return Math.floor((box?.x ?? Infinity) + (box?.width ?? Infinity));
  };
  await expect.poll(async () => (await endOf(close)) <= (await endOf(bar))).toBe(true);
});
