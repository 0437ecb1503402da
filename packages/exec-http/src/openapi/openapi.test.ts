import { Validator } from '@seriousme/openapi-schema-validator';
import { ERROR_CODES } from '@svc/errors';
import { createMemoryStore, type Engine } from '@svc/frames';
import { createService } from '@svc/service';
import { Hono } from 'hono';
import { beforeAll, describe, expect, test } from 'vitest';
import { createExecApp, type ExecAppOptions } from '../create-exec-app.ts';
import type { EndpointRow, MethodRow } from '../endpoints/endpoint-table.ts';
import { ENDPOINTS } from '../endpoints/endpoints.ts';
import type { OpenApiDocument } from './document.ts';

interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: object }>>;
  readonly security?: readonly object[];
}

const service = createService({ store: createMemoryStore() });
const newApp = (options: Partial<ExecAppOptions> = {}) => createExecApp({ service, ...options });

async function documentOf(app: Hono<never> | ReturnType<typeof newApp>, path = '/openapi.json') {
  const response = await app.request(path);
  expect(response.status).toBe(200);
  return (await response.json()) as OpenApiDocument;
}

function operationsOf({ paths }: OpenApiDocument): [string, Operation][] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, operation]): [string, Operation] => [`${method.toUpperCase()} ${path}`, operation as Operation]),
  );
}

const authenticate = () => ({ id: 'h', tenant: 'default', permissions: new Set<never>() });
const rows: readonly (readonly [string, EndpointRow])[] = Object.entries(ENDPOINTS);
const methods = rows.flatMap(([path, row]) =>
  Object.entries(row.methods).map(([method, it]): [string, MethodRow] => [`${method} ${path}`, it]),
);

