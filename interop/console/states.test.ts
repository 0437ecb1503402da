import type { ServerResponse } from 'node:http';
import { deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { serveMemory } from '../../apps/server/test/memory-server.ts';
import { sharedProcess, startProcess } from '../../apps/server/test/server-process.ts';
import {
  cellsOf,
  CUT_OFF,
  expectAccessible,
  openFrame,
  REFUSED,
  runByKeyboard,
  takePicture,
  useBrowser,
} from './open-console.ts';
import { startProxy } from './proxy.ts';
import { keep, LONG_SQL } from './steps.ts';

const open = useBrowser();

/** A page in which axe may run. */
const AXE = { bypassCSP: true };

/** A shared tab with SQL. */
const QUERY_LINK = deflateRawSync('{"kind":"query","id":"a","title":"q1","sql":"select 1","engine":"local"}').toString(
  'base64url',
);

test('an empty server shows three ways to the first frame', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url, { ...AXE, permissions: ['clipboard-read', 'clipboard-write'] });
  await page.getByRole('heading', { name: 'No frames yet.' }).waitFor();
  await page.getByRole('button', { name: 'Drop files here, or choose them' }).waitFor();
  await page.getByRole('button', { name: 'Copy the command' }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`curl -T trades.csv ${server.url}/frames/trades`);
  await expectAccessible(page, 'empty-server');
  await page.getByRole('button', { name: 'Make sample data' }).click();
  await page.getByRole('grid', { name: 'Rows of ticks' }).waitFor();
  await page.getByText('1 000 000 rows').first().waitFor();
  await expect.poll(() => cellsOf(page)).toContain('2026-01-05T00:00:00.086400Z');
});

test('a server without a time-series database names the setting that it needs', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url);
  await page.getByRole('main').waitFor();
  await page.keyboard.press('Alt+t');
  const option = page.getByRole('option', { name: /^tsdb/ });
  expect(await option.isDisabled()).toBe(true);
  expect(await option.innerText()).toContain('SERVICE_TSDB_HTTP_URL');
  await takePicture(page, 'no-tsdb');
});

