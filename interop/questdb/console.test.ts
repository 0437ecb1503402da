import { expect, inject, test } from 'vitest';
import { startProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, runByKeyboard, takePicture, useBrowser } from '../console/open-console.ts';
import { exec } from './exec.ts';

const open = useBrowser();

test('the console keeps an answer of the database and joins it with a frame in one page', async () => {
  const questdb = inject('questdbUrl');
  await exec(questdb, 'drop table if exists console_trades');
  await exec(
    questdb,
    'create table console_trades (symbol symbol, price double, ts timestamp) timestamp(ts) partition by day bypass wal',
  );
  await exec(questdb, "insert into console_trades values ('BTC', 10.5, 0), ('ETH', 3.25, 1), ('BTC', 11.5, 2)");
  const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: questdb } });
  await server.put('names', [
    { symbol: 'BTC', name: 'Bitcoin' },
    { symbol: 'ETH', name: 'Ether' },
  ]);
  const { page } = await open(server.url);
  await page.getByRole('button', { name: 'console_trades', exact: true }).waitFor();
  await page.keyboard.press('Alt+t');
  await page.getByRole('combobox', { name: 'Engine' }).selectOption('tsdb');
  await page.locator('.cm-content').click();
  await page.keyboard.type('select symbol, max(price) high from console_trades order by symbol');
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => cellsOf(page)).toEqual(['BTC', '11.5', 'ETH', '3.25']);
  await page.getByRole('grid').focus();
  await page.keyboard.press('k');
  await page.getByLabel('Name', { exact: true }).fill('highs');
  await page.keyboard.press('Enter');
  await page.getByRole('grid', { name: 'Rows of highs' }).waitFor();
  await runByKeyboard(page, 'select name, high from highs join names using (symbol) order by name');
  await expect.poll(() => cellsOf(page)).toEqual(['Bitcoin', '11.5', 'Ether', '3.25']);
  expect(await page.getByRole('navigation', { name: 'Tabs' }).getByRole('listitem').count()).toBe(3);
  await takePicture(page, 'joined');
});
