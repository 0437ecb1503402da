import { readFileSync } from 'node:fs';
import { type Browser, chromium, type Download, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { bearer, callersFileOf, createCaller } from '../../apps/server/test/callers.ts';
import { type ServerProcess, testFile } from '../../apps/server/test/server-process.ts';
import { recordClients } from '../record-clients.js';
import { exec } from './exec.ts';
import { hook, importFile, runStatement } from './questdb-page.ts';
import { startForwarding } from './start-forwarding.ts';
import { QUESTDB_VERSION } from './start-questdb.js';

/** The console of the database asks its makers for news: no name but those of loopback has an address. */
const ARGS = ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'];
const SQL = 'select symbol, max(price) high from web_trades order by symbol;';
const callers = { writer: createCaller('alpha', ['tsdb', 'write']), reader: createCaller('alpha', ['tsdb']) };

let browser: Browser;

beforeAll(async () => {
  const questdb = inject('questdbUrl');
  await exec(questdb, 'drop table if exists web_trades');
  await exec(
    questdb,
    'create table web_trades (symbol symbol, price double, ts timestamp) timestamp(ts) partition by day bypass wal',
  );
  await exec(questdb, "insert into web_trades values ('BTC', 10.5, 0), ('ETH', 3.25, 1), ('BTC', 11.5, 2)");
  browser = await chromium.launch({ executablePath: process.env['SVC_CHROMIUM'] ?? 'chromium', args: ARGS });
});
afterAll(async () => browser?.close());

/** A server with authentication. */
const startSecured = () =>
  startForwarding({ env: { SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', callersFileOf(callers)) } });

/** Opens the console of the database; every request of the page has the headers, as if a proxy adds them. */
async function open({ url }: ServerProcess, extraHTTPHeaders: Record<string, string> = {}): Promise<Page> {
  const context = await browser.newContext({ extraHTTPHeaders, viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  const failed: string[] = [];
  // Chromium gives its pickers to the test from this line on. Set with the click, the listener could come after it.
  page.on('filechooser', () => {});
  page.on('pageerror', ({ message }) => failed.push(message));
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    if (response.status() >= 400 && pathname !== '/imp') failed.push(`${response.status()} ${pathname}`);
  });
  onTestFinished(async () => {
    await context.close();
    expect(failed).toEqual([]);
  });
  page.setDefaultTimeout(60_000);
  await page.goto(url);
  await hook(page, 'schema-row').filter({ hasText: 'web_trades' }).waitFor();
  return page;
}

const run = (page: Page, sql: string) =>
  runStatement(page, sql, { shown: 'web_trades', sent: 'max(price)', timeoutMs: 30_000 });

async function textOf(download: Download): Promise<string> {
  return readFileSync(await download.path(), 'latin1');
}

describe("the database's own web console, through a server with tsdb.forward = all", { timeout: 240_000 }, () => {
  test.each([
    ['without authentication', startForwarding, {}],
    ['with a token that a proxy adds', startSecured, { authorization: bearer(callers.writer.token) }],
  ])('%s: lists tables, runs SQL, downloads and imports', async (name, startServer, headers) => {
    const page = await open(await startServer(), headers);
    expect(await run(page, SQL)).toEqual(['BTC', '11.5', 'ETH', '3.25']);
    const parquet = page.waitForEvent('download');
    await hook(page, 'download-parquet-button').click();
    expect((await textOf(await parquet)).slice(0, 4)).toBe('PAR1');
    await hook(page, 'download-dropdown-button').click();
    const csv = page.waitForEvent('download');
    await hook(page, 'download-csv-button').click();
    expect(await textOf(await csv)).toBe('"symbol","high"\r\n"BTC",11.5\r\n"ETH",3.25\r\n');
    const table = `web_${name.replaceAll(' ', '_')}.csv`;
    expect(await importFile(page, table)).toEqual([200, expect.stringContaining('Imported')]);
    const rows = () => exec(inject('questdbUrl'), `select id, name from '${table}' order by id`);
    await expect
      .poll(async () => (await rows()).dataset, { timeout: 30_000 })
      .toEqual([
        [1, 'a'],
        [2, 'b'],
      ]);
    await hook(page, 'schema-row').filter({ hasText: table }).waitFor();
  });

  test('with a token that may not write: shows rows, and an import is refused', async () => {
    const page = await open(await startSecured(), { authorization: bearer(callers.reader.token) });
    expect(await run(page, SQL)).toEqual(['BTC', '11.5', 'ETH', '3.25']);
    const [status] = await importFile(page, 'web_refused.csv');
    expect(status).toBe(403);
    expect(
      (await exec(inject('questdbUrl'), "select table_name from tables() where table_name = 'web_refused.csv'"))
        .dataset,
    ).toEqual([]);
  });

  test('is in the table of clients', () => {
    const row = {
      client: 'QuestDB web console',
      version: QUESTDB_VERSION,
      through: '`tsdb.forward = "all"`',
      works: ['list of tables', 'SQL and rows', 'downloads as CSV and Parquet', 'import of a CSV file'],
      lacks: ['signing in with a token: a proxy in front has to add it'],
    };
    expect(recordClients('questdb-web-console', [row])).toBe(true);
  });
});
