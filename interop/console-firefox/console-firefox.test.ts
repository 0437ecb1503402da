import { expect, test } from 'vitest';
import { sharedProcess, testFile } from '../../apps/server/test/server-process.ts';
import { type FirefoxPage, useFirefox } from './firefox-page.ts';
import { keep, LONG_SQL } from '../console/steps.ts';

const open = useFirefox();

/** An expression: the editor's text. */
const EDITOR_TEXT = `document.querySelector('.editor-host')?.shadowRoot.querySelector('.cm-content')?.innerText`;

async function openFrame(page: FirefoxPage): Promise<void> {
  await page.click('.frame .open');
  await expect.poll(async () => (await page.cells())?.length).toBeGreaterThan(0);
}

async function openQuery(page: FirefoxPage, sql: string): Promise<void> {
  await page.press('Alt+t');
  await expect.poll(() => page.evaluate(EDITOR_TEXT)).toBeDefined();
  await page.type(sql);
}

/** The text of the page. */
const textOf = (page: FirefoxPage) => async (): Promise<string> =>
  String(await page.evaluate('document.body.innerText'));

test('rows beyond the greatest height of an element are reached by the keyboard and the wheel', async () => {
  const server = await sharedProcess();
  await keep(server, 'ids', 'select range as id from range(3000000)');
  const page = await open(server.url);
  await openFrame(page);
  await page.click('.grid-scroll');
  await page.press('Control+End');
  await expect.poll(async () => (await page.cells())?.at(-1)).toBe('2999999');
  await page.wheel('.grid-scroll', -240);
  await expect.poll(async () => (await page.cells())?.at(-1)).toBe('2999989');
  await page.press('Control+Home');
  await expect.poll(async () => (await page.cells())?.[0]).toBe('0');
});

test('cells are copied as text', async () => {
  const server = await sharedProcess();
  await server.put('trades', [
    { symbol: 'BTC', price: 2.5 },
    { symbol: 'ETH', price: null },
  ]);
  const page = await open(server.url);
  await openFrame(page);
  await page.click('.grid-scroll');
  await page.press('Control+a');
  await page.press('Control+c');
  await expect.poll(textOf(page)).toContain('Copied 4 cells.');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('BTC\t2.5\nETH\t');
});

test('the editor completes, replaces what is selected, and runs', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ symbol: 'BTC', price: 2.5 }]);
  const page = await open(server.url);
  await expect.poll(textOf(page)).toContain('trades');
  await openQuery(page, "select 'old' as word, 1");
  await page.press('Control+a');
  await page.type('select max(pri');
  const proposals = `document.querySelector('.editor-host').shadowRoot.querySelector('.cm-tooltip-autocomplete')?.innerText`;
  await expect.poll(async () => String(await page.evaluate(proposals))).toContain('price');
  await page.press('Escape');
  await page.type('ce) as high from trades');
  expect(await page.evaluate(EDITOR_TEXT)).toBe('select max(price) as high from trades');
  await page.press('Control+Enter');
  await expect.poll(() => page.cells()).toEqual(['2.5']);
});

test('Escape ends a query in the server', async () => {
  const server = await sharedProcess();
  const page = await open(server.url);
  const running = async (): Promise<unknown> =>
    ((await (await server.fetch('/queries')).json()) as { queries: unknown[] }).queries.length;
  await openQuery(page, LONG_SQL);
  await page.press('Control+Enter');
  await expect.poll(running).toBe(1);
  await expect.poll(() => page.evaluate(`document.querySelector('.run-status progress') !== null`)).toBe(true);
  await page.press('Escape');
  await expect.poll(running).toBe(0);
  await expect.poll(textOf(page)).toContain('Cancelled.');
});

test('a file is put, drawn, summarised and saved', async () => {
  const server = await sharedProcess();
  const page = await open(server.url);
  await expect.poll(textOf(page)).toContain('No frames yet.');
  await page.press('u');
  await page.setFile('dialog input[type=file]', testFile('prices.csv', 'at,price\n2026-01-01,2.5\n2026-01-02,3.5\n'));
  await page.click('dialog button[type=submit]');
  await openFrame(page);
  expect(await page.cells()).toContain('3.5');
  await page.press('Alt+2');
  const blue = `(() => {
    const canvas = document.querySelector('.chart-pane canvas');
    const bytes = canvas?.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    let count = 0;
    for (let i = 0; i < bytes.length; i += 4) count += bytes[i + 2] > 150 && bytes[i] < 100 && bytes[i + 3] > 200;
    return count;
  })()`;
  await expect.poll(() => page.evaluate(blue)).toBeGreaterThan(200);
  await page.press('Alt+3');
  await expect.poll(textOf(page)).toMatch(/Mean[\s\S]*price[\s\S]*\b3\b/);
  await page.press('Alt+4');
  const saved = page.nextDownload();
  await page.click('.info-pane .buttons button:has(.icon)');
  expect(await saved).toBe('prices.csv');
});

test('a link restores its tab, and runs nothing', async () => {
  const server = await sharedProcess();
  const page = await open(server.url);
  await openQuery(page, 'select 6 * 7 as answer');
  await page.press('Alt+l');
  await expect.poll(textOf(page)).toContain('The link is copied.');
  const link = String(await page.evaluate('navigator.clipboard.readText()'));
  const other = await open(link);
  await expect.poll(() => other.evaluate(EDITOR_TEXT)).toBe('select 6 * 7 as answer');
  expect(await other.cells()).toBeUndefined();
  await other.press('Control+Enter');
  await expect.poll(() => other.cells()).toEqual(['42']);
});
