import { readdir } from 'node:fs/promises';
import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { createExecApp } from '../create-exec-app.ts';
import { PAGE_FILES } from '../endpoints/parameters.ts';

const app = createExecApp({ service: createService({ store: createMemoryStore() }) });

test('the page and its files have their types, and a policy that allows nothing from elsewhere', async () => {
  const types = { html: 'text/html', css: 'text/css', js: 'text/javascript' } as const;
  for (const [path, type] of [
    ['/docs', types.html],
    ...PAGE_FILES.map((file) => [`/docs/${file}`, file.endsWith('.css') ? types.css : types.js]),
  ]) {
    const { status, headers } = await app.request(path);
    expect([path, status, headers.get('content-type')]).toEqual([path, 200, `${type}; charset=utf-8`]);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"]),
    );
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  }
});

test('every file of the folder is served, and no other', async () => {
  const files = await readdir(new URL('../../web', import.meta.url));
  expect(new Set(files)).toEqual(new Set(['docs.html', ...PAGE_FILES]));
  for (const name of ['none.js', 'docs.html', '..%2Fpackage.json', 'constructor']) {
    const response = await app.request(`/docs/${name}`);
    expect([name, response.status, await response.json()]).toMatchObject([name, 404, { code: 'route_not_found' }]);
  }
});

test('the page has no code and no style of its own, and only relative addresses', async () => {
  const page = await (await app.request('/docs')).text();
  expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?! type="module" src="docs\/)/);
  for (const [, address] of page.matchAll(/\s(?:src|href)="([^"]+)"/g))
    expect(address).toMatch(/^(?:docs\/|data:|#|openapi)/);
});

test('is sent again only if it has changed', async () => {
  const first = await app.request('/docs');
  const etag = first.headers.get('etag')!;
  const second = await app.request('/docs', { headers: { 'if-none-match': etag } });
  expect([second.status, await second.text(), second.headers.get('etag')]).toEqual([304, '', etag]);
});

test('is where the API is mounted', async () => {
  const mounted = new Hono().route('/data', app);
  expect((await mounted.request('/data/docs/docs.js')).status).toBe(200);
});
