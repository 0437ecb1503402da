import { describe, expect, test } from 'vitest';
import { sharedProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, openFrame, runByKeyboard, useBrowser, violationsIn } from './open-console.ts';
import { startProxy } from './proxy.ts';

const open = useBrowser();

const TRADES = [
  { id: 9007199254740991, symbol: 'BTC', price: 10.5 },
  { id: 2, symbol: 'ETH', price: 3.25 },
  { id: 3, symbol: null, price: null },
];

/** A proxy that has the server at `/data/`. */
async function serveBelow(target: string): Promise<string> {
  return `${await startProxy(target, { pathOf: (path) => path.replace(/^\/data/, '') })}data/`;
}

test('shows the rows of a frame, with exact values and null', async () => {
  const server = await sharedProcess();
  await server.put('trades', TRADES);
  const { page } = await open(server.url);
  await openFrame(page, 'trades');
  await expect.poll(() => cellsOf(page)).toEqual(expect.arrayContaining(['9007199254740991', 'BTC', '10.5', 'ETH']));
  expect((await cellsOf(page)).filter((text) => text === 'null')).toHaveLength(2);
});

test('works below a path of a proxy', async () => {
  const server = await sharedProcess();
  await server.put('trades', TRADES);
  const { page } = await open(await serveBelow(server.url));
  await openFrame(page, 'trades');
  await expect.poll(() => cellsOf(page)).toContain('BTC');
});

test('puts a file that is chosen, and lists its frame', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url);
  await page.getByRole('button', { name: 'Upload, or drop files here' }).click();
  const file = { name: 'prices.csv', mimeType: 'text/csv', buffer: Buffer.from('id,price\n1,2.5\n2,3.5\n') };
  await page.locator('input[type=file]').first().setInputFiles(file);
  await page.getByRole('dialog').getByRole('button', { name: 'Upload', exact: true }).click();
  await expect.poll(async () => (await server.fetch('/frames/prices')).status).toBe(200);
  await page.getByRole('button', { name: /^prices 2 / }).waitFor();
});

test('shows the line and the column of a value that cannot be read in a file', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url, {
    expected: [/^\/frames\/broken: Failed to load resource: .* 400 \(Bad Request\)$/],
  });
  await page.getByRole('button', { name: 'Upload, or drop files here' }).click();
  const file = { name: 'broken.csv', mimeType: 'text/csv', buffer: Buffer.from('id,price\n1,2.5\n2,cheap\n') };
  await page.locator('input[type=file]').first().setInputFiles(file);
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Reading options').click();
  await dialog.getByLabel('Columns and types').fill('id:LONG,price:DOUBLE');
  await dialog.getByRole('button', { name: 'Upload', exact: true }).click();
  const message = await page.getByRole('region', { name: 'Uploads' }).getByRole('alert').innerText();
  expect(message).toContain('Line 3 of the CSV file, column "price": "cheap"');
  expect((await server.fetch('/frames/broken')).status).toBe(404);
});

test('in a narrow window the list of frames stays open when a query ends', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url, { viewport: { width: 390, height: 800 } });
  await page.getByRole('main').waitFor();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/exp\b/, (route) => released.then(() => route.continue()));
  await runByKeyboard(page, 'select 42 as answer');
  await expect.poll(() => page.title()).toBe('⏳ q1 · svc');
  await page.getByRole('button', { name: 'Frames' }).click();
  await page.locator('.drawer-open').waitFor();
  release();
  await expect.poll(() => page.title()).toBe('q1 · svc');
  expect(await page.locator('.drawer-open').count()).toBe(1);
});

test("the browser's own search finds what is in view", async () => {
  const server = await sharedProcess();
  await server.put('trades', TRADES);
  const { page } = await open(server.url);
  await openFrame(page, 'trades');
  await cellsOf(page);
  expect(await page.evaluate("window.find('9007199254740991')")).toBe(true);
  expect(await page.evaluate("window.find('no such text')")).toBe(false);
});

describe.each([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['narrow', { viewport: { width: 390, height: 800 } }],
] as const)('in a %s window', (_name, options) => {
  test('axe finds nothing in an empty server, nor in a frame', async () => {
    const server = await sharedProcess();
    const { page } = await open(server.url, { ...options, bypassCSP: true });
    await page.getByRole('main').waitFor();
    expect(await violationsIn(page)).toEqual([]);
    await server.put('trades', TRADES);
    await page.reload();
    const drawer = page.getByRole('button', { name: /frames/i }).first();
    if ('viewport' in options) await drawer.click();
    await openFrame(page, 'trades');
    expect(await violationsIn(page)).toEqual([]);
  });
});