test('a server without an SQL engine has no editor, says why, and shows, takes and sends frames', async () => {
  const { page } = await open(await serveMemory(), AXE);
  await page.getByRole('heading', { name: 'No frames yet.' }).waitFor();
  expect(await page.getByRole('button', { name: 'Make sample data' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Upload, or drop files here' }).click();
  const file = { name: 'prices.json', mimeType: 'application/json', buffer: Buffer.from('[{"id":1,"price":2.5}]') };
  await page.locator('input[type=file]').first().setInputFiles(file);
  await page.getByRole('dialog').getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByText(/^This server has no SQL engine/).waitFor();
  await page.keyboard.press('Alt+t');
  expect(await page.getByRole('textbox', { name: 'SQL' }).count()).toBe(0);
  expect(await page.getByRole('button', { name: /query/i }).count()).toBe(0);
  await expectAccessible(page, 'no-sql-engine');
  // A link may come from a server that has one.
  await page.evaluate(`location.hash = '#1.${QUERY_LINK}'`);
  await page.getByRole('button', { name: 'q1', exact: true }).waitFor();
  await page.getByText(/^This server has no SQL engine/).waitFor();
  expect(await page.getByRole('textbox', { name: 'SQL' }).count()).toBe(0);
  await openFrame(page, 'prices');
  expect(await cellsOf(page)).toEqual(['1', '2.5']);
  expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Rows', 'Info']);
  await page.getByRole('tab', { name: 'Info' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'csv', exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('prices.csv');
});

test('an error has its sentence, hint, place and request id, and the last answer stays, dimmed', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ price: 1 }]);
  const permissions = ['clipboard-read', 'clipboard-write'];
  const { page } = await open(server.url, { ...AXE, permissions, expected: [REFUSED] });
  await page.getByRole('button', { name: /^trades 1 / }).waitFor();
  await runByKeyboard(page, 'select price from trades');
  await expect.poll(() => cellsOf(page)).toEqual(['1']);
  await page.locator('.cm-content').waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('select pirce from trades');
  await page.keyboard.press('Control+Enter');
  const alert = page.getByRole('alert');
  await expect.poll(() => alert.innerText()).toContain('pirce');
  await alert.getByRole('button', { name: 'Copy the request id' }).click();
  expect(await alert.innerText()).toContain(String(await page.evaluate('navigator.clipboard.readText()')));
  expect(await alert.locator('.hint').innerText()).toContain('price');
  expect(await page.locator('.cm-error').innerText()).toBe('pirce');
  expect(await page.locator('.view-panel.old').count()).toBe(1);
  await page.getByText('Earlier answer: 1 row').waitFor();
  expect(await cellsOf(page)).toEqual(['1']);
  await expectAccessible(page, 'error');
});

test('a query in line says its place, and one that runs has a bar, its time and a mark in the title', async () => {
  const server = await startProcess({ env: { SERVICE_SQL_MAX_CONCURRENT: '1' } });
  const { page } = await open(server.url, AXE);
  await page.getByRole('main').waitFor();
  const isRunning = (count: number) => async (): Promise<boolean> => {
    const { queries } = (await (await server.fetch('/queries')).json()) as { queries: unknown[] };
    return queries.length === count;
  };
  await runByKeyboard(page, LONG_SQL);
  const bar = page.getByRole('progressbar', { name: 'Progress of the statement' });
  await bar.waitFor();
  expect(await page.title()).toBe('⏳ q1 · svc');
  expect(await page.locator('.run-status').innerText()).toMatch(/[\d.]+\sm?s$/);
  await takePicture(page, 'running');
  await runByKeyboard(page, LONG_SQL);
  await expect.poll(isRunning(2)).toBe(true);
  await expect.poll(() => page.locator('.run-status').innerText()).toContain('1st of 1 in line');
  // A stripe: a query that waits has no percent.
  expect(await bar.getAttribute('value')).toBeNull();
  await expectAccessible(page, 'queued');
  await page.keyboard.press('Escape');
  await page.getByText('Cancelled.').first().waitFor();
  await expect.poll(isRunning(1)).toBe(true);
  await page.keyboard.press('Alt+ArrowLeft');
  await page.keyboard.press('Escape');
  await expect.poll(isRunning(0)).toBe(true);
  expect(await page.title()).toBe('q1 · svc');
});

interface CutProxy {
  readonly url: string;
  /** Closes the connections of the answers that it holds back. */
  cut(): void;
}

/** Starts a proxy that sends the first bytes of the answers of SQL and holds back the others. */
async function serveStart(target: string, bytes: number): Promise<CutProxy> {
  const held: ServerResponse[] = [];
  const url = await startProxy(target, {
    send(answer, outgoing, path) {
      if (!path.startsWith('/exp')) {
        answer.pipe(outgoing);
        return;
      }
      held.push(outgoing);
      let left = bytes;
      answer.on('data', (chunk: Buffer) => {
        if (left > 0) outgoing.write(chunk.subarray(0, left));
        left -= chunk.length;
      });
    },
  });
  return { url, cut: () => held.forEach((outgoing) => outgoing.destroy()) };
}

test('an answer that is cut off keeps its rows and says that it is incomplete', async () => {
  const server = await sharedProcess();
  const proxy = await serveStart(server.url, 400_000);
  const { page } = await open(proxy.url, { ...AXE, expected: [CUT_OFF] });
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, "select range as id, 'row ' || range as name from range(190000)");
  // Browsers drop what they have not read yet when a connection breaks.
  await expect.poll(async () => (await cellsOf(page)).slice(0, 2)).toEqual(['0', 'row 0']);
  proxy.cut();
  const message = page.getByText(/^The server ended the answer after [\d\s]+ rows\. Run the statement again/u).first();
  await message.waitFor();
  const rows = Number((await message.innerText()).replaceAll(/\D/gu, ''));
  expect(rows).toBeGreaterThan(1000);
  expect(rows).toBeLessThan(190_000);
  expect((await cellsOf(page)).slice(0, 2)).toEqual(['0', 'row 0']);
  await expectAccessible(page, 'cut-off');
});

