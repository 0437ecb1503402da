// The client as a page uses it: Chromium imports the built package.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startProcess } from '../../apps/server/test/server-process.ts';

const DIST = fileURLToPath(new URL('../../packages/client/dist', import.meta.url));

let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: process.env['SVC_CHROMIUM'] ?? 'chromium',
    args: ['--no-sandbox'],
  });
});
afterAll(async () => browser?.close());

/** Opens an empty page of another origin than the server's, which serves the built package. */
async function openPage(): Promise<{ readonly page: Page; readonly server: string; readonly problems: string[] }> {
  const files = createServer(({ url = '/' }, response) => {
    const isModule = url.endsWith('.js');
    response.setHeader('content-type', isModule ? 'text/javascript' : 'text/html');
    response.end(isModule ? readFileSync(join(DIST, url)) : '<!doctype html><title>client</title>');
  });
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
  const address = files.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  const { url } = await startProcess({ env: { SERVICE_HTTP_CORS_ORIGINS: origin } });
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    // SQL may end between the list of what runs and its cancellation, which is a 404 then.
    if (!message.text().includes('404')) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  onTestFinished(async () => {
    await page.close();
    files.closeAllConnections();
    files.close();
  });
  await page.goto(`${origin}/`);
  return { page, server: url, problems };
}

/** Runs code in the page with a client, and returns its value as JSON, with bigints as texts. */
async function run(page: Page, server: string, code: string): Promise<unknown> {
  const text: string = await page.evaluate(`(async () => {
    const { createClient, ClientError } = await import('/index.js');
    const client = createClient({ url: ${JSON.stringify(server)} });
    const value = await (async () => { ${code} })();
    return JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? one + 'n' : one));
  })()`);
  return JSON.parse(text);
}

test('a page puts, appends, reads and queries frames of a server of another origin', async () => {
  const { page, server, problems } = await openPage();
  const rows = await run(
    page,
    server,
    `await client.put('trades', [{ symbol: 'ACME', size: 9007199254740993n }]);
    await client.append('trades', (async function* () { yield { symbol: 'INIT', size: 7 }; })());
    await client.append('trades', new Blob(['symbol,size\\nLAST,1\\n']).stream(), { format: 'csv' });
    const rows = [];
    for await (const row of await client.read('trades')) rows.push(row);
    const sql = 'select count(*) as n from trades where size > ?';
    return [rows, await (await client.query(sql, { engine: 'local', params: [5] })).rows(), (await client.read('trades')).total];`,
  );
  expect(rows).toEqual([
    [
      { symbol: 'ACME', size: '9007199254740993n' },
      { symbol: 'INIT', size: '7n' },
      { symbol: 'LAST', size: '1n' },
    ],
    [{ n: '2n' }],
    3,
  ]);
  expect(problems).toEqual([]);
});

test('a page that aborts SQL, or leaves its rows, ends it on the server', async () => {
  const { page, server, problems } = await openPage();
  const left = await run(
    page,
    server,
    `const sql = 'select range as a from range(1000000000000)';
    for await (const { a } of await client.query(sql, { engine: 'local' })) if (a === 3n) break;
    const ending = new AbortController();
    const rows = (await client.query(sql, { engine: 'local', signal: ending.signal })).rows();
    ending.abort();
    const error = await rows.catch((error) => error.name);
    while ((await client.running()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    return error;`,
  );
  expect(left).toBe('AbortError');
  expect(problems).toEqual([]);
});

test('errors have their code, position and request id; without apache-arrow an error names it', async () => {
  const { page, server } = await openPage();
  const errors = await run(
    page,
    server,
    `const show = ({ code, position, requestId }) => [code, position, requestId];
    return [
      await client.query('select nothing', { engine: 'local', requestId: 'mine' }).catch(show),
      await client.queryArrow('select 1', { engine: 'local', requestId: 'arrow' }).catch(({ code }) => code),
      await createClient({ url: 'http://127.0.0.1:1', retries: 0 }).ping().catch(({ code, isAmbiguous }) => [code, isAmbiguous]),
    ];`,
  );
  expect(errors).toEqual([['invalid_sql', 7, 'mine'], 'arrow_missing', ['unreachable', false]]);
});
