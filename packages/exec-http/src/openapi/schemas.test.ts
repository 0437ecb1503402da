import type { ErrorBody } from '@svc/errors';
import { type ColumnTypeName, createMemoryStore, type FrameInfo, type Handle } from '@svc/frames';
import { createService, type ShownInfo } from '@svc/service';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { createExecApp } from '../create-exec-app.ts';
import type { ImportErrorFields, LineErrorFields } from '../endpoints/questdb-handlers.ts';
import type { ShownHealth } from '../endpoints/server-handlers.ts';
import { SCHEMAS } from './schemas.ts';

/** A value as JSON sends it. */
type Sent<T> = [T] extends [ColumnTypeName | Date | Handle]
  ? string
  : [T] extends [Date | null]
    ? string | null
    : T extends readonly (infer Item)[]
      ? Sent<Item>[]
      : T extends object
        ? { -readonly [Key in keyof T]: Sent<T[Key]> }
        : T;

describe('the schema of a response has exactly the fields of its type:', () => {
  test('a frame', () => {
    expectTypeOf<v.InferOutput<(typeof SCHEMAS)['Frame']>>().toEqualTypeOf<Sent<FrameInfo>>();
  });
  test('a frame without its columns', () => {
    expectTypeOf<v.InferOutput<(typeof SCHEMAS)['ShownFrame']>>().toEqualTypeOf<Sent<ShownInfo>>();
  });
  test('an error', () => {
    expectTypeOf<v.InferOutput<(typeof SCHEMAS)['Error']>>().toEqualTypeOf<
      Sent<ErrorBody & Partial<LineErrorFields & ImportErrorFields>>
    >();
  });
  test('the health', () => {
    expectTypeOf<v.InferOutput<(typeof SCHEMAS)['Health']>>().toEqualTypeOf<Sent<ShownHealth>>();
  });
});

describe('a real response fits its schema:', () => {
  const service = createService({ store: createMemoryStore() });
  const app = createExecApp({ service });
  const local = createExecApp({ service, defaultEngine: 'local' });
  const put = () =>
    app.request('/frames/t', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '[{"id":1,"name":"a","nested":{"x":[1.5]}},{"id":null}]',
    });

  test.each([
    ['Frame', '/frames/t', {}],
    ['FrameList', '/frames', {}],
    ['FrameList', '/frames?columns=false', {}],
    ['QueryList', '/queries', {}],
    ['Info', '/info', {}],
    ['Table', '/exec?handle=t&fmt=json', {}],
    ['Table', '/exec?handle=t&fmt=json&timings=true', {}],
    ['Table', '/exec?handle=t&fmt=json&nm=true&count=true', {}],
    ['Error', '/exec?handle=none&fmt=json', {}],
    ['Error', '/exec?query=select&fmt=json', {}],
    ['Error', '/write', { method: 'POST', body: 't' }],
    ['Error', '/imp', { method: 'POST', body: 't' }],
    ['Settings', '/settings', {}],
    ['Health', '/health', {}],
    ['State', '/ready', {}],
    ['State', '/livez', {}],
    ['ShownFrame', '/frames/t', { method: 'PATCH', body: '{"ttl":60}' }],
  ] as const)('%s of %s', async (name, path, init) => {
    await put();
    const body: unknown = await (await app.request(path, init)).json();
    expect(v.safeParse(SCHEMAS[name], body).issues).toBeUndefined();
  });

  test.each([
    ['Settings', '/settings'],
    ['Existence', '/chk?f=json&j=t'],
    ['Existence', '/chk?f=json&j=none'],
  ] as const)('%s of %s, if SQL runs over frames by default', async (name, path) => {
    await put();
    const body: unknown = await (await local.request(path)).json();
    expect(v.safeParse(SCHEMAS[name], body).issues).toBeUndefined();
  });
});