describe('/openapi.json', () => {
  let document: OpenApiDocument;
  beforeAll(async () => {
    document = await documentOf(newApp());
  });

  test('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate({ ...structuredClone(document) });
    expect(result).toMatchObject({ valid: true });
    expect(document.openapi).toBe('3.1.0');
  });

  test('has every method of every path, and no other', () => {
    expect(operationsOf(document).map(([name]) => name)).toEqual(methods.map(([name]) => name));
  });

  test('has every parameter that a parser knows', () => {
    for (const [name, { parameters = [] }] of operationsOf(document)) {
      const { params = {}, headers = {} } = methods.find(([other]) => other === name)![1];
      const inQuery = parameters.filter((one) => one.in === 'query').map((one) => one.name);
      expect([name, inQuery]).toEqual([name, Object.keys(params)]);
      const inHeaders = parameters.filter((one) => one.in === 'header').map((one) => one.name);
      expect([name, inHeaders]).toEqual([name, Object.keys(headers)]);
    }
  });

  test('has only references that lead somewhere', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#([^"]+)"/g)].map(([, path]) => path);
    expect(refs).not.toEqual([]);
    for (const ref of new Set(refs)) {
      const found = ref
        .slice(1)
        .split('/')
        .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document);
      expect([ref, typeof found]).toEqual([ref, 'object']);
    }
  });

  test('has every error code, except that of a client that is gone', async () => {
    const withCallers = await documentOf(newApp({ authenticate }));
    const failures = Object.keys(withCallers.components['responses'] ?? {}).flatMap((name) => name.split('-'));
    const codes = Object.keys(ERROR_CODES).filter((code) => code !== 'cancelled');
    expect([...new Set(failures)].toSorted()).toEqual(codes.toSorted());
    expect(document.components['schemas']?.['Error']).toMatchObject({
      properties: { code: { enum: Object.keys(ERROR_CODES) } },
    });
  });

  test('has a status for each error code of a method', () => {
    for (const [name, { responses }] of operationsOf(document)) {
      const { errors = [] } = methods.find(([other]) => other === name)![1];
      const missing = errors.filter((code) => !(String(ERROR_CODES[code].http) in responses));
      expect([name, missing]).toEqual([name, []]);
    }
  });

  test('names credentials only if requests need some', async () => {
    expect(Object.keys(document.components['responses'] ?? {})).not.toContain('unauthenticated');
    expect(document.security).toEqual([]);
    expect(Object.keys(document.components['headers'] ?? {})).not.toContain('www-authenticate');
    const authenticated = await documentOf(newApp({ authenticate }));
    const statuses = Object.fromEntries(
      operationsOf(authenticated).map(([name, it]) => [name, Object.keys(it.responses)]),
    );
    expect(statuses['GET /exec']).toContain('401');
    expect(statuses['GET /openapi.json']).toContain('401');
    expect(statuses['GET /ping']).not.toContain('401');
    const [, list] = operationsOf(authenticated).find(([name]) => name === 'GET /frames')!;
    expect(list.description).toContain('Permission: `read`.');
  });

  test('describes what the server can do', () => {
    const put = JSON.stringify(document.paths['/frames/{handle}']?.['put']);
    expect(put).toContain('application/x-ndjson');
    // A memory store reads no files.
    expect(put).not.toContain('application/vnd.apache.parquet');
  });

  test('says that what is refused if it is empty is not empty', async () => {
    const { parameters } = (document.paths['/exec']?.['get'] ?? { parameters: [] }) as {
      parameters: { name: string; schema: { minLength?: number; items?: { minLength?: number } } }[];
    };
    const notEmpty = parameters.filter(({ schema }) => (schema.items ?? schema).minLength === 1);
    expect(notEmpty.map(({ name }) => name)).toEqual(['handle', 'cols', 'param']);
    const app = newApp();
    for (const query of [
      'handle=&fmt=json',
      'handle=t&fmt=json&cols=',
      'query=select+1&engine=local&fmt=json&param=',
    ]) {
      expect((await app.request(`/exec?${query}`)).ok).toBe(false);
    }
  });

  test('names only configured engines, and requires one if the default is not configured', async () => {
    const engine = { query: () => Promise.reject(new Error('not run')) } as unknown as Engine;
    const local = createService({ store: createMemoryStore(), engines: { local: engine } });
    const engineOf = async (app: ReturnType<typeof newApp>, method: string) => {
      const operation = operationsOf(await documentOf(app)).find(([name]) => name === `${method} /exec`)![1];
      return operation.parameters?.find(({ name }) => name === 'engine');
    };
    const app = createExecApp({ service: local });
    expect(await engineOf(app, 'GET')).toMatchObject({ schema: { enum: ['local'] } });
    expect(await engineOf(app, 'GET')).not.toHaveProperty('required');
    expect(await engineOf(app, 'POST')).toMatchObject({ schema: { enum: ['local'] }, required: true });
    const byDefault = createExecApp({ service: local, defaultEngine: 'local' });
    expect(await engineOf(byDefault, 'POST')).not.toHaveProperty('required');
  });

  test('refuses in bodies what the server refuses: an invalid handle, no time to live, no SQL', () => {
    const handle = { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' };
    const ttl = { anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }] };
    const { FrameChange, StoredQuery, AppendedQuery } = document.components['schemas'] ?? {};
    expect(FrameChange).toMatchObject({ anyOf: [{ properties: { ttl } }, { properties: { handle } }] });
    expect(StoredQuery).toMatchObject({ properties: { handle, ttl, sql: { minLength: 1 } } });
    expect(AppendedQuery).toMatchObject({ properties: { sql: { minLength: 1 } } });
  });

  test('has the path under which the API is mounted', async () => {
    expect(document.servers).toEqual([{ url: '/' }]);
    const mounted = await documentOf(new Hono().route('/data', newApp()) as never, '/data/openapi.json');
    expect(mounted.servers).toEqual([{ url: '/data' }]);
  });

  test('has the paths of the host', async () => {
    const { '/ping': row } = ENDPOINTS;
    const document_ = await documentOf(newApp({ otherEndpoints: { '/own': row } }));
    expect(Object.keys(document_.paths)).toEqual([...rows.map(([path]) => path), '/own']);
  });

  test('has an etag, and is not sent again', async () => {
    const app = newApp();
    const first = await app.request('/openapi.json');
    const etag = first.headers.get('etag')!;
    const second = await app.request('/openapi.json', { headers: { 'if-none-match': etag } });
    expect([second.status, await second.text(), second.headers.get('etag')]).toEqual([304, '', etag]);
    const packed = await app.request('/openapi.json', { headers: { 'accept-encoding': 'gzip' } });
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect(packed.headers.get('etag')).not.toBe(etag);
  });
});
