import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import type { FileChooser, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { sharedProcess, startProcess, testFile } from '../../apps/server/test/server-process.ts';
import { LOCAL_LISTENERS } from '../../tools/local-listeners.js';
import {
  cellsOf,
  dropFile,
  GONE,
  openFrame,
  runByKeyboard,
  takePicture,
  useBrowser,
  violationsIn,
} from './open-console.ts';
import { startProxy } from './proxy.ts';
import { LONG_SQL } from './steps.ts';

const open = useBrowser();

const GONE_TEXT = 'What you typed is kept.';

const PROGRESS = { name: 'Progress of the statement' } as const;

test('the keyboard alone puts a file, finds its frame, queries, cancels, charts, downloads and shares', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url, { permissions: ['clipboard-read', 'clipboard-write'] });
  const { keyboard } = page;
  // Chromium gives its pickers to the test from this line on. Set with the key, the listener could come after it.
  const choosers: FileChooser[] = [];
  page.on('filechooser', (chooser) => choosers.push(chooser));
  await page.getByText('No frames yet.').first().waitFor();
  await keyboard.press('u');
  await page.getByRole('dialog', { name: 'Upload files' }).waitFor();
  await tabTo(page, 'input[type=file]');
  await keyboard.press('Enter');
  await expect.poll(() => choosers.length).toBe(1);
  await choosers[0]?.setFiles(testFile('prices.csv', 'at,price\n2026-01-01T00:00:00Z,2.5\n2026-01-02T00:00:00Z,3.5\n'));
  await page.getByLabel('Name of the frame').waitFor();
  await keyboard.press('Enter');
  await page.getByRole('button', { name: /^prices 2 / }).waitFor();

  await keyboard.press('/');
  await keyboard.type('pri');
  await keyboard.press('Enter');
  await expect.poll(() => cellsOf(page)).toContain('3.5');
  await keyboard.press('Alt+2');
  await page.getByRole('application', { name: /price/ }).waitFor();

  await runByKeyboard(page, LONG_SQL);
  await page.getByRole('progressbar', PROGRESS).waitFor();
  await keyboard.press('Escape');
  await page.getByText('Cancelled.').first().waitFor();
  await page.locator('.cm-content').waitFor();
  await keyboard.press('Control+a');
  await keyboard.type('select max(price) as high from prices');
  await keyboard.press('Control+Enter');
  await expect.poll(() => cellsOf(page)).toEqual(['3.5']);

  await keyboard.press('Alt+ArrowLeft');
  await page.getByRole('region', { name: 'Frame prices' }).waitFor();
  await keyboard.press('Alt+ArrowRight');
  await page.getByRole('region', { name: 'Query q1' }).waitFor();
  await keyboard.press('Alt+ArrowRight');
  await page.getByRole('region', { name: 'Frame prices' }).waitFor();

  await keyboard.press('d');
  await tabTo(page, 'button:has-text("parquet")');
  const [download] = await Promise.all([page.waitForEvent('download'), keyboard.press('Enter')]);
  expect(download.suggestedFilename()).toBe('prices.parquet');
  await keyboard.press('Alt+l');
  await page.getByText('The link is copied.').waitFor();
  expect(String(await page.evaluate('navigator.clipboard.readText()'))).toMatch(/#1\./);
});

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, selector: string): Promise<void> {
  const target = page.locator(selector).first();
  await target.waitFor({ state: 'attached' });
  for (let i = 0; i < 60; i += 1) {
    if (await target.evaluate((element) => element.matches(':focus'))) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${selector}.`);
}

test('a file picker that is cancelled leaves its dialog open', async () => {
  const { page } = await open((await sharedProcess()).url);
  await page
    .getByRole('button', { name: /^Upload/ })
    .first()
    .waitFor();
  await page.keyboard.press('u');
  await tabTo(page, 'input[type=file]');
  await page.evaluate(WATCH_CANCEL);
  // Chromium without a screen cancels every picker at once.
  await page.keyboard.press('Enter');
  await page.evaluate('window.cancelled');
  expect(await page.getByRole('dialog', { name: 'Upload files' }).count()).toBe(1);
});

/** Makes a promise of the first frame after a picker was cancelled. */
const WATCH_CANCEL = `void (window.cancelled = new Promise((resolve) => {
  document.addEventListener('cancel', () => requestAnimationFrame(() => requestAnimationFrame(resolve)), { capture: true });
}))`;

test('200 MB that are dropped show their progress, and the page stays usable', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ symbol: 'BTC' }]);
  const path = testFile('big.csv', 'text\n');
  const file = openSync(path, 'a');
  const lines = `${'x'.repeat(999)}\n`.repeat(1000);
  for (let i = 0; i < 200; i += 1) writeSync(file, lines);
  closeSync(file);
  // The start of the file is sent; the rest waits until the page was used.
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const proxy = await startProxy(server.url, {
    receive(incoming, forwarded) {
      void pipeline(
        incoming,
        async function* hold(chunks: AsyncIterable<Buffer>) {
          let bytes = 0;
          for await (const chunk of chunks) {
            bytes += chunk.length;
            if (bytes > 50e6) await released;
            yield chunk;
          }
        },
        forwarded,
      );
    },
  });
  const { page } = await open(proxy);
  await page.getByRole('button', { name: /^trades 1 / }).waitFor();
  // A drop has files of the user's disk: those of an input are, too.
  await page.evaluate(
    "document.body.append(Object.assign(document.createElement('input'), { type: 'file', id: 'disk' }))",
  );
  await page.locator('#disk').setInputFiles(path);
  await dropFile(page, "document.querySelector('#disk').files[0]");
  await page.getByLabel('Name of the frame').waitFor();
  await page.keyboard.press('Enter');
  const tray = page.getByRole('region', { name: 'Uploads' });
  const bar = tray.getByRole('progressbar', { name: 'Upload of big' });
  const sent = async (): Promise<number> => Number(await bar.getAttribute('value'));
  await expect.poll(sent).toBeGreaterThan(40e6);
  await openFrame(page, 'trades');
  expect(await cellsOf(page)).toEqual(['BTC']);
  expect(await sent()).toBeLessThan(180e6);
  release();
  await tray.getByText(/^200\s000 rows$/u).waitFor({ timeout: 90_000 });
});

test('a server that is killed in mid-query and in mid-scroll is found again without a reload', async () => {
  const args = ['--data-dir', join(dirname(testFile('empty', '')), 'data')];
  const first = await startProcess({ args });
  const body = JSON.stringify({ sql: 'select range as id from range(1000000)', engine: 'local', handle: 'ids' });
  await first.fetch('/frames', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const { page: scrolling } = await open(first.url, { expected: [GONE] });
  const { page: querying } = await open(first.url, { expected: [GONE], bypassCSP: true });
  await openFrame(scrolling, 'ids');
  await querying.getByRole('main').waitFor();
  await runByKeyboard(querying, LONG_SQL);
  await querying.getByRole('progressbar', PROGRESS).waitFor();
  for (const page of [scrolling, querying]) await page.evaluate("globalThis.isSamePage = 'yes'");

  await scrolling.mouse.move(700, 400);
  for (let i = 0; i < 5; i += 1) await scrolling.mouse.wheel(0, 20_000);
  first.child.kill('SIGKILL');
  for (let i = 0; i < 5; i += 1) await scrolling.mouse.wheel(0, 20_000);
  await first.exited;
  for (const page of [scrolling, querying]) await page.getByText(GONE_TEXT).waitFor();
  await takePicture(querying, 'gone');
  expect(await violationsIn(querying)).toEqual([]);
  const listeners = LOCAL_LISTENERS.map((flag) => (flag === '127.0.0.1:0' ? `127.0.0.1:${first.port}` : flag));
  await startProcess({ args, listeners });

  for (const page of [scrolling, querying]) {
    await page.getByText(GONE_TEXT).waitFor({ state: 'detached', timeout: 30_000 });
  }
  await scrolling.locator('.grid-rest:not([hidden])').waitFor({ state: 'attached' });
  await expect.poll(() => scrolling.locator('[role=gridcell][aria-busy]').count()).toBe(0);
  const rows = await scrolling.getByRole('rowheader').allInnerTexts();
  expect(Number(rows[0])).toBeGreaterThan(1000);
  expect(await cellsOf(scrolling)).toEqual(rows.map((number) => `${Number(number) - 1}`));
  await querying.locator('.cm-content').click();
  await querying.keyboard.press('Control+a');
  await querying.keyboard.type("select 'back' as word");
  await querying.keyboard.press('Control+Enter');
  await expect.poll(() => cellsOf(querying)).toEqual(['back']);
  for (const page of [scrolling, querying]) expect(await page.evaluate('globalThis.isSamePage')).toBe('yes');
});

describe('what the user prefers', () => {
  test('with forced colours nothing is lost, and with reduced motion nothing moves', async () => {
    const server = await sharedProcess();
    await server.put('trades', [{ symbol: 'BTC', price: 2 }]);
    const options = { forcedColors: 'active', reducedMotion: 'reduce', bypassCSP: true } as const;
    const { page } = await open(server.url, options);
    await openFrame(page, 'trades');
    await takePicture(page, 'forced-colors-frame');
    await runByKeyboard(page, LONG_SQL);
    await expect.poll(() => page.locator('.run-status').innerText()).toMatch(/s$/);
    await takePicture(page, 'forced-colors-running');
    // Only the mark of a tab that runs turns, slowly.
    expect(await page.evaluate(MOVING_MS)).toEqual([4000]);
    await page.keyboard.press('Escape');
    expect(await page.evaluate(MOVING_MS)).toEqual([]);
    expect(await violationsIn(page)).toEqual([]);
    // The texts of the grid are painted: those for screen readers and selection above them are not seen.
    await openFrame(page, 'trades');
    const colour = `getComputedStyle(document.querySelector('[role=gridcell]')).color`;
    expect(await page.evaluate(colour)).toBe('rgba(0, 0, 0, 0)');
    const underline = `getComputedStyle(document.querySelector('.tab.current .title')).textDecorationLine`;
    expect(await page.evaluate(underline)).toBe('underline');
  });

  test('at 200 % zoom everything is reached without scrolling the page sideways', async () => {
    const server = await sharedProcess();
    await server.put('trades', [{ symbol: 'BTC', price: 2 }]);
    const viewport = { width: 640, height: 400 };
    const { page } = await open(server.url, { viewport, deviceScaleFactor: 2, bypassCSP: true });
    await page.getByRole('main').waitFor();
    await runByKeyboard(page, 'select * from trades');
    await expect.poll(() => cellsOf(page)).toEqual(['BTC', '2']);
    await takePicture(page, 'zoom');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(640);
    for (const name of [/^Run/, /^Explain/, /^Keep/, 'Frames', 'New query']) {
      const box = await page.getByRole('button', { name }).first().boundingBox();
      expect(box).not.toBeNull();
      expect(Number(box?.x) + Number(box?.width)).toBeLessThanOrEqual(640);
      expect(Number(box?.y) + Number(box?.height)).toBeLessThanOrEqual(400);
    }
    expect(await violationsIn(page)).toEqual([]);
  });
});

/** The time of one turn of each animation, in milliseconds. */
const MOVING_MS = `document.getAnimations().map(({ effect }) => effect.getComputedTiming().duration)`;

/** The picture of the README. `SVC_RECORD=1 node interop/console/run.js -t README` takes it again. */
const PICTURE = fileURLToPath(new URL('../../docs/console.png', import.meta.url));
const PICTURE_SIZE = { width: 1200, height: 740 };
const PICTURE_TAB = {
  kind: 'query',
  id: 'a',
  title: 'prices',
  sql: `select time_bucket(interval '5 minutes', ts) as start, min(price) as low, max(price) as high
from ticks
group by all
order by start`,
  engine: 'local',
  view: 'chart',
  chart: { kind: 'line', x: 'start', y: ['low', 'high'] },
};

test('the README shows the console as it is', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url, { viewport: PICTURE_SIZE, colorScheme: 'light', reducedMotion: 'reduce' });
  await page.getByRole('button', { name: 'Make sample data' }).click();
  await page.getByRole('grid', { name: 'Rows of ticks' }).waitFor();
  await page.getByRole('button', { name: 'Columns of ticks' }).click();
  const link = deflateRawSync(JSON.stringify(PICTURE_TAB)).toString('base64url');
  await page.evaluate(`location.hash = '#1.${link}'`);
  await page.locator('.cm-content').waitFor();
  await page.keyboard.press('Control+Enter');
  await page.getByRole('application', { name: /^line chart: low, high by start/ }).waitFor();
  await expect.poll(() => page.locator('.facts').innerText()).toMatch(/^289 rows/);
  if (process.env['SVC_RECORD'] === '1') await page.screenshot({ path: PICTURE });
  expect(await page.getByRole('navigation', { name: 'Tabs' }).getByRole('listitem').allInnerTexts()).toEqual([
    'ticks',
    'prices',
  ]);
  expect(await page.getByRole('group', { name: 'Run' }).getByRole('button').allInnerTexts()).toEqual([
    expect.stringMatching(/^Run/),
    expect.stringMatching(/^Explain/),
    expect.stringMatching(/^Keep/),
  ]);
  expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Rows', 'Chart', 'Summary', 'Plan']);
  expect(await page.locator('.side .columns .name').allInnerTexts()).toEqual([
    'id',
    'ts',
    'venue',
    'price',
    'size',
    'side',
    'trader',
  ]);
  const picture = readFileSync(PICTURE);
  // The size of a PNG is in its first chunk.
  expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([PICTURE_SIZE.width, PICTURE_SIZE.height]);
  expect(picture.length).toBeLessThanOrEqual(150_000);
  expect(readFileSync(new URL('../../README.md', import.meta.url), 'utf8')).toContain('(docs/console.png)');
});
