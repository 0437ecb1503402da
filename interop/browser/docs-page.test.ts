import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CALLERS, callersFileOf } from '../../apps/server/test/callers.ts';
import { type ServerProcess, sharedProcess, startProcess, testFile } from '../../apps/server/test/server-process.ts';
import { SERVER_ENDPOINTS } from '../../apps/server/src/http/server-endpoints.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const MAX_GZIP_BYTES = 12 * 1024;

let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: process.env['SVC_CHROMIUM'] ?? 'chromium',
    args: ['--no-sandbox'],
  });
});
afterAll(async () => browser?.close());

/** Opens the page; any message of the console and any request to another origin fails the test. */
async function open({ url }: ServerProcess, options: BrowserContextOptions = {}, hash = ''): Promise<Page> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => {
    if (!/^(data:|blob:)/.test(request.url()) && new URL(request.url()).origin !== url) problems.push(request.url());
  });
  onTestFinished(async () => {
    await context.close();
    // Chromium reports failed requests, which are responses that a test asked for.
    expect(problems.filter((text) => !text.startsWith('Failed to load resource'))).toEqual([]);
  });
  await page.goto(`${url}/docs${hash}`);
  return page;
}

/** Opens one operation. */
async function openOperation(server: ServerProcess, id: string): Promise<Page> {
  const page = await open(server, {}, `#${id}`);
  await page.locator(`#${id} form`).waitFor();
  return page;
}

/** Sends the form of an operation, and returns what the page shows. */
async function sendForm(page: Page, id: string): Promise<string> {
  await page.locator(`#${id} button`, { hasText: 'Send' }).click();
  await page.locator(`#${id} form + div p`).first().waitFor();
  return page.locator(`#${id} form + div`).innerText();
}

test('lists every operation of the server', async () => {
  const page = await open(await sharedProcess());
  await page.locator('nav a').first().waitFor();
  const ids = Object.values(SERVER_ENDPOINTS).flatMap(({ methods }) => Object.values(methods).map(({ id }) => id));
  const links = await page.locator('nav a').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  expect(new Set(links)).toEqual(new Set(ids.map((id) => `#${id}`)));
  expect(links.length).toBe(ids.length);
});

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  test('axe finds nothing, with all operations open', async () => {
    const server = await sharedProcess();
    await server.put('trades', [{ id: 1 }]);
    const page = await open(server, { colorScheme, bypassCSP: true });
    await page.locator('details').first().waitFor();
    await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true');
    await page.locator('#index form').waitFor();
    await page.locator('#exec [name=handle]').fill('trades');
    expect(await sendForm(page, 'exec')).toContain('200 OK');
    await page.addScriptTag({ path: AXE });
    const { violations }: { violations: { id: string; nodes: object[] }[] } = await page.evaluate('axe.run()');
    expect(violations.map(({ id, nodes }) => [id, JSON.stringify(nodes[0])])).toEqual([]);
  });
});

test('can be used with the keyboard alone', async () => {
  const page = await open(await sharedProcess());
  await page.locator('nav a').first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('drop');
  expect(await page.locator('#status').innerText()).toBe('1 operation');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.locator('#dropFrame form').waitFor();
  expect(await page.evaluate('document.activeElement.closest("details").id')).toBe('dropFrame');
  await page.keyboard.press('Enter');
  expect(await page.locator('#dropFrame').getAttribute('open')).toBeNull();
  await page.locator('#filter').focus();
  await page.keyboard.press('Escape');
  expect(await page.locator('nav a:visible').count()).toBeGreaterThan(15);
});

