import { readdir } from 'node:fs/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createConsoleFiles } from './console-files.ts';

const files = createConsoleFiles();
const names = (await readdir(new URL('../web', import.meta.url)))
  .filter((name) => name.endsWith('.br'))
  .map((name) => name.replace(/\.br$/, ''));
const assets = names.filter((name) => name !== 'index.html');
const textOf = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

test('the page is checked at each load, its files are kept forever', async () => {
  const { status, headers } = await files.page({});
  expect([status, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'text/html; charset=utf-8',
    'no-cache',
  ]);
  expect(assets).not.toEqual([]);
  for (const name of assets) {
    const file = await files.asset(name, {});
    expect([name, file?.headers['cache-control']]).toEqual([name, 'public, max-age=31536000, immutable']);
    // A hash of the content: another content has another name.
    expect(name).toMatch(/-[\w-]{8}\.(css|js|svg)$/);
  }
});

test.each([
  ['css', 'text/css; charset=utf-8'],
  ['js', 'text/javascript; charset=utf-8'],
  ['svg', 'image/svg+xml'],
])('files of kind %s are %s', async (extension, type) => {
  const own = assets.filter((name) => name.endsWith(`.${extension}`));
  const types = await Promise.all(own.map(async (name) => (await files.asset(name, {}))?.headers['content-type']));
  expect(types).toEqual(own.map(() => type));
});

test('every file has the policy: only what is of this origin runs, and nothing can frame it', async () => {
  for (const { headers } of [
    await files.page({}),
    ...(await Promise.all(assets.map((name) => files.asset(name, {})))),
  ].filter((file) => file !== undefined)) {
    const policy = headers['content-security-policy']?.split('; ') ?? [];
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]),
    );
    // Attributes alone, and no other origin.
    expect(policy.filter((rule) => /unsafe|\*|https?:/.test(rule))).toEqual(["style-src-attr 'unsafe-inline'"]);
    expect(headers).toMatchObject({
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
  }
});

test('the page has no code and no style of its own, and only relative addresses', async () => {
  const page = textOf((await files.page({})).body);
  expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]* src="\.\/console\/assets\/)/);
  const addresses = [...page.matchAll(/\s(?:src|href)="([^"]+)"/g)].map(([, address]) => address);
  expect(addresses).not.toEqual([]);
  expect(addresses.filter((address) => !address.startsWith('./console/assets/'))).toEqual([]);
  for (const address of addresses) expect(assets).toContain(address.replace('./console/assets/', ''));
});

test.each([
  ['br, gzip', 'br', brotliDecompressSync],
  ['gzip, deflate', 'gzip', gunzipSync],
  ['br;q=0, gzip', 'gzip', gunzipSync],
  ['*', 'br', brotliDecompressSync],
  ['BR', 'br', brotliDecompressSync],
])('a client that accepts %s gets %s', async (acceptEncoding, encoding, decode) => {
  for (const send of [(request: object) => files.page(request), (request: object) => files.asset(assets[0], request)]) {
    const [plain, packed] = await Promise.all([send({}), send({ acceptEncoding })]);
    expect([plain?.headers['content-encoding'], packed?.headers['content-encoding']]).toEqual([undefined, encoding]);
    expect(packed?.headers['vary']).toMatch(/accept-encoding$/);
    expect(textOf(decode(packed?.body ?? ''))).toBe(textOf(plain?.body));
  }
});

test.each([undefined, '', 'identity', 'deflate', 'br;q=0, gzip;q=0'])(
  'a client that accepts %s gets plain bytes',
  async (acceptEncoding) => {
    const { headers, body } = await files.page({ acceptEncoding });
    expect([headers['content-encoding'], textOf(body).slice(0, 15)]).toEqual([undefined, '<!doctype html>']);
  },
);

test.each([
  ['the same etag', (etag: string) => etag, 304],
  ['the same etag without W/', (etag: string) => etag.replace('W/', ''), 304],
  ['a list with the etag', (etag: string) => `"a", ${etag}`, 304],
  ['*', () => '*', 304],
  ['another etag', () => '"a"', 200],
  ['a part of the etag', (etag: string) => etag.slice(0, 10), 200],
])('If-None-Match with %s is answered', async (_what, headerFor, status) => {
  const first = await files.page({});
  const second = await files.page({ ifNoneMatch: headerFor(first.headers['etag'] ?? '') });
  expect([second.status, second.body === undefined]).toEqual([status, status === 304]);
  expect(second.headers).toMatchObject({ etag: first.headers['etag'], vary: 'accept, accept-encoding' });
});

test.each(['none.js', 'index.html', 'NOTICES.txt', '../package.json', '..%2Fpackage.json', '', 'constructor'])(
  'there is no file %j',
  async (name) => {
    expect(await files.asset(name, {})).toBeUndefined();
  },
);
