import { createMemoryStore } from '@svc/frames';
import { createService, type Service } from '@svc/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createExecApp } from '@svc/exec-http';
import { SLOW } from '../../../../test/tier.ts';
import { createApi, type FrameInfo } from '../api/api.ts';
import { createFrameRows, createRetries } from './frame-rows.ts';
import { ClientError } from '@svc/client/internal';

const BASE = 'http://localhost/';
const OBSERVER = { answered: () => {}, gone: () => {}, unauthenticated: () => {} };

/** Waits until an assertion holds, as long as `expect.poll` does. */
const until = (assertion: () => void): Promise<void> => vi.waitFor(assertion, { timeout: 15_000 });

describe('the rows of a frame', () => {
  let service: Service;
  let app: ReturnType<typeof createExecApp>;
  let sent: URLSearchParams[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  let isGone = false;
  let cut: ((body: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>) | undefined;
  const api = createApi(new URL(BASE), OBSERVER, async (input, init) => {
    if (isGone) throw new TypeError('fetch failed');
    const url = new URL(input instanceof Request ? input.url : input);
    sent.push(url.searchParams);
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    try {
      const response = await app.request(`${url.pathname}${url.search}`, init);
      return cut && response.body ? new Response(cut(response.body), response) : response;
    } finally {
      atOnce -= 1;
    }
  });

  beforeAll(() => {
    service = createService({ store: createMemoryStore() });
    app = createExecApp({ service });
  });
  afterAll(() => service.close());

  async function put(handle: string, rows: readonly object[]): Promise<FrameInfo> {
    const headers = { 'content-type': 'application/json' };
    await app.request(`/frames/${handle}`, { method: 'PUT', body: JSON.stringify(rows), headers });
    const response = await app.request(`/frames/${handle}`);
    sent = [];
    mostAtOnce = 0;
    return (await response.json()) as FrameInfo;
  }

  const numbers = (count: number) => Array.from({ length: count }, (_, id) => ({ id, text: `row ${id}` }));
  const all = (info: FrameInfo) => ({
    firstRow: 0,
    lastRow: info.rows - 1,
    firstColumn: 0,
    lastColumn: info.columns.length - 1,
  });

  test('are loaded in windows, two with a request, at most three requests at once, and each only once', async () => {
    const info = await put('numbers', numbers(3000));
    const rows = createFrameRows(api, info, null);
    rows.want(all(info));
    rows.want(all(info));
    await until(() => expect(rows.cell(2999, 1)).toEqual({ text: 'row 2999', look: 'value' }));
    expect(rows.cell(512, 0)).toEqual({ text: '512', look: 'value' });
    expect(sent.map((params) => params.get('limit'))).toEqual(['1024', '1025,2048', '2049,3000']);
    expect(mostAtOnce).toBe(3);
    rows.close();
  });

  test.each([
    [100, ['64', '65,128']],
    [5, ['2']],
  ])('stay below the limit of %i rows of the server', async (maxRows, limits) => {
    const info = await put('limited', numbers(1000));
    const rows = createFrameRows(api, info, maxRows);
    rows.want({ firstRow: 0, lastRow: maxRows === 100 ? 127 : 1, firstColumn: 0, lastColumn: 1 });
    await until(() => expect(sent.map((params) => params.get('limit'))).toEqual(limits));
    rows.close();
  });

  test('of another version are not shown', async () => {
    const info = await put('replaced', numbers(2000));
    const rows = createFrameRows(api, info, null);
    rows.want({ firstRow: 0, lastRow: 10, firstColumn: 0, lastColumn: 1 });
    await until(() => expect(rows.cell(0, 0)?.text).toBe('0'));
    await put('replaced', numbers(1999));
    rows.want({ firstRow: 1500, lastRow: 1510, firstColumn: 0, lastColumn: 1 });
    await until(() => expect(rows.isOutdated.value).toBe(true));
    expect([rows.cell(1500, 0), rows.cell(0, 0)?.text]).toEqual([undefined, '0']);
    rows.close();
  });

  test('with long texts come in smaller windows', SLOW, async () => {
    const info = await put(
      'long',
      Array.from({ length: 20 }, (_, id) => ({ id, text: 'x'.repeat(id === 9 ? 9e6 : 1e6) })),
    );
    const rows = createFrameRows(api, info, null);
    rows.want(all(info));
    await until(() => expect(rows.cell(19, 1)).toBeDefined());
    await until(() => expect(rows.cell(9, 1)).toEqual({ text: '…', look: 'cut' }));
    expect(rows.cell(8, 1)).toEqual({ text: 'x'.repeat(256), look: 'cut', bytes: 1e6 });
    expect(await rows.wholeText(9, 1)).toHaveLength(9e6);
    rows.close();
  });

  test('with a value that does not fit into a window have their other values', async () => {
    const info = await put('huge', [
      { before: 1, huge: 'x'.repeat(9 * 1024 * 1024), after: 2 },
      { before: 3, huge: 'y', after: 4 },
    ]);
    const rows = createFrameRows(api, info, null);
    rows.want(all(info));
    const texts = (row: number) => [0, 1, 2].map((column) => rows.cell(row, column)?.text);
    await until(() =>
      expect([texts(0), texts(1)]).toEqual([
        ['1', '…', '2'],
        ['3', 'y', '4'],
      ]),
    );
    expect(await rows.wholeText(0, 1)).toHaveLength(9 * 1024 * 1024);
    rows.close();
  });

  test('of more columns than a window has come in several, by their names', async () => {
    const names = Array.from({ length: 70 }, (_, i) => (i === 1 ? 'a,"b"' : `c${i}`));
    const info = await put('wide', [Object.fromEntries(names.map((name, i) => [name, i]))]);
    const rows = createFrameRows(api, info, null);
    rows.want({ firstRow: 0, lastRow: 0, firstColumn: 1, lastColumn: 40 });
    await until(() => expect([rows.cell(0, 1)?.text, rows.cell(0, 40)?.text]).toEqual(['1', '40']));
    expect([sent.length, rows.cell(0, 69)]).toEqual([2, undefined]);
    rows.close();
  });

  test('whose Arrow data cannot be decoded come as JSON, and so does the rest of their columns', async () => {
    const info = await put('json', numbers(600));
    const formats: (string | null)[] = [];
    const undecodable = createApi(new URL(BASE), OBSERVER, async (input, init) => {
      const { pathname, search, searchParams } = new URL(input instanceof Request ? input.url : input);
      const { status, headers, body } = await app.request(`${pathname}${search}`, init);
      formats.push(searchParams.get('fmt'));
      return new Response(pathname === '/exp' ? 'not Arrow' : body, { status, headers });
    });
    const rows = createFrameRows(undecodable, info, 512);
    rows.want({ ...all(info), lastRow: 0 });
    await until(() => expect(rows.cell(1, 1)).toEqual({ text: 'row 1', look: 'value' }));
    rows.want(all(info));
    await until(() => expect(rows.cell(599, 1)?.text).toBe('row 599'));
    expect(formats).toEqual(['arrow', 'json', 'json']);
    rows.close();
  });

  test('come again by themselves after the server was gone', async () => {
    const info = await put('gone', numbers(10));
    const rows = createFrameRows(api, info, null);
    isGone = true;
    rows.want(all(info));
    await until(() => expect(rows.failure.value?.message).toBe('The server does not answer.'));
    isGone = false;
    await until(() => expect(rows.cell(9, 0)?.text).toBe('9'));
    expect(rows.failure.value).toBeUndefined();
    rows.close();
  });

  test.each([
    ['breaks', (stream: TransformStreamDefaultController<Uint8Array>) => stream.error(new TypeError('network error'))],
    ['ends', (stream: TransformStreamDefaultController<Uint8Array>) => stream.terminate()],
  ])('come again by themselves if an answer %s in its middle', async (_, end) => {
    const info = await put('cut', numbers(10));
    const rows = createFrameRows(api, info, null);
    cut = (body) =>
      body.pipeThrough(
        new TransformStream({
          transform(chunk, stream) {
            stream.enqueue(chunk.subarray(0, chunk.length / 2));
            end(stream);
          },
        }),
      );
    rows.want(all(info));
    await until(() => expect(rows.failure.value).toMatchObject({ code: 'connection_lost' }));
    expect(rows.cell(0, 0)).toBeUndefined();
    cut = undefined;
    await until(() => expect(rows.cell(9, 0)?.text).toBe('9'));
    rows.close();
  });

  test('of a frame that was dropped have its error', async () => {
    const info = await put('dropped', numbers(10));
    await app.request('/frames/dropped', { method: 'DELETE' });
    const rows = createFrameRows(api, info, null);
    rows.want(all(info));
    await until(() => expect(rows.failure.value).toMatchObject({ code: 'handle_not_found' }));
    rows.close();
  });
});

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function refused(status: number, retryAfterMs?: number): ClientError {
  return new ClientError('Refused.', { code: `http_${status}`, status, retryAfterMs });
}

/** When something is tried again that fails five times in the same way. */
function timesOf(error: Error): number[] {
  const times: number[] = [];
  const startMs = Date.now();
  const retries = createRetries(() => {
    times.push(Date.now() - startMs);
    if (times.length < 5) retries.fail(error);
  });
  retries.fail(error);
  vi.advanceTimersByTime(600_000);
  return times;
}

test.each([
  ['a server that is gone', new ClientError('Gone.', { code: 'unreachable' }), [500, 1500, 3500, 7500, 15_500]],
  ['a server that is busy', refused(503), [500, 1500, 3500, 7500, 15_500]],
  ['a server that says when', refused(503, 3000), [3000, 6000, 9000, 13_000, 21_000]],
  ['too many requests', refused(429, 10_000), [10_000, 20_000, 30_000, 40_000, 50_000]],
  ['a request that is wrong', refused(400), []],
])('%s is tried again in time', (_, error, times) => {
  expect(timesOf(error)).toEqual(times);
});