describe('Try', () => {
  test('reads a frame, with every digit', async () => {
    const server = await sharedProcess();
    await server.put('trades', [{ id: 1 }], { body: '[{"id":9007199254740993}]' });
    const page = await openOperation(server, 'exec');
    await page.locator('#exec [name=handle]').fill('trades');
    const shown = await sendForm(page, 'exec');
    expect(shown).toContain('200 OK');
    expect(shown).toContain('x-total-count: 1');
    expect(shown).toContain('[9007199254740993]');
    expect(await page.locator('#exec pre', { hasText: 'curl' }).innerText()).toContain(
      `curl \\\n  '${server.url}/exec?handle=trades&fmt=json'`,
    );
  });

  test('shows an error of the server', async () => {
    const page = await openOperation(await sharedProcess(), 'describeFrame');
    await page.locator('#describeFrame [name=handle]').fill('none');
    const shown = await sendForm(page, 'describeFrame');
    expect(shown).toContain('404 Not Found');
    expect(shown).toContain('"code": "handle_not_found"');
  });

  test('runs SQL of a body, and puts and drops a frame', async () => {
    const server = await sharedProcess();
    const page = await openOperation(server, 'execBody');
    await page.locator('#execBody [name=engine]').selectOption('local');
    expect(await sendForm(page, 'execBody')).toContain('[42]');
    await page.goto(`${server.url}/docs#putFrame`);
    await page.reload();
    await page.locator('#putFrame [name=handle]').fill('made-here');
    await page.locator('#putFrame [name=content-type]').selectOption('text/csv');
    expect(await sendForm(page, 'putFrame')).toContain('201 Created');
    expect(await (await server.fetch('/exp?handle=made-here')).text()).toBe('id,symbol,price\r\n1,ACME,1.5\r\n');
    await page.goto(`${server.url}/docs#dropFrame`);
    await page.reload();
    await page.locator('#dropFrame [name=handle]').fill('made-here');
    expect(await sendForm(page, 'dropFrame')).toContain('204 No Content');
    expect((await server.fetch('/frames/made-here')).status).toBe(404);
  });

  test('does not show bytes, but links to the download', async () => {
    const server = await sharedProcess();
    await server.put('trades', [{ id: 1 }]);
    const page = await openOperation(server, 'readFile');
    await page.locator('#readFile [name=name]').fill('trades.parquet');
    expect(await sendForm(page, 'readFile')).toContain('application/vnd.apache.parquet: not shown.');
    const href = await page.locator('#readFile a', { hasText: 'Download' }).getAttribute('href');
    expect(href).toBe(`${server.url}/files/trades.parquet`);
  });

  test('of a value with markup shows it as text', async () => {
    const server = await sharedProcess();
    await server.put('trades', [{ name: '<img src=x onerror="document.title=1">' }]);
    const page = await openOperation(server, 'exec');
    await page.locator('#exec [name=handle]').fill('trades');
    expect(await sendForm(page, 'exec')).toContain('<img src=x');
    expect(await page.locator('img').count()).toBe(0);
  });
});

test('asks for a token if the server needs one, and keeps it in memory only', async () => {
  const file = testFile('callers.toml', callersFileOf(CALLERS));
  const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
  const page = await open(server);
  await page.locator('#token').fill('wrong');
  await page.keyboard.press('Enter');
  await page.locator('#token').fill(CALLERS.read.token);
  await page.keyboard.press('Enter');
  await page.locator('nav a').first().waitFor();
  await page.locator('#listFrames summary').click();
  expect(await sendForm(page, 'listFrames')).toContain('"frames"');
  expect(await page.locator('#listFrames').innerText()).not.toContain(CALLERS.read.token);
  const kept = await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie, location.href]');
  expect(kept).toEqual([0, 0, '', `${server.url}/docs`]);
});

test(`has at most ${MAX_GZIP_BYTES} bytes, compressed`, async () => {
  const server = await sharedProcess();
  const page = await (await server.fetch('/docs')).text();
  const files = [...page.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => `/${path}`);
  const scripts = await Promise.all(files.map(async (path) => (await server.fetch(path)).text()));
  const imported = scripts.flatMap((text) =>
    [...text.matchAll(/from '\.\/([^']+)'/g)].map(([, name]) => `/docs/${name}`),
  );
  const others = await Promise.all([...new Set(imported)].map(async (path) => (await server.fetch(path)).text()));
  const bytes = [page, ...scripts, ...others].map((text) => gzipSync(text).byteLength);
  expect(bytes.length).toBe(5);
  expect(bytes.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(MAX_GZIP_BYTES);
});
