import { expect, test } from 'vitest';
import { createApi } from '../api/api.ts';
import { downloadFormats, downloadTarget } from '../api/download.ts';
import { defaultTtl, keepAnswer } from './KeepSheet.tsx';

async function sentBy(
  request: Partial<Parameters<typeof keepAnswer>[1]>,
): Promise<{ headers: Headers; body: unknown; url: string }> {
  let sent: { headers: Headers; body: unknown; url: string } | undefined;
  const observer = { answered: () => undefined, gone: () => undefined, unauthenticated: () => undefined };
  const api = createApi(new URL('http://svc.test/'), observer, async (url, init) => {
    const received = new Request(url, init);
    sent = { url: received.url, headers: received.headers, body: await received.json() };
    return Response.json({ handle: 'f-1' }, { status: 201 });
  });
  const base = { sql: 'select 1', engine: 'local', handle: '', ttl: null, canReplace: false } as const;
  await keepAnswer(api, { ...base, requestId: 'r', signal: new AbortController().signal, ...request });
  if (sent === undefined) throw new Error('Nothing was sent.');
  return sent;
}

test('an answer is kept under a new name, and replaces nothing', async () => {
  const { url, headers, body } = await sentBy({});
  expect([url, headers.get('if-none-match'), headers.get('x-request-id'), body]).toEqual([
    'http://svc.test/frames',
    '*',
    'r',
    { sql: 'select 1', engine: 'local' },
  ]);
});

test('an answer of the database is kept for 15 minutes, under the name that was given', async () => {
  const { headers, body } = await sentBy({ engine: 'tsdb', handle: 'bars', ttl: defaultTtl('tsdb'), canReplace: true });
  expect([headers.get('if-none-match'), body]).toEqual([
    null,
    { sql: 'select 1', engine: 'tsdb', handle: 'bars', ttl: 900 },
  ]);
  expect(defaultTtl('local')).toBeNull();
});

test('an answer is downloaded in the formats of its engine', () => {
  const csv = { format: 'csv', extension: 'csv' };
  expect(downloadFormats(undefined, 'local')).toEqual([]);
  expect(downloadFormats(undefined, 'tsdb').map(({ format }) => format)).toEqual(['csv', 'parquet', 'json']);
  expect(downloadTarget({ engine: 'local', format: csv, maxRows: null })).toEqual({
    path: 'exp',
    params: { engine: 'local', fmt: 'csv', limit: undefined },
  });
  expect(downloadTarget({ engine: 'tsdb', format: { format: 'json', extension: 'json' }, maxRows: 10 })).toEqual({
    path: 'exec',
    params: { engine: 'tsdb', fmt: 'json', limit: 10 },
  });
});
