import { Hono } from 'hono';
import { describe, expect, test } from 'vitest';
import { createConsoleApp } from './create-console-app.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

const host = new Hono();
host.get('/data/frames', (c) => c.text('of the API'));
host.route('/data', createConsoleApp());
host.get('/data', (c) => c.text('of the host'));
host.notFound((c) => c.text('none', 404));

const get = (app: Hono, path: string, accept = BROWSER): Response | Promise<Response> =>
  app.request(path, { headers: { accept } });
const statusOf = async (path: string, accept?: string): Promise<number> => (await get(host, path, accept)).status;

test.each([
  ['a browser', BROWSER, true],
  ['a client that prefers HTML', 'text/plain;q=0.5, text/html', true],
  ['curl', '*/*', false],
  ['a client without a preference', '', false],
  ['a client that refuses HTML', 'text/html;q=0, */*', false],
  ['a client that prefers text', 'text/html;q=0.5, text/plain', false],
  ['a client for JSON', 'application/json', false],
])('%s gets the page: %s', async (_client, accept, isPage) => {
  const response = await get(new Hono().route('/', createConsoleApp()), '/', accept);
  expect([response.status, response.headers.get('content-type')]).toEqual(
    isPage ? [200, 'text/html; charset=utf-8'] : [404, expect.stringContaining('text/plain')],
  );
});

describe('below a path', () => {
  test('the page is at the path with a slash', async () => {
    const response = await get(host, '/data/');
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('<!doctype html>')]);
  });

  test('its files are where its relative addresses lead', async () => {
    const page = await (await get(host, '/data/')).text();
    const [, source = ''] = /<script[^>]* src="([^"]+)"/.exec(page) ?? [];
    const { pathname } = new URL(source, 'http://localhost/data/');
    const response = await get(host, pathname, '*/*');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  });

  test.each([
    ['/data', '/data/'],
    ['/data?a=1', '/data/?a=1'],
  ])('%s redirects to %s', async (from, to) => {
    const response = await get(host, from);
    expect(response.status).toBe(308);
    expect(new URL(response.headers.get('location') ?? '', `http://localhost${from}`).href).toBe(
      `http://localhost${to}`,
    );
  });

  test('a redirect never leaves the host', async () => {
    const app = new Hono().route('/:any', createConsoleApp());
    for (const path of ['/evil.example', '/%2F%2Fevil.example', '/evil.example%5C']) {
      const response = await get(app, path);
      const target = new URL(response.headers.get('location') ?? '', `http://localhost${path}`);
      expect([response.status, target.host]).toEqual([308, 'localhost']);
    }
  });

  test('every other request belongs to the host', async () => {
    expect(await (await get(host, '/data', '*/*')).text()).toBe('of the host');
    expect(await (await get(host, '/data/frames')).text()).toBe('of the API');
    expect(await statusOf('/data/console/assets/none.js')).toBe(404);
    expect(await statusOf('/data/other')).toBe(404);
    expect(await statusOf('/')).toBe(404);
    expect((await host.request('/data/', { method: 'POST', headers: { accept: BROWSER } })).status).toBe(404);
  });

  test('a path with a parameter works, too', async () => {
    const app = new Hono().route('/of/:tenant', createConsoleApp());
    expect((await get(app, '/of/alpha/')).status).toBe(200);
    expect((await get(app, '/of/alpha')).status).toBe(308);
  });

  test('HEAD has the headers alone', async () => {
    const response = await host.request('/data/', { method: 'HEAD', headers: { accept: BROWSER } });
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
      200,
      'text/html; charset=utf-8',
      '',
    ]);
  });
});

test('Express, which hides the path of the mount, is asked for it', async () => {
  const app = new Hono().route('/', createConsoleApp());
  const env = (originalUrl: string) => ({ incoming: { originalUrl } });
  const at = (originalUrl: string) => app.request('/', { headers: { accept: BROWSER } }, env(originalUrl));
  expect((await at('/data/')).status).toBe(200);
  const response = await at('/data?a=1');
  expect([response.status, response.headers.get('location')]).toEqual([308, './data/?a=1']);
});
