import { readFileSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { type ServerProcess, startProcess } from '../../apps/server/test/server-process.ts';
import { recordClients } from '../record-clients.js';
import { hook, importFile, runStatement } from './questdb-page.ts';
import { startForwarding } from './start-forwarding.ts';
import { QUESTDB_VERSION } from './start-questdb.js';

const ARGS = ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'];
const LOCAL = {
  SERVICE_SQL_DEFAULT_ENGINE: 'local',
  SERVICE_HTTP_DEFAULT_FMT: 'json',
  SERVICE_HTTP_CONSOLE: 'false',
};
/** More rows than one page of the grid. */
const ROWS = 2500;

let browser: Browser;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: process.env['SVC_CHROMIUM'] ?? 'chromium', args: ARGS });
});
afterAll(async () => browser?.close());

/** A server without a database: the files of the page come from the database, as another server may have them. */
async function startAlone(context: BrowserContext): Promise<ServerProcess> {
  const server = await startProcess({ env: LOCAL });
  const isPage = (url: URL): boolean => url.pathname === '/' || /^\/(?:assets|fonts)\//.test(url.pathname);
  await context.route(isPage, async (route) => {
    const { pathname } = new URL(route.request().url());
    await route.fulfill({ response: await route.fetch({ url: inject('questdbUrl') + pathname }) });
  });
  return server;
}

const startBeside = (): Promise<ServerProcess> => startForwarding({ env: LOCAL });

/** The console asks for more, and goes on without it. */
const OF_QUESTDB = /^(?:telemetry_config|select build|\(show parameters\)|materialized_views\(\))/;

interface Opened {
  readonly page: Page;
  readonly server: ServerProcess;
  /** The queries of the pages of the grid. */
  readonly pages: URLSearchParams[];
}

/** Opens the console with a frame of trades; every failed request but those of QuestDB alone fails the test. */
async function open(start: (context: BrowserContext) => Promise<ServerProcess>): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const server = await start(context);
  const trades = Array.from({ length: ROWS }, (_, i) => ({ id: i + 1, price: i / 4 }));
  expect((await server.put('trades', trades)).status).toBe(201);
  const page = await context.newPage();
  const failed: string[] = [];
  const pages: URLSearchParams[] = [];
  page.on('filechooser', () => {});
  // A refused statement is an object, which the console does not catch.
  page.on('pageerror', ({ message }) => void (message === 'Object' || failed.push(message)));
  page.on('response', (response) => {
    const { pathname, searchParams } = new URL(response.url());
    if (searchParams.get('nm') === 'true') pages.push(searchParams);
    if (response.status() >= 400 && !OF_QUESTDB.test(searchParams.get('query') ?? '')) {
      failed.push(`${response.status()} ${pathname} ${searchParams}`);
    }
  });
  onTestFinished(async () => {
    await context.close();
    expect(failed).toEqual([]);
  });
  page.setDefaultTimeout(120_000);
  await page.goto(server.url);
  await hook(page, 'schema-row').filter({ hasText: 'trades' }).waitFor();
  return { page, server, pages };
}

async function download(page: Page, button: string): Promise<string> {
  const begun = page.waitForEvent('download');
  await hook(page, button).click();
  return readFileSync(await (await begun).path(), 'latin1');
}

// On a busy machine its own code fails now and then, in fewer than one run of ten.
describe("QuestDB's web console on frames", { timeout: 400_000, retry: 1 }, () => {
  test.each([
    ['without a database', startAlone],
    ['with its page from a database, through tsdb.forward = all', startBeside],
  ])('%s: lists frames, runs SQL, pages, charts, downloads and imports', async (_name, start) => {
    const { page, server, pages } = await open(start);
    const cells = await runStatement(page, 'trades;', { shown: 'trades', sent: 'limit=0%2C1000', timeoutMs: 120_000 });
    expect(cells.slice(0, 4)).toEqual(['1', '0.0', '2', '0.25']);
    // The end of the grid is in another page.
    await page.locator('.qg-viewport').evaluate((viewport) => viewport.scrollTo(0, viewport.scrollHeight));
    await page.locator('.qg-c', { hasText: new RegExp(`^${ROWS}$`) }).waitFor();
    expect(pages.map((params) => params.get('limit'))).toContainEqual(expect.stringMatching(/^[12]001,3000$/));
    await hook(page, 'chart-panel-button').click();
    const drawn = page.waitForResponse((response) => response.url().includes('src=vis'));
    await hook(page, 'chart-panel-draw-button').click();
    expect(await (await drawn).json()).toMatchObject({ columns: [{ name: 'id' }, { name: 'price' }], count: ROWS });
    expect((await download(page, 'download-parquet-button')).slice(0, 4)).toBe('PAR1');
    await hook(page, 'download-dropdown-button').click();
    expect((await download(page, 'download-csv-button')).split('\r\n')).toHaveLength(ROWS + 2);
    expect(await importFile(page, 'imported.csv')).toEqual([200, expect.stringContaining('Imported')]);
    await hook(page, 'schema-row').filter({ hasText: 'imported.csv' }).waitFor();
    const rows = await server.fetch('/exec?handle=imported.csv&fmt=json');
    expect(await rows.json()).toMatchObject({
      dataset: [
        [1, 'a'],
        [2, 'b'],
      ],
    });
  });

  test('is in the table of clients', () => {
    const row = {
      client: 'QuestDB web console',
      version: QUESTDB_VERSION,
      through: '`sql.default_engine = "local"`',
      works: [
        'list of frames and columns',
        'SQL over frames, and pages of long results',
        'charts',
        'downloads as CSV and Parquet',
        'import of a CSV file, which appends to a frame that exists',
      ],
      lacks: ["QuestDB's SQL: materialized views, `show create table`", 'changing settings'],
    };
    expect(recordClients('questdb-frames-console', [row])).toBe(true);
  });
});
