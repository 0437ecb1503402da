import { describe, expect, test } from 'vitest';
import { CALLERS, callersFileOf } from './callers.ts';
import { sharedProcess, startProcess, testFile } from './server-process.ts';

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

/** The addresses in a page. */
function addressesIn(page: string): string[] {
  return [...page.matchAll(/ (?:src|href)="\.([^"]+)"/g)].map(([, address]) => address);
}

describe('GET /', () => {
  test('is the console for browsers, and a list for other clients', async () => {
    const server = await sharedProcess();
    const page = await server.fetch('/', { headers: BROWSER });
    expect([page.status, page.headers.get('content-type'), page.headers.get('vary')]).toEqual([
      200,
      'text/html; charset=utf-8',
      'accept, accept-encoding',
    ]);
    expect(page.headers.get('x-request-id')).toBeTruthy();
    const list = await server.fetch('/');
    expect([list.headers.get('content-type'), list.headers.get('vary')]).toEqual([
      'text/plain; charset=utf-8',
      'accept, accept-encoding',
    ]);
  });

  test('has a page whose files are there, with a policy that allows only them', async () => {
    const server = await sharedProcess();
    const page = await server.fetch('/', { headers: BROWSER });
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self';");
    const addresses = addressesIn(await page.text());
    expect(addresses.length).toBeGreaterThanOrEqual(2);
    for (const address of addresses) {
      const { status, headers } = await server.fetch(address);
      expect([address, status, headers.get('cache-control')]).toEqual([
        address,
        200,
        'public, max-age=31536000, immutable',
      ]);
    }
  });

  test('sends the page again only if it has changed', async () => {
    const server = await sharedProcess();
    const etag = (await server.fetch('/', { headers: BROWSER })).headers.get('etag') ?? '';
    const again = await server.fetch('/', { headers: { ...BROWSER, 'if-none-match': etag } });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
  });

  test('refuses a page under a name that is not of this server', { tags: ['slow'] }, async () => {
    const server = await startProcess({ env: { SERVICE_HTTP_ALLOWED_HOSTS: 'data.example.com' } });
    const { status } = await server.fetch('/', { headers: BROWSER });
    expect(status).toBe(403);
  });
});

test('a file that is not there is 404 in JSON', async () => {
  const server = await sharedProcess();
  for (const name of ['none.js', 'index.html', 'NOTICES.txt', '..%2F..%2Fpackage.json', '%2e%2e']) {
    const response = await server.fetch(`/console/assets/${name}`);
    expect([name, response.status, await response.json()]).toMatchObject([name, 404, { code: 'route_not_found' }]);
  }
});

test('http.console=false leaves the list alone', async () => {
  const server = await startProcess({ args: ['--http-console', 'false'] });
  const list = await server.fetch('/', { headers: BROWSER });
  expect([list.status, list.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
  expect((await server.fetch('/console/assets/none.js')).status).toBe(404);
  const { paths } = (await (await server.fetch('/openapi.json')).json()) as { paths: object };
  expect(Object.keys(paths)).not.toContain('/console/assets/{file}');
});

test('http.compression=false sends plain files', async () => {
  const server = await startProcess({ env: { SERVICE_HTTP_COMPRESSION: 'false' } });
  const { headers } = await server.fetch('/', { headers: { ...BROWSER, 'accept-encoding': 'br, gzip' } });
  expect(headers.get('content-encoding')).toBeNull();
});

test('the page and its files need no token: the page asks for one', async () => {
  const file = testFile('callers.toml', callersFileOf(CALLERS));
  const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
  const page = await server.fetch('/', { headers: BROWSER });
  const statuses = addressesIn(await page.text()).map(async (path) => (await server.fetch(path)).status);
  expect(new Set([page.status, ...(await Promise.all(statuses))])).toEqual(new Set([200]));
  expect((await server.fetch('/frames')).status).toBe(401);
});
