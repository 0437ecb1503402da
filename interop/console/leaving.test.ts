import { deflateRawSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type ServerProcess, sharedProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, runByKeyboard, useBrowser } from './open-console.ts';
import { LONG_SQL } from './steps.ts';

const open = useBrowser();

/** The statements of tabs that run: the page asks for the words of the editor by SQL, too. */
async function runningQueries(server: ServerProcess): Promise<number> {
  const { queries } = (await (await server.fetch('/queries?sql=true')).json()) as { queries: { sql: string }[] };
  return queries.filter(({ sql }) => sql.includes('range(1000000')).length;
}

async function openRunning(server: ServerProcess): Promise<Page> {
  const { page } = await open(server.url);
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, LONG_SQL);
  await expect.poll(() => runningQueries(server)).toBe(1);
  return page;
}

/** Expects the tab as it was left, without a statement that runs. */
async function expectLeft(page: Page, server: ServerProcess): Promise<void> {
  await expect.poll(() => page.locator('.cm-content').innerText()).toBe(LONG_SQL);
  expect(await page.title()).toBe('q1 · svc');
  expect(await runningQueries(server)).toBe(0);
}

test('a reload in the middle of a query ends it, keeps its text and runs nothing', async () => {
  const server = await sharedProcess();
  const page = await openRunning(server);
  await page.reload();
  await expect.poll(() => runningQueries(server)).toBe(0);
  await expectLeft(page, server);
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type("select 'reloaded' as word");
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => cellsOf(page)).toEqual(['reloaded']);
});

test('a page that is left in the middle of a query ends it, and back and forward show the tabs as they were', async () => {
  const server = await sharedProcess();
  const page = await openRunning(server);
  await page.goto(`${server.url}/docs`);
  await expect.poll(() => runningQueries(server)).toBe(0);
  await page.goBack();
  await expectLeft(page, server);
  await page.goForward();
  await page.waitForURL(/\/docs$/);
  await page.goBack();
  await expectLeft(page, server);
});

test('a page that the browser puts aside for the way back ends its query', async () => {
  const server = await sharedProcess();
  const page = await openRunning(server);
  // Chromium puts no page aside that a test watches: the event is its part of it.
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
  await expect.poll(() => runningQueries(server)).toBe(0);
  await page.getByText('Cancelled.').first().waitFor();
});

test('the way back from a link leads to the page before it, and its tab stays', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url);
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, 'select 1 as one');
  await expect.poll(() => cellsOf(page)).toEqual(['1']);
  const tab = '{"kind":"query","id":"a","title":"q2","sql":"select 2","engine":"local"}';
  const link = `${server.url}/#1.${deflateRawSync(tab).toString('base64url')}`;
  await page.goto(`${server.url}/docs`);
  await page.goto(link);
  const tabs = page.getByRole('navigation', { name: 'Tabs' }).getByRole('listitem');
  await expect.poll(() => tabs.count()).toBe(2);
  // The fragment is gone: neither a reload nor the way back and forth opens the tab once more.
  await page.goBack();
  await page.waitForURL(/\/docs$/);
  await page.goForward();
  await page.getByRole('main').waitFor();
  await page.reload();
  await page.locator('.cm-content').waitFor();
  expect(await tabs.count()).toBe(2);
});

/** Counts the objects of a class that are alive after a garbage collection. */
async function objectsOf(page: Page, name: string): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const { result: prototype } = await session.send('Runtime.evaluate', { expression: `${name}.prototype` });
  const { objects } = await session.send('Runtime.queryObjects', { prototypeObjectId: prototype.objectId ?? '' });
  const { result } = await session.send('Runtime.callFunctionOn', {
    objectId: objects.objectId ?? '',
    functionDeclaration: 'function () { return this.length; }',
    returnByValue: true,
  });
  await session.detach();
  return Number(result.value);
}

const CLASSES = ['AbortController', 'Response', 'ReadableStreamDefaultReader', 'Uint8Array'];

test('queries that are cancelled leave no object behind, however often', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url);
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, `select 'start' as word`);
  await expect.poll(() => cellsOf(page)).toEqual(['start']);
  await page.locator('.cm-content').waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('select range as id, md5(range::varchar) as text from range(1000000000)');
  const storm = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i += 1) {
      await page.keyboard.press('Control+Enter');
      // Half of them are cancelled when rows have come, the others at once.
      if (i % 2 === 0) await expect.poll(() => runningQueries(server)).toBe(1);
      await page.keyboard.press('Escape');
    }
    await expect.poll(() => runningQueries(server)).toBe(0);
    await page.getByText('Cancelled.').first().waitFor();
  };
  const alive = async (): Promise<number[]> => {
    const counts: number[] = [];
    for (const name of CLASSES) counts.push(await objectsOf(page, name));
    return counts;
  };
  await storm(4);
  // What a cancelled query waits for is gone when the server has been asked about it, after two seconds.
  const before = await alive();
  await storm(40);
  await expect
    .poll(async () => (await alive()).map((count, i) => count - (before[i] ?? 0)).filter((more) => more > 5))
    .toEqual([]);
});
