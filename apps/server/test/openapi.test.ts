import { describe, expect, test } from 'vitest';
import { SERVER_ENDPOINTS } from '../src/http/server-endpoints.ts';
import { bearer, CALLERS, callersFileOf } from './callers.ts';
import { sharedProcess, startProcess, testFile } from './server-process.ts';

interface Document {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security?: readonly object[] }>>>>;
  readonly security?: readonly object[];
}

describe('/openapi.json of the real server', () => {
  test('describes every path of the table, and every path of the page at / is in it', async () => {
    const server = await sharedProcess();
    const document = (await (await server.fetch('/openapi.json')).json()) as Document;
    expect(new Set(Object.keys(document.paths))).toEqual(new Set(Object.keys(SERVER_ENDPOINTS)));
    expect(await (await server.fetch('/health')).json()).toMatchObject({ version: document.info.version });
    const index = await (await server.fetch('/')).text();
    const targets = [...index.matchAll(/^[A-Z]+ +(\/[^\s?]*)/gm)].map(([, path]) =>
      path.replace('{handle}.parquet', '{name}'),
    );
    expect(targets.length).toBeGreaterThan(20);
    expect(targets.filter((path) => !(path in document.paths))).toEqual([]);
  });

  test('needs a token if other requests do, and says which paths do not', async () => {
    const file = testFile('callers.toml', callersFileOf(CALLERS));
    const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
    expect((await server.fetch('/openapi.json')).status).toBe(401);
    const headers = { authorization: bearer(CALLERS.read.token) };
    const document = (await (await server.fetch('/openapi.json', { headers })).json()) as Document;
    expect(document.security).toEqual([{ bearer: [] }, { basic: [] }]);
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const method of Object.keys(operations).filter((name) => name !== 'parameters')) {
        const url = path.replaceAll(/\{file\}/g, 'docs.js').replaceAll(/\{\w+\}/g, 'x');
        const { status } = await server.fetch(url, { method: method.toUpperCase() });
        expect([method, path, status === 401]).toEqual([method, path, operations[method].security === undefined]);
      }
    }
    const page = await server.fetch('/docs');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  });
});
