import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type ServerProcess, sharedProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, REFUSED, runByKeyboard, useBrowser } from './open-console.ts';
import { LONG_SQL } from './steps.ts';

const open = useBrowser();

async function runningQueries(server: ServerProcess): Promise<number> {
  const { queries } = (await (await server.fetch('/queries')).json()) as { queries: unknown[] };
  return queries.length;
}

test('a statement is opened, typed at once and run from the keyboard alone', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ id: 1 }, { id: 2 }, { id: 3 }]);
  const { page } = await open(server.url);
  await page.getByRole('button', { name: /^trades 3 / }).waitFor();
  // Every letter that is a key of the console is in it.
  await runByKeyboard(page, 'select 42 * count(*) as duskfr from trades /*?*/');
  await expect.poll(() => cellsOf(page)).toEqual(['126']);
  await runByKeyboard(page, 'select 7 as second');
  await expect.poll(() => cellsOf(page)).toEqual(['7']);
});

test('what is typed before the code of the editor is loaded is in it, and runs', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url);
  await page.getByRole('main').waitFor();
  const held: (() => void)[] = [];
  await page.route(/\/editor-[^/]*\.js$/, (route) => void held.push(() => void route.continue()));
  await runByKeyboard(page, 'select 6 * 7');
  await expect.poll(() => cellsOf(page)).toEqual(['42']);
  await expect.poll(() => held.length).toBeGreaterThan(0);
  await page.keyboard.type('1');
  for (const go of held) go();
  await page.locator('.cm-content').waitFor();
  await page.keyboard.type('0');
  await expect.poll(() => page.locator('.cm-content').innerText()).toBe('select 6 * 710');
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => cellsOf(page)).toEqual(['4260']);
});

test('a statement that is refused says why', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url, { expected: [REFUSED] });
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, 'select nothing_there');
  await expect.poll(() => page.getByRole('alert').innerText()).toContain('nothing_there');
});

test.each([
  ['Escape', (page: Page) => page.keyboard.press('Escape')],
  ['the end of its tab', (page: Page) => page.keyboard.press('Alt+w')],
  ['the end of the page', (page: Page) => page.close()],
])('%s ends a long query in the server', async (_, end) => {
  const server = await sharedProcess();
  const { page } = await open(server.url);
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, LONG_SQL);
  await expect.poll(() => runningQueries(server)).toBe(1);
  await page.getByRole('progressbar', { name: 'Progress of the statement' }).waitFor();
  await end(page);
  await expect.poll(() => runningQueries(server)).toBe(0);
  // The engine is free: the next statement is answered.
  const response = await server.fetch('/exec?engine=local&fmt=json&query=select%201');
  expect(response.status).toBe(200);
});

test('the progress of a query rises', async () => {
  const server = await sharedProcess();
  const body = JSON.stringify({ sql: 'select range as id from range(10000000)', engine: 'local', handle: 'big' });
  const headers = { 'content-type': 'application/json' };
  expect((await server.fetch('/frames', { method: 'POST', body, headers })).status).toBe(201);
  const { page } = await open(server.url);
  await page.getByRole('main').waitFor();
  await page.keyboard.press('Alt+t');
  // Long enough on any machine: three values are seen, and it is cancelled.
  await page.keyboard.type('select id % 1000 as k, max(sha256(repeat(id::varchar, 40))) from big group by k');
  await page.evaluate(WATCH_PROGRESS);
  await page.keyboard.press('Control+Enter');
  const values = await page.evaluate<number[]>('window.watched');
  expect(values).toEqual(values.toSorted((a, b) => a - b));
  await page.keyboard.press('Escape');
  await expect.poll(() => runningQueries(server)).toBe(0);
});

/** Makes a promise of the first three values of a bar. */
const WATCH_PROGRESS = `void (window.watched = new Promise((resolve) => {
  const values = [];
  const look = () => {
    const value = document.querySelector('.run-status progress[value]')?.value;
    if (value !== undefined && value !== values.at(-1)) values.push(value);
    if (values.length < 3) requestAnimationFrame(look);
    else resolve(values);
  };
  look();
}))`;
