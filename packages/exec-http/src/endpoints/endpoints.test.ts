import { createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { expect, test } from 'vitest';
import { createExecApp } from '../create-exec-app.ts';
import { parseExecRequest, parseExpRequest } from '../request/exec-request.ts';
import type { EndpointRow, MethodRow, ParameterRow } from './endpoint-table.ts';
import { ENDPOINTS } from './endpoints.ts';

const app = createExecApp({ service: createService({ store: createMemoryStore() }) });
const rows: readonly (readonly [path: string, row: EndpointRow])[] = Object.entries(ENDPOINTS);
const methods: readonly (readonly [name: string, path: string, method: MethodRow])[] = rows.flatMap(([path, row]) =>
  Object.entries(row.methods).map(([method, it]) => [`${method} ${path}`, path, it] as const),
);

test('the paths of the table are the routes of the app', () => {
  const paths = rows.map(([path]) => path.replaceAll(/\{(\w+)\}/g, ':$1'));
  expect(app.routes.map(({ path }) => path)).toEqual(paths);
});

test.each(rows)('%s allows exactly the methods of its row', async (path, { methods: own }) => {
  const { status, headers } = await app.request(path, { method: 'OPTIONS' });
  expect(status).toBe(405);
  const allowed = headers.get('allow')?.split(', ') ?? [];
  expect(new Set(allowed.filter((method) => method !== 'HEAD'))).toEqual(new Set(Object.keys(own)));
});

test('every parameter in a path has a row', () => {
  for (const [path, { pathParams = {} }] of rows) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect([path, Object.keys(pathParams)]).toEqual([path, names]);
  }
});

test('no two methods have the same id', () => {
  const ids = methods.map(([, , { id }]) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(methods)('%s is listed with targets below its path', (_name, path, { uses }) => {
  const [start = ''] = path.split('{');
  for (const { request = path } of uses) expect(request.startsWith(start)).toBe(true);
});

const rules = { hasTsdb: true, engines: ['local', 'scheduler'], hasParquet: true } as const;
test.each([
  ['/exec', ENDPOINTS['/exec'].methods.GET.params, parseExecRequest],
  ['/exp', ENDPOINTS['/exp'].methods.GET.params, parseExpRequest],
] as const)('%s takes every parameter once, unless it is repeatable', (_path, params, parse) => {
  for (const [name, { isRepeatable = false }] of Object.entries<ParameterRow>(params)) {
    const twice = () =>
      parse(
        [
          ['handle', 'x'],
          ['fmt', parse === parseExecRequest ? 'json' : 'csv'],
          [name, '1'],
          [name, '2'],
        ],
        rules,
      );
    if (isRepeatable) expect(twice).not.toThrow();
    else expect(twice).toThrow(`The parameter ${name} is given more than once.`);
  }
});

const writes = methods.filter(([, , { refusesOthers = false }]) => refusesOthers);
test.each(writes)('%s knows its parameters, and refuses others', async (name, path, { params = {} }) => {
  const [method = ''] = name.split(' ');
  const ask = async (query: string): Promise<string> => {
    const response = await app.request(`${path.replace('{handle}', 'x')}?${query}`, { method, body: 'x' });
    return response.text();
  };
  for (const known of Object.keys(params)) expect(await ask(`${known}=1`)).not.toContain('There is no parameter');
  expect(await ask('tll=1')).toContain('There is no parameter \\"tll\\"');
});
