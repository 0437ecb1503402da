import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type ServerProcess, sharedProcess } from '../../apps/server/test/server-process.ts';
import { openFrame, takePicture, useBrowser } from './open-console.ts';

const open = useBrowser();

const OLD = Array.from({ length: 10 }, (_, i) => ({ id: i, price: i / 2 }));
const NEW = Array.from({ length: 20 }, (_, i) => ({ id: i + 100, price: i + 100 }));

/** Replaces the frame just before the first statement with a text is sent. */
async function replaceBefore(page: Page, server: ServerProcess, text: string): Promise<void> {
  let isReplaced = false;
  await page.route(
    ({ pathname }) => pathname === '/exec',
    async (route) => {
      if (!isReplaced && route.request().postData()?.includes(text)) {
        isReplaced = true;
        await server.put('trades', NEW);
      }
      await route.continue();
    },
  );
}

const figuresOf = (page: Page): Promise<string[][]> =>
  page
    .locator('.summary-pane tbody tr')
    .evaluateAll((rows) =>
      rows.map((row) => [...row.querySelectorAll('td:not(.summary-picture)')].map((cell) => cell.textContent ?? '')),
    );

const NEWER = 'A newer version is there: 20 rows.';
const NOT_READ = 'Not read: the frame has been replaced.';

test('a summary has the figures of one version of a frame, and says what it could not read', async () => {
  const server = await sharedProcess();
  await server.put('trades', OLD);
  const { page } = await open(server.url);
  await openFrame(page, 'trades');
  await replaceBefore(page, server, '"price"');
  await page.keyboard.press('Alt+3');
  await page.getByText(NEWER).waitFor();
  await page.getByText(NOT_READ).waitFor();
  expect(await figuresOf(page)).toEqual([['0', '10', '0', '9', '4.5'], []]);
  await takePicture(page, 'summary-replaced');
  await page.keyboard.press('r');
  await expect
    .poll(() => figuresOf(page))
    .toEqual([
      ['0', '20', '100', '119', '109.5'],
      ['0', '20', '100', '119', '109.5'],
    ]);
  expect(await page.getByText(NOT_READ).count()).toBe(0);
});

test('a chart keeps the picture of the version it shows, and a zoom does not mix in another', async () => {
  const server = await sharedProcess();
  await server.put('trades', OLD);
  const { page } = await open(server.url);
  await openFrame(page, 'trades');
  await page.keyboard.press('Alt+2');
  const chart = page.getByRole('application', { name: /^line chart/ });
  await chart.waitFor();
  const before = await chart.getAttribute('aria-label');
  await replaceBefore(page, server, 'select');
  await chart.focus();
  await page.keyboard.press('+');
  await page.getByText(NEWER).waitFor();
  await page.getByText('The frame has been replaced. Reload shows the newer version.').waitFor();
  expect(await chart.getAttribute('aria-label')).toBe(before);
  await page.keyboard.press('r');
  await expect.poll(() => chart.getAttribute('aria-label')).toContain('from 100 to 119');
});

test('a summary of a version that is gone reads nothing', async () => {
  const server = await sharedProcess();
  await server.put('trades', OLD);
  const { page } = await open(server.url);
  await openFrame(page, 'trades');
  await server.put('trades', NEW);
  await page.getByText(NEWER).waitFor();
  const statements: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === '/exec') statements.push(request.postData() ?? '');
  });
  await page.keyboard.press('Alt+3');
  await expect.poll(() => page.getByText(NOT_READ).count()).toBe(2);
  expect(statements).toEqual([]);
});
