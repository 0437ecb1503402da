import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { bearer, CALLERS, callersFileOf } from '../../apps/server/test/callers.ts';
import { sharedProcess, type ServerProcess, startProcess, testFile } from '../../apps/server/test/server-process.ts';
import {
  cellsOf,
  dropFile,
  expectAccessible,
  openFrame,
  runByKeyboard,
  useBrowser,
  WITHOUT_TOKEN,
} from './open-console.ts';

const open = useBrowser();

const { all, read, beta } = CALLERS;

async function startWithCallers(): Promise<ServerProcess> {
  const file = testFile('callers.toml', callersFileOf(CALLERS));
  const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
  for (const handle of ['trades', 'secret']) {
    await server.put(handle, [{ symbol: 'BTC' }], { headers: { authorization: bearer(all.token) } });
  }
  return server;
}

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByLabel('Token').waitFor({ state: 'detached' });
}

describe('with tokens', () => {
  test('the token is in no storage, URL or cookie, and a reload asks for it again', async () => {
    const server = await startWithCallers();
    const { page } = await open(server.url, { expected: [WITHOUT_TOKEN] });
    await signIn(page, read.token);
    await openFrame(page, 'trades');
    await runByKeyboard(page, 'select 1');
    await expect.poll(() => cellsOf(page)).toEqual(['1']);
    const kept = await page.evaluate(
      'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href, history.state])',
    );
    expect(kept).toContain('select 1');
    expect(kept).not.toContain(read.token);
    expect(await page.evaluate('indexedDB.databases().then((found) => found.length)')).toBe(0);
    expect(await page.evaluate('caches.keys().then((found) => found.length)')).toBe(0);
    expect(await page.context().cookies()).toEqual([]);
    await page.reload();
    await page.getByLabel('Token').waitFor();
    expect(await page.getByText('trades').count()).toBe(0);
  });

  test('one that may only read is offered no upload, keep or drop', async () => {
    const server = await startWithCallers();
    const { page } = await open(server.url, { expected: [WITHOUT_TOKEN], bypassCSP: true });
    await page.getByLabel('Token').waitFor();
    await expectAccessible(page, 'sign-in');
    await signIn(page, read.token);
    await openFrame(page, 'trades');
    expect(await page.getByRole('button', { name: /upload/i }).count()).toBe(0);
    await page.keyboard.press('u');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('upload');
    await page.getByText('Nothing found.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('tab', { name: 'Info' }).click();
    await page.getByRole('heading', { name: 'Download' }).waitFor();
    expect(await page.getByRole('heading', { name: /^(Drop|Expiry)$/ }).count()).toBe(0);
    await dropFile(page, "new File(['id\\n1\\n'], 'ids.csv')");
    await page.getByText('Your token may read frames but not put any.').waitFor();
    await runByKeyboard(page, 'select symbol from trades');
    await expect.poll(() => cellsOf(page)).toEqual(['BTC']);
    expect(await page.getByRole('button', { name: /^Keep/ }).count()).toBe(0);
    await page.getByRole('grid').focus();
    await page.keyboard.press('k');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await expectAccessible(page, 'read-only');
  });

  test('signing out forgets what the page has seen, and another tenant sees nothing of it', async () => {
    const server = await startWithCallers();
    const { page } = await open(server.url, { expected: [WITHOUT_TOKEN] });
    await signIn(page, all.token);
    await openFrame(page, 'secret');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    expect(await page.locator('body').innerText()).not.toContain('secret');
    await signIn(page, beta.token);
    await page.getByText('No frames yet.').first().waitFor();
    expect(await page.locator('body').innerText()).not.toContain('secret');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, all.token);
    await expect.poll(() => cellsOf(page)).toEqual(['BTC']);
  });
});

describe.each([
  [true, 'are kept for the next browser tab', 1],
  [false, 'are kept until the browser tab is closed', 0],
])('with http.console_history = %s', (isKept, what, count) => {
  test(`tabs and history ${what}`, async () => {
    const server = isKept
      ? await sharedProcess()
      : await startProcess({ env: { SERVICE_HTTP_CONSOLE_HISTORY: 'false' } });
    const { page } = await open(server.url);
    await page.getByRole('main').waitFor();
    await runByKeyboard(page, "select 'remembered' as word");
    await expect.poll(() => cellsOf(page)).toEqual(['remembered']);
    await page.reload();
    await expect.poll(() => page.locator('.cm-content').innerText()).toBe("select 'remembered' as word");
    const next = await page.context().newPage();
    await next.goto(server.url);
    await next.getByText('No frames yet.').first().waitFor();
    expect(await next.getByRole('button', { name: 'q1', exact: true }).count()).toBe(count);
    const stored = String(await next.evaluate('JSON.stringify(localStorage)'));
    expect(stored.includes('remembered')).toBe(isKept);
    await next.keyboard.press('Alt+h');
    await next.getByRole('dialog', { name: 'History' }).waitFor();
    expect(await next.getByRole('dialog').getByText('remembered').count()).toBe(count);
  });
});
