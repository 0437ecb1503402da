import { createMemoryStore, parseHandle } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { createService, type EventOf, type Service, type ServiceEvent } from '@svc/service';
import type { TsdbProxy } from '@svc/tsdb-proxy';
import type { Hono } from 'hono';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createExecApp, type ExecEnv } from '../index.ts';

const ROWS = 20;
const LONG_ROWS = 400_000;
const UPLOAD = '[{"id":1},{"id":2}]';

type Answered = EventOf<'request_answered'>;

const events: ServiceEvent[] = [];
let service: Service;
let app: Hono<ExecEnv>;

beforeAll(async () => {
  const store = createMemoryStore();
  await store.put({ tenant: 'default', handle: parseHandle('t') }, longFrame(ROWS));
  await store.put({ tenant: 'default', handle: parseHandle('long') }, longFrame(LONG_ROWS, { batchRows: 10_000 }));
  const tsdb: TsdbProxy = {
    forward: async () => ({ status: 200, headers: {}, body: ReadableStream.from([Buffer.from('{"count":0}')]) }),
    close: async () => {},
  };
  service = createService({ store, tsdb, observe: (event) => events.push(event) });
  app = createExecApp({ service, compression: false });
});

beforeEach(() => void (events.length = 0));

afterAll(() => service.close());

/** Sends a request, and returns the length of the body and the event of the response. */
async function answered(
  path: string,
  init?: RequestInit,
): Promise<{ readonly event: Answered; readonly bytes: number }> {
  const { byteLength: bytes } = await (await app.request(path, init)).arrayBuffer();
  const [started, event, ...others] = events.splice(0).filter(({ kind }) => kind.startsWith('request_'));
  if (event?.kind !== 'request_answered') throw new Error('The request was not reported.');
  expect([started, others]).toEqual([{ kind: 'request_started', requestId: event.requestId, protocol: 'http' }, []]);
  return { event, bytes };
}

describe('a request is reported once', () => {
  test.each<[string, RequestInit | undefined, Partial<Answered>]>([
    ['/exec?handle=t&fmt=json', undefined, { route: '/exec', method: 'GET', status: 200, rows: ROWS, format: 'json' }],
    ['/exec?handle=t&fmt=json&limit=15,99', undefined, { rows: 6, format: 'json' }],
    ['/exec?handle=t&fmt=json&limit=99,999', undefined, { rows: 0, format: 'json' }],
    ['/exec?handle=long&fmt=json&limit=400000', undefined, { rows: LONG_ROWS, format: 'json' }],
    ['/exp?handle=t&fmt=csv', undefined, { route: '/exp', rows: ROWS, format: 'csv' }],
    ['/exec?handle=t&fmt=json', { method: 'HEAD' }, { method: 'HEAD', rows: undefined, responseBytes: 0 }],
    ['/exec?query=x&fmt=json', undefined, { route: '/exec', rows: undefined, format: undefined }],
    [
      '/exec?fmt=json',
      { method: 'POST', body: 'select 1', headers: { 'content-type': 'text/plain' } },
      { requestBytes: 8 },
    ],
    ['/frames', undefined, { route: '/frames', rows: undefined, format: undefined }],
    ['/frames/t', undefined, { route: '/frames/{handle}', rows: undefined, format: undefined }],
    [
      '/frames/n',
      { method: 'PUT', body: UPLOAD, headers: { 'content-type': 'application/json' } },
      { route: '/frames/{handle}', method: 'PUT', status: 201, requestBytes: UPLOAD.length, format: 'json' },
    ],
    ['/frames/n', { method: 'DELETE' }, { method: 'DELETE', status: 204, responseBytes: 0 }],
    ['/files/t.csv', undefined, { route: '/files/{name}', rows: ROWS, format: 'csv' }],
    ['/ping', undefined, { route: '/ping', status: 200, responseBytes: 2 }],
  ])('%s %j', async (path, init, expected) => {
    const { event, bytes } = await answered(path, init);
    expect(event).toMatchObject({ responseBytes: bytes, requestBytes: 0, error: undefined, ...expected });
    expect(event.firstByteMs).toBeLessThanOrEqual(event.durationMs);
  });

  test('with the same rows and bytes if the response comes from the cache', async () => {
    const all: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const { event } = await answered('/exec?handle=t&fmt=json&limit=7');
      all.push([event.rows, event.format, event.responseBytes]);
    }
    expect(all).toEqual([all[0], all[0], all[0]]);
    expect(all[0]).toMatchObject([7, 'json', expect.any(Number)]);
  });

  test('without rows if they are not sent again', async () => {
    const { headers } = await app.request('/exec?handle=t&fmt=json');
    events.length = 0;
    const condition = { headers: { 'if-none-match': String(headers.get('etag')) } };
    const { event } = await answered('/exec?handle=t&fmt=json', condition);
    expect(event).toMatchObject({ status: 304, rows: undefined, responseBytes: 0 });
  });

  test.each([
    ['/exec?handle=none&fmt=json', 'GET', '/exec', 404, 'handle_not_found'],
    ['/frames/t', 'LINK', '/frames/{handle}', 405, 'method_not_allowed'],
  ])('with the error of %s %s, and the bytes of its body', async (path, method, route, status, code) => {
    const { event, bytes } = await answered(path, { method });
    expect(event).toMatchObject({ route, method, status, rows: undefined, responseBytes: bytes, error: { code } });
  });

  test('if the client stops reading, with the bytes that were sent until then', async () => {
    const response = await app.request('/exec?handle=long&fmt=json&limit=400000');
    const reader = response.body!.getReader();
    const first = await reader.read();
    await reader.cancel();
    const answers = events.filter(({ kind }) => kind === 'request_answered');
    expect(answers).toMatchObject([{ error: { code: 'cancelled' }, rows: undefined, format: 'json' }]);
    expect(answers).toMatchObject([{ responseBytes: first.value?.byteLength }]);
  });
});
