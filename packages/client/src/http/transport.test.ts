// The client and servers that are slow, broken, or refuse.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createClient } from '../client.ts';
import type { ClientError } from './client-error.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;

/** Starts a server that answers as a test wants; returns its address and the requests it got. */
async function serve(handle: Handler): Promise<{ readonly url: string; readonly seen: readonly string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    handle(request, response, seen.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, seen };
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const INFO = { handle: 'x', rows: 1, version: 'v', columns: [] };
const NOW = { 'retry-after': '0' };
const refuse = (status: number, code: string): Handler => {
  return (_, response, count) =>
    count < 3 ? sendJson(response, status, { error: 'Not now.', code }, NOW) : sendJson(response, 200, INFO);
};
/** Closes the connection, after it has read the request, before it answers. */
const lose: Handler = (request) => void request.resume().on('end', () => request.socket.destroy());
const loseTwice: Handler = (request, response, count) =>
  count < 3 ? lose(request, response, count) : sendJson(response, 200, INFO);

const row = [{ a: 1 }];

describe('a request that only reads', () => {
  test.each<[string, Handler]>([
    ['connections were lost', loseTwice],
    ['it was refused with 429', refuse(429, 'too_many_requests')],
    ['it was refused with 503', refuse(503, 'unavailable')],
  ])('is sent again if %s', async (_name, handle) => {
    const { url, seen } = await serve(handle);
    expect(await createClient({ url }).describe('x')).toEqual(INFO);
    expect(seen).toEqual(['GET /frames/x', 'GET /frames/x', 'GET /frames/x']);
  });

  test('is not sent again more often than `retries`', async () => {
    const { url, seen } = await serve(lose);
    const failed = createClient({ url, retries: 1 }).describe('x');
    await expect(failed).rejects.toMatchObject({ code: 'unreachable', isAmbiguous: false });
    expect(seen.length).toBe(2);
  });

  test('includes SQL over frames, but not SQL that may be that of a database', async () => {
    const { url, seen } = await serve((request, response, count) =>
      count < 3 ? lose(request, response, count) : sendJson(response, 200, { columns: [], dataset: [] }),
    );
    const client = createClient({ url });
    expect(await (await client.query('select 1', { engine: 'local' })).rows()).toEqual([]);
    expect(seen.length).toBe(3);
    const other = await serve((request, response, count) =>
      request.url === '/info'
        ? sendJson(response, 200, { engines: ['local', 'tsdb'] })
        : lose(request, response, count),
    );
    const failed = createClient({ url: other.url }).query('insert into t values (1)');
    await expect(failed).rejects.toMatchObject({ code: 'unreachable', isAmbiguous: true });
    expect(other.seen.length).toBe(2);
  });

  test('that fails for another reason is not sent again', async () => {
    const { url, seen } = await serve((_, response) => sendJson(response, 500, { error: 'No.', code: 'internal' }));
    await expect(createClient({ url }).describe('x')).rejects.toMatchObject({ code: 'internal', status: 500 });
    expect(seen.length).toBe(1);
  });
});

describe('a write', () => {
  test('is not sent again after a lost connection, and the error says that it may have been taken', async () => {
    const { url, seen } = await serve(lose);
    const client = createClient({ url });
    await expect(client.append('x', row)).rejects.toMatchObject({ code: 'unreachable', isAmbiguous: true });
    expect(seen).toEqual(['POST /frames/x?fmt=ndjson']);
    await expect(client.drop('x')).rejects.toMatchObject({ isAmbiguous: true });
    expect(seen.length).toBe(2);
  });

  test('that reached no server cannot have been taken', async () => {
    const { url } = await serve(lose);
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const address = closed.address();
    await new Promise((resolve) => closed.close(resolve));
    const port = typeof address === 'object' ? address?.port : '';
    const failed = createClient({ url: `${new URL(url).protocol}//127.0.0.1:${port}` }).put('x', row);
    await expect(failed).rejects.toMatchObject({
      code: 'unreachable',
      isAmbiguous: false,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('is sent again if it was refused with 429, but not with 503', async () => {
    const busy = await serve(refuse(429, 'too_many_requests'));
    expect(await createClient({ url: busy.url }).put('x', row)).toMatchObject(INFO);
    expect(busy.seen.length).toBe(3);
    const stopping = await serve(refuse(503, 'unavailable'));
    await expect(createClient({ url: stopping.url }).put('x', row)).rejects.toMatchObject({ code: 'unavailable' });
    expect(stopping.seen.length).toBe(1);
  });

  test('with a condition is sent again after a lost connection', async () => {
    const { url, seen } = await serve(loseTwice);
    expect(await createClient({ url }).put('x', row, { ifVersion: 'v' })).toMatchObject(INFO);
    expect(seen.length).toBe(3);
  });

  test('with a condition that fails after a lost connection is ambiguous', async () => {
    const { url } = await serve((request, response, count) =>
      count === 1 ? lose(request, response, count) : sendJson(response, 409, { error: 'No.', code: 'handle_exists' }),
    );
    const failed = createClient({ url }).put('x', row, { ifNew: true });
    await expect(failed).rejects.toMatchObject({ code: 'ambiguous_write', isAmbiguous: true, status: 409 });
  });

  test('of a stream is sent once, and fails with the error of the stream', async () => {
    const { url, seen } = await serve(refuse(429, 'too_many_requests'));
    async function* rows(): AsyncGenerator<object> {
      yield { a: 1 };
    }
    await expect(createClient({ url }).put('x', rows())).rejects.toMatchObject({ code: 'too_many_requests' });
    expect(seen.length).toBe(1);
    async function* broken(): AsyncGenerator<object> {
      yield { text: 'x'.repeat(100_000) };
      throw new RangeError('the file is gone');
    }
    await expect(createClient({ url }).put('x', broken())).rejects.toThrow('the file is gone');
  });

  test('of a stream that is aborted leaves no timer, even if its source goes on', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { url } = await serve((request) => void request.resume());
    const ending = new AbortController();
    let goOn = (): void => undefined;
    const failed = new Promise<void>((resolve) => (goOn = resolve));
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        yield new Uint8Array(1);
        ending.abort(new Error('enough'));
        await failed;
        yield new Uint8Array(1);
      } finally {
        leave();
      }
    }
    await expect(createClient({ url }).put('x', source(), { signal: ending.signal })).rejects.toThrow('enough');
    goOn();
    await left;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a server that is silent', () => {
  const BEGIN = '{"columns":[{"name":"a","type":"INT"}],"dataset":[[1],';

  test.each<[string, Handler]>([
    ['before its answer', () => undefined],
    ['in the middle of its answer', (_, response) => void response.writeHead(200).write(BEGIN)],
  ])('%s is given up after the timeout', async (_name, handle) => {
    const { url } = await serve(handle);
    const client = createClient({ url, timeoutMs: 50 });
    const read = async (): Promise<unknown> => (await client.read('x')).rows();
    await expect(read()).rejects.toMatchObject({ code: 'timeout', message: `The server ${url} does not answer.` });
  });

  test('while it should take an upload is given up after the timeout', async () => {
    const { url } = await serve(() => undefined);
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield new Uint8Array(1024 * 1024);
    }
    const failed = createClient({ url, timeoutMs: 100 }).put('x', endless());
    await expect(failed).rejects.toMatchObject({ code: 'timeout', isAmbiguous: true });
  });

  test('is left at once if the signal is aborted, before and in the middle of its answer', async () => {
    const { url } = await serve((request, response) => {
      if (request.url?.startsWith('/exec')) response.writeHead(200).write(BEGIN);
    });
    const client = createClient({ url });
    const first = new AbortController();
    const described = client.describe('x', { signal: first.signal });
    first.abort(new Error('enough'));
    await expect(described).rejects.toThrow('enough');
    await expect(client.describe('x', { signal: first.signal })).rejects.toThrow('enough');
    const second = new AbortController();
    const result = await client.read('x', { signal: second.signal });
    const rows = result.rows();
    second.abort();
    await expect(rows).rejects.toMatchObject({ name: 'AbortError' });
    await expect(client.describe('x', { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });
});

describe('an answer', () => {
  const answer =
    (text: string, status = 200, headers: Record<string, string> = {}): Handler =>
    (_, response) =>
      void response.writeHead(status, headers).end(text);

  test.each<[string, Handler, object]>([
    [
      'is cut off',
      (_, response) => (
        response.writeHead(200, { 'content-length': '900' }).write('{"columns":['),
        void setImmediate(() => response.destroy())
      ),
      { code: 'connection_lost' },
    ],
    ['ends too early', answer('{"columns":[{"name":"a","type":"INT"}],"dataset":[[1]'), { code: 'connection_lost' }],
    ['is HTML', answer('<html>'), { code: 'invalid_response' }],
    [
      'has a wrong value',
      answer('{"columns":[{"name":"a","type":"LONG"}],"dataset":[[x]]}'),
      { code: 'invalid_response' },
    ],
    [
      'is an error of a proxy',
      answer('<h1>Bad gateway', 502),
      { code: 'http_502', message: 'The server answered with status 502.' },
    ],
    [
      'is a redirect',
      answer('', 302, { location: 'https://example.org/' }),
      { code: 'invalid_response', message: expect.stringContaining('redirects to "https://example.org/"') },
    ],
    [
      'is an error of the database after its rows',
      answer('{"columns":[{"name":"a","type":"INT"}],"dataset":[[1]],"error":"late"}'),
      { code: 'http_200', message: 'late' },
    ],
    [
      'is an error of the database',
      answer('{"query":"x","error":"early","position":3}'),
      { code: 'http_200', message: 'early', position: 3 },
    ],
  ])('that %s is an error that says so', async (_name, handle, error) => {
    const { url } = await serve(handle);
    const read = async (): Promise<unknown> => (await createClient({ url }).query('select 1')).rows();
    await expect(read()).rejects.toMatchObject({ name: 'ClientError', ...error });
  });

  test('without rows, as that to an INSERT of the database, has no columns', async () => {
    const { url } = await serve(answer('{"dml":"OK"}'));
    const result = await createClient({ url }).query('insert into t values (1)');
    expect([result.columns, await result.rows()]).toEqual([[], []]);
    await expect(result.rows()).rejects.toThrow('read already');
  });

  test('may have any number of rows in one chunk', async () => {
    const rows = Array.from({ length: 300_000 }, (_, i) => `[${i}]`);
    const { url } = await serve(answer(`{"columns":[{"name":"a","type":"INT"}],"dataset":[${rows.join()}]}`));
    // All bytes are there before the first one is read.
    const joined: typeof fetch = async (...args) => new Response(await (await fetch(...args)).arrayBuffer());
    const result = await createClient({ url, fetch: joined }).read('x');
    expect((await result.rows()).length).toBe(rows.length);
  });

  test('that refuses says when to come again', async () => {
    const body = JSON.stringify({ error: 'Busy.', code: 'unavailable' });
    const { url } = await serve(answer(body, 503, { 'retry-after': '7' }));
    const failed = createClient({ url, retries: 0 }).describe('x');
    await expect(failed).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: 7000 });
  });

  test('of a status that is accepted is returned, and any other is thrown', async () => {
    const { url } = await serve(answer('', 304));
    const client = createClient({ url });
    expect(await client.send({ path: 'frames', accept: [304] })).toMatchObject({ status: 304 });
    expect(await client.send({ path: 'frames', accept: 'any' })).toMatchObject({ status: 304 });
    await expect(client.send({ path: 'frames', accept: [404] })).rejects.toMatchObject({ code: 'http_304' });
  });

  test.each([
    [404, 'handle_not_found', false],
    [403, 'permission_denied', 'permission_denied'],
  ])('of %i to a cancel is %s', async (status, code, expected) => {
    const { url } = await serve(answer(JSON.stringify({ error: 'No.', code }), status));
    const cancelled = createClient({ url }).cancel('1');
    expect(await cancelled.catch((error: ClientError) => error.code)).toBe(expected);
  });

  test('is looked for under the path of the URL', async () => {
    const { url, seen } = await serve(answer('{"queries":[]}'));
    await createClient({ url: `${url}/data/` }).running();
    expect(seen).toEqual(['GET /data/queries']);
  });
});

test.each(['localhost:9000', 'ftp://localhost', 'http://user:secret@localhost', ''])(
  'the URL "%s" is refused, and not shown',
  (url) => {
    expect(() => createClient({ url })).toThrow('The URL of the server is not an http or https URL');
  },
);
