import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { sharedProcess, startProcess } from '../../apps/server/test/server-process.ts';
import { LOCAL_LISTENERS } from '../../tools/local-listeners.js';
import { cellsOf, GONE, openFrame, useBrowser } from './open-console.ts';

const open = useBrowser();

/** A page of another origin that may do everything a page can. */
async function serveForeignPage(): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>Foreign</title>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('a server that is killed and started again is found again without a reload, and nothing typed is lost', async () => {
  const first = await startProcess();
  await first.put('trades', [{ symbol: 'BTC' }]);
  const { page } = await open(first.url, { expected: [GONE] });
  await openFrame(page, 'trades');
  await page.keyboard.press('Alt+t');
  await page.keyboard.type("select 'again' as word");
  await page.evaluate("globalThis.isSamePage = 'yes'");
  first.child.kill('SIGKILL');
  await first.exited;
  const banner = page.getByText('The server does not answer.');
  await banner.waitFor({ timeout: 30_000 });
  const second = await startProcess({
    listeners: LOCAL_LISTENERS.map((flag) => (flag === '127.0.0.1:0' ? `127.0.0.1:${first.port}` : flag)),
  });
  await second.put('quotes', [{ symbol: 'ETH' }]);
  await banner.waitFor({ state: 'detached', timeout: 30_000 });
  await page.getByRole('button', { name: /^quotes 1 / }).waitFor();
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => cellsOf(page)).toEqual(['again']);
  expect(await page.evaluate('globalThis.isSamePage')).toBe('yes');
});

test('a link opens its tab in another profile, and runs nothing there', async () => {
  const server = await sharedProcess();
  const permissions = ['clipboard-read', 'clipboard-write'];
  const { page } = await open(server.url, { permissions });
  await page.getByRole('main').waitFor();
  await page.keyboard.press('Alt+t');
  await page.keyboard.type("select 'shared' as word, 2 as size");
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => cellsOf(page)).toEqual(['shared', '2']);
  await page.keyboard.press('Alt+2');
  await page.getByRole('combobox', { name: 'Chart', exact: true }).selectOption('histogram');
  await page.keyboard.press('Alt+l');
  await page.getByText('The link is copied.').waitFor();
  const link = String(await page.evaluate('navigator.clipboard.readText()'));
  expect(new URL(link).hash).toMatch(/^#1\./);

  const { page: other } = await open(server.url);
  await other.goto('about:blank');
  const statements: string[] = [];
  other.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (/^\/(exec|exp)$/.test(pathname)) statements.push(searchParams.get('query') ?? request.postData() ?? '');
  });
  await other.goto(link);
  await expect.poll(() => other.locator('.cm-content').innerText()).toBe("select 'shared' as word, 2 as size");
  expect(await other.getByRole('combobox', { name: 'Engine' }).inputValue()).toBe('local');
  expect(await other.getByRole('tab', { selected: true }).innerText()).toBe('Chart');
  await other.waitForLoadState('networkidle');
  expect(statements.filter((sql) => sql.includes('shared'))).toEqual([]);
  expect(await cellsOf(other)).toEqual([]);
  await other.keyboard.press('Control+Enter');
  await expect.poll(() => other.getByRole('combobox', { name: 'Chart', exact: true }).inputValue()).toBe('histogram');
  await other.keyboard.press('Alt+1');
  await expect.poll(() => cellsOf(other)).toEqual(['shared', '2']);
});

test('a foreign page can neither put, append, drop nor query, nor read an answer', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ id: 1 }]);
  const before = await (await server.fetch('/frames')).text();
  // The browser reports each request that it blocks.
  const { page } = await open(await serveForeignPage(), { expected: [/^/] });
  const attempts: readonly (readonly [string, RequestInit])[] = [
    ['/frames/mine?fmt=csv', { method: 'POST', mode: 'no-cors', body: 'a\n1\n' }],
    ['/frames/trades?fmt=csv', { method: 'POST', mode: 'no-cors', body: 'id\n2\n' }],
    ['/frames/mine', { method: 'PUT', body: '[{"a":1}]', headers: { 'content-type': 'application/json' } }],
    ['/frames/trades', { method: 'DELETE' }],
    ['/frames', { method: 'POST', mode: 'no-cors', body: '{"sql":"select 1","engine":"local","handle":"mine"}' }],
    ['/exec?engine=local&fmt=json&query=select%201', {}],
    ['/exec?engine=local&fmt=json', { method: 'POST', mode: 'no-cors', body: 'select 1' }],
    ['/frames', {}],
  ];
  const requests = attempts.map(([path, init]) => [server.url + path, init] as const);
  const answers = await page.evaluate(
    async (all) =>
      Promise.all(
        all.map(([url, init]) =>
          fetch(url, init).then(
            async (response) => response.text(),
            () => '',
          ),
        ),
      ),
    requests,
  );
  expect(answers).toEqual(attempts.map(() => ''));
  expect(await (await server.fetch('/frames')).text()).toBe(before);
});

test('a foreign page cannot embed the console', async () => {
  const { url } = await sharedProcess();
  const { page } = await open(await serveForeignPage(), { expected: [/^/] });
  const policy = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
  await page.evaluate(`document.body.append(Object.assign(document.createElement('iframe'), { src: '${url}/' }))`);
  await policy;
  expect(page.frames().map((frame) => frame.url())).not.toContain(`${url}/`);
});

test('a name that is pointed at the server does not reach it', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ id: 1 }]);
  const { page } = await open(`http://rebound.example:${server.port}/`, { expected: [/ 403 \(Forbidden\)$/] });
  const read = await page.evaluate(async () => {
    const [list, put] = await Promise.all([
      fetch('/frames'),
      fetch('/frames/mine?fmt=csv', { method: 'PUT', body: 'a\n1\n' }),
    ]);
    return [list.status, put.status];
  });
  expect(read).toEqual([403, 403]);
  expect((await server.fetch('/frames/mine')).status).toBe(404);
});