test('a large answer shows its first 200 000 rows, and Keep makes a frame of all', async () => {
  const server = await sharedProcess();
  const { page } = await open(server.url, AXE);
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, 'select range as id from range(300000)');
  await page.getByText('200 000+ rows. Keep as frame to see all.').first().waitFor();
  await expectAccessible(page, 'large-answer');
  await page.getByRole('grid').focus();
  await page.keyboard.press('Control+End');
  await expect.poll(() => cellsOf(page)).toContain('199999');
  await page.keyboard.press('k');
  await page.getByLabel('Name', { exact: true }).fill('all_of_it');
  await takePicture(page, 'keep');
  await page.keyboard.press('Enter');
  await page.getByRole('grid', { name: 'Rows of all_of_it' }).focus();
  await page.keyboard.press('Control+End');
  await expect.poll(() => cellsOf(page)).toContain('299999');
});

test('a huge cell shows its start and size, and opens whole; nothing looks like something else', async () => {
  const server = await sharedProcess();
  await keep(
    server,
    'cells',
    `select * from (values
      (1, repeat('0123456789', 200000), null, 'NaN'::double),
      (2, '', '', 1.5),
      (3, 'a' || chr(10) || 'b' || chr(9) || 'c', 'x' || chr(8238) || 'gpj.exe', null),
      (4, 'null', 'NaN', 'Infinity'::double)) as t(id, big, text, number)`,
  );
  const { page } = await open(server.url, AXE);
  await openFrame(page, 'cells');
  const cell = (row: number, column: number) =>
    page.locator(`[role=gridcell][data-row="${row}"][data-column="${column}"]`);
  const shown = async (row: number, column: number): Promise<[string, string | null]> => [
    await cell(row, column).innerText(),
    await cell(row, column).getAttribute('data-look'),
  ];
  expect([await shown(0, 2), await shown(1, 2), await shown(3, 2)]).toEqual([
    ['null', 'null'],
    ['␣', 'empty'],
    ['NaN', 'value'],
  ]);
  expect([await shown(0, 3), await shown(2, 3), await shown(3, 3)]).toEqual([
    ['NaN', 'nan'],
    ['null', 'null'],
    ['Infinity', 'nan'],
  ]);
  expect(await shown(3, 1)).toEqual(['null', 'value']);
  expect(await cell(2, 1).innerText()).toBe('a␊b␉c');
  expect(await cell(2, 2).innerText()).toBe('x‹U+202E›gpj.exe');
  expect((await shown(0, 1))[1]).toBe('cut');
  expect(await cell(0, 1).getAttribute('aria-description')).toContain('2.0 MB');
  await expectAccessible(page, 'cells');
  await page.getByRole('grid').focus();
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Space');
  const sheet = page.getByRole('dialog', { name: 'big, row 1' });
  await expect.poll(async () => (await sheet.getByLabel('Value').innerText()).length).toBe(1_000_000);
  await sheet.getByRole('button', { name: 'Hex' }).click();
  await expect.poll(() => sheet.getByLabel('Value').innerText()).toContain('30 31 32 33');
  await expectAccessible(page, 'cell-sheet');
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
});

test('of 500 columns only those in view are in the page, and a name goes to its column', async () => {
  const server = await sharedProcess();
  const columns = Array.from({ length: 500 }, (_, i) => `range + ${i} as c${i}`).join(', ');
  await keep(server, 'wide', `select ${columns} from range(1000)`);
  const { page } = await open(server.url, AXE);
  await openFrame(page, 'wide');
  expect((await cellsOf(page)).length).toBeLessThan(1000);
  await takePicture(page, 'wide');
  await page.getByRole('grid').focus();
  await page.keyboard.press('Control+g');
  await page.getByLabel('Go to row or column').fill('c431');
  await page.keyboard.press('Enter');
  await page.getByRole('columnheader', { name: /^c431/ }).waitFor();
  await expect.poll(() => cellsOf(page)).toContain('431');
});

test('a frame that is replaced while it is open says so, and R shows the new version', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ symbol: 'old' }]);
  const { page } = await open(server.url, AXE);
  await openFrame(page, 'trades');
  await server.put('trades', [{ symbol: 'new' }, { symbol: 'newer' }]);
  await page.getByText('A newer version is there: 2 rows.').waitFor();
  expect(await cellsOf(page)).toEqual(['old']);
  await expectAccessible(page, 'replaced');
  await page.keyboard.press('r');
  await expect.poll(() => cellsOf(page)).toEqual(['new', 'newer']);
});
