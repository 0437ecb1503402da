import { unauthenticated } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import { type Caller, createMemoryStore } from '@svc/frames';
import { createService } from '@svc/service';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createExecApp } from '../create-exec-app.ts';

const service = createService({ store: createMemoryStore(), version: '1.2.3' });
const app = createExecApp({ service, defaultEngine: 'local' });
afterAll(() => service.close());

beforeEach(async () => {
  await app.request('/frames/t', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: '[{"id":1,"name":"a"}]',
  });
});

async function ask(path: string, init?: RequestInit): Promise<readonly [number, string | null, string]> {
  const response = await app.request(path, init);
  return [response.status, response.headers.get('content-type'), await response.text()];
}

describe('/chk', () => {
  const json = 'application/json; charset=utf-8';
  test.each([
    ['/chk?f=json&j=t&version=2', json, '{"status":"Exists"}'],
    ['/chk?f=json&j=none', json, '{"status":"Does not exist"}'],
    ['/chk?f=json&j=two%20words', json, '{"status":"Reserved name"}'],
    ['/chk?f=json&j=', json, '{"status":"Reserved name"}'],
    ['/chk?j=t', 'text/plain; charset=utf-8', 'Exists\r\n'],
  ])('%s', async (path, type, body) => {
    expect(await ask(path)).toEqual([200, type, body]);
  });

  test('HEAD has no body, and a name must be given', async () => {
    expect(await ask('/chk?f=json&j=t', { method: 'HEAD' })).toEqual([200, json, '']);
    expect((await ask('/chk?f=json'))[0]).toBe(400);
  });

  test('a failure of the store is not an answer', async () => {
    const broken = createExecApp({
      service: {
        ...service,
        describeFrame: () => Promise.reject(new ServiceError('out_of_memory', 'No memory.')),
      },
      defaultEngine: 'local',
    });
    expect((await broken.request('/chk?f=json&j=t')).status).toBe(507);
  });
});

test('/settings has what the console of QuestDB asks for, and /warnings is empty', async () => {
  const [status, , settings] = await ask('/settings');
  expect([status, JSON.parse(settings)]).toMatchObject([
    200,
    {
      config: {
        'release.type': 'OSS',
        'release.version': '1.2.3',
        'http.settings.readonly': true,
        'line.proto.support.versions': [1],
      },
      preferences: {},
    },
  ]);
  expect(await ask('/warnings')).toEqual([200, 'application/json; charset=utf-8', '[]']);
});

test('/settings without credentials has the versions of line protocol alone', async () => {
  const authenticate = ({ headers }: Request): Caller => {
    if (!headers.has('cookie')) throw unauthenticated('There is no session.');
    return { id: 'ada', tenant: 'default', permissions: new Set() };
  };
  const closed = createExecApp({ service, defaultEngine: 'local', authenticate });
  const config = async (headers: Record<string, string>): Promise<unknown> =>
    (await closed.request('/settings', { headers })).json();
  expect(await config({})).toEqual({
    config: { 'line.proto.support.versions': [1], 'cairo.max.file.name.length': 127 },
  });
  expect(await config({ cookie: 'session=1' })).toMatchObject({ config: { 'release.version': '1.2.3' } });
});

describe('where SQL is for the database by default', () => {
  const forward = () => Promise.reject(new ServiceError('tsdb_failed', 'It is not there.'));
  const tsdb = { forward, pass: forward, close: async () => {} };
  const hosted = createService({ store: createMemoryStore(), tsdb });
  afterAll(() => hosted.close());

  test.each([{}, { defaultEngine: 'tsdb' }, { forwardsAll: true }] as const)(
    '%j: imports are not for frames',
    async (options) => {
      const other = createExecApp({ service: hosted, ...options });
      expect(other.routes.map(({ path }) => path)).not.toContain('/imp');
      expect(other.routes.map(({ path }) => path)).not.toContain('/warnings');
    },
  );

  test('they are if SQL runs over frames by default, even if other paths are those of the database', () => {
    const other = createExecApp({ service: hosted, defaultEngine: 'local', forwardsAll: true });
    const paths = other.routes.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['/imp', '/warnings']));
    expect(paths).not.toContain('/settings');
  });
});
