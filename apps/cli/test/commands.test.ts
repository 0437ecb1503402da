import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createClient } from '../src/client/client.ts';
import { run } from './run.ts';
import { bodyOf, sendJson, startStandIn, tableOf } from './stand-in.ts';

const ERROR = { error: 'There is no frame "t".', code: 'handle_not_found', hint: 'GET /frames lists.', requestId: 'r' };

function frame(handle: string): object {
  const columns = [{ name: 'id', type: 'LONG', nullable: true }];
  const created = '2024-01-02T03:04:05.678Z';
  return { handle, rows: 3, bytes: 24, columns, created, version: 'v1', expires: null, tier: 'memory' };
}

describe('a refusal', () => {
  test('shows the sentence and a hint, and ends with 1', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, ERROR, 404));
    expect(await run(['get', 't', '--url', url])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: There is no frame "t".\nhint: svc list prints all handles.\n',
    });
  });

  test('of a fault of the server shows the request id', async () => {
    const body = { error: 'It failed.', code: 'internal', hint: 'Report it with the request id.', requestId: 'r-7' };
    const { url, requests } = await startStandIn((_, response) => sendJson(response, body, 500));
    expect((await run(['list', '--url', url])).stderr).toBe(
      'error: It failed.\n  request id: r-7\nhint: Report it with the request id.\n',
    );
    expect(requests).toHaveLength(1);
  });

  test('in another form is described by its status', async () => {
    const { url } = await startStandIn((_, response) => response.writeHead(502).end('<h1>\u001b[2J</h1>'));
    expect(await run(['list', '--url', url])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: The server answered 502 Bad Gateway, without a reason\.\nhint: /),
    });
  });

  test.each([
    ['text/plain; charset=utf-8', 'Send HTTP to port 9000.\n', ': Send HTTP to port 9000.'],
    ['text/plain', 'two\nlines', ', without a reason.'],
    ['text/plain', '\u001b[2J', ', without a reason.'],
    ['text/html', 'Send HTTP to port 9000.', ', without a reason.'],
  ])('in %s, %j, ends with %j', async (type, body, end) => {
    const { url } = await startStandIn((_, response) => response.writeHead(400, { 'content-type': type }).end(body));
    const { stderr } = await run(['list', '--url', url]);
    expect(stderr.split('\n')[0]).toBe(`error: The server answered 400 Bad Request${end}`);
  });

  test('that redirects is not followed', async () => {
    const { url, requests } = await startStandIn((_, response) =>
      response.writeHead(301, { location: 'https://x.invalid/ping' }).end(),
    );
    const { code, stderr } = await run(['ping', '--url', url]);
    expect(code).toBe(1);
    expect(stderr).toContain('The server answered 301 with a redirect to "https://x.invalid/ping".');
    expect(requests).toHaveLength(1);
  });

  test('with a code that is a property of Object.prototype is an ordinary one', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, { ...ERROR, code: 'constructor' }, 400));
    expect((await run(['drop', 't', '--url', url])).stderr).toMatch(/\nhint: GET \/frames lists\.\n$/);
  });

  test('cannot control the terminal', async () => {
    const body = { ...ERROR, error: 'a\u001b[2Jb\nc', code: 'x', hint: '\u0007' };
    const { url } = await startStandIn((_, response) => sendJson(response, body, 400));
    expect((await run(['drop', 't', '--url', url])).stderr).toBe('error: a\\u001b[2Jb\\nc\nhint: \\u0007\n');
  });
});

describe('get', () => {
  test('prints every digit, and requests large numbers in quotes', async () => {
    const { url, requests } = await startStandIn((_, response) =>
      sendJson(
        response,
        tableOf([
          ['9007199254740993', 'a'],
          [null, null],
        ]),
        200,
        { 'x-total-count': '2' },
      ),
    );
    const args = ['get', 'a b', '--limit', '1,', '--cols', 'id,"x,y"', '--url', url];
    expect((await run(args)).stdout.split('\n')).toEqual([
      '              id  s',
      '            LONG  STRING',
      '────────────────  ──────',
      '9007199254740993  a',
      '            null  null',
      '2 rows',
      '',
    ]);
    const asked = new URL(requests[0].replace('GET ', ''), url).searchParams;
    expect(Object.fromEntries(asked)).toEqual({
      handle: 'a b',
      fmt: 'json',
      limit: '1,',
      cols: 'id,"x,y"',
    });
  });

  test('keeps every digit of a number', async () => {
    const text = '{"query":"","columns":[{"name":"n","type":"LONG"}],"dataset":[[9223372036854775807]],"count":1}';
    const { url } = await startStandIn((_, response) => sendJson(response, text));
    expect((await run(['get', 't', '--url', url])).stdout).toContain('\n9223372036854775807\n1 row\n');
  });

  test('says how many rows there are beyond those printed', async () => {
    const { url } = await startStandIn((_, response) =>
      sendJson(response, tableOf([['1', 'a']]), 200, { 'x-total-count': '5000' }),
    );
    expect((await run(['get', 't', '--url', url])).stdout).toMatch(/\n1 of 5000 rows \(--all prints all\)\n$/);
    expect((await run(['get', 't', '--limit', '1', '--url', url])).stdout).toMatch(/\n1 of 5000 rows\n$/);
  });

  test('--json prints the bytes of the server', async () => {
    const text = '{"query":"handle:t","columns":[], "dataset":[ ],"count":0}';
    const { url } = await startStandIn((_, response) => sendJson(response, text));
    expect(await run(['get', 't', '--json', '--url', url])).toEqual({ code: 0, stdout: text, stderr: '' });
    expect((await run(['get', 't', '--json', '--url', url], { width: 80 })).stdout).toBe(`${text}\n`);
  });

  test('cuts values to a terminal only', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, tableOf([[1, 'x'.repeat(200)]])));
    expect((await run(['get', 't', '--url', url], { width: 40 })).stdout).toContain(`   1  ${'x'.repeat(33)}…\n`);
    expect((await run(['get', 't', '--url', url])).stdout).toContain(`   1  ${'x'.repeat(200)}\n`);
  });

  test.each([
    ['a count that is not that of the rows', tableOf([['1', 'a']], { count: 2 }), 'its count does not match its rows'],
    ['a row that is too short', tableOf([['1']]), 'a row has 1 value for 2 columns'],
    ['no table', { ddl: 'OK' }, 'its count does not match its rows'],
    ['rows without columns', { dataset: [[1]], columns: [] }, 'its rows come before its columns'],
    ['columns that are none', { columns: [1], dataset: [], count: 0 }, 'a column has no name or no type'],
  ])('prints nothing of an answer with %s', async (_name, body, message) => {
    const { url } = await startStandIn((_, response) => sendJson(response, body));
    const { code, stdout, stderr } = await run(['get', 't', '--url', url]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain(`error: Cannot read the response: ${message}.\n`);
  });

  test.each([['--json'], ['--limit=9']])('a connection that breaks half way is an error (%s)', async (flag) => {
    const { url } = await startStandIn((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"query":"handle:t","columns":[{"name":"a","type":"INT"}],"dataset":[[1],[2]', () =>
        response.destroy(),
      );
    });
    const { code, stdout, stderr } = await run(['get', 't', flag, '--url', url]);
    expect(code).toBe(3);
    expect(stderr).toContain('error: The connection broke before the response was complete.\nhint: ');
    if (flag !== '--json') expect(stdout).toBe('');
  });

  test('a response that ends early with a clean close is an error too', async () => {
    const { url } = await startStandIn((_, response) =>
      sendJson(response, JSON.stringify(tableOf([[1, 'a']])).slice(0, -1)),
    );
    expect(await run(['get', 't', '--url', url])).toMatchObject({ code: 3, stdout: '' });
    expect(await run(['get', 't', '--json', '--url', url])).toMatchObject({ code: 3 });
  });
});

describe('put', () => {
  test('sends standard input with format, ttl and condition, and prints rows and version', async () => {
    const seen: unknown[] = [];
    const { url } = await startStandIn(async (request, response) => {
      seen.push(request.method, request.url, request.headers['if-none-match'], await bodyOf(request));
      sendJson(response, frame('a b'), 201);
    });
    const argv = ['put', 'a b', '-', '--fmt', 'json', '--ttl', '60', '--if-new', '--url', `${url}/base`];
    expect(await run(argv, { stdin: '[{"id":1}]' })).toEqual({
      code: 0,
      stdout: 'a b: 3 rows, version v1 (new)\n',
      stderr: '',
    });
    expect(seen).toEqual(['PUT', '/base/frames/a%20b?fmt=json&ttl=60', '*', '[{"id":1}]']);
  });

  test.each([
    ['package.json', 'json'],
    ['x.ndjson', 'ndjson'],
    ['x.jsonl', 'ndjson'],
    ['x.ARROW', 'arrow'],
    ['x.arrows', 'arrow'],
    ['x.feather', 'arrow'],
    ['x.ipc', 'arrow'],
  ])('%s is sent as %s', async (name, fmt) => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-put-'));
    const seen: unknown[] = [];
    const { url } = await startStandIn(async (request, response) => {
      seen.push(request.url, request.headers['content-length'], await bodyOf(request));
      sendJson(response, frame('t'), 200);
    });
    try {
      await writeFile(join(folder, name), 'bytes');
      expect(await run(['put', 't', join(folder, name), '--url', url])).toMatchObject({
        code: 0,
        stdout: 't: 3 rows, version v1 (replaced)\n',
      });
      expect(seen).toEqual([`/frames/t?fmt=${fmt}`, '5', 'bytes']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('reports a refusal that arrives during the upload', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, { ...ERROR, code: 'x' }, 409));
    const endless = function* (): Generator<Uint8Array> {
      for (let i = 0; i < 4096; i += 1) yield new Uint8Array(65_536);
    };
    expect(await run(['put', 't', '-', '--fmt', 'arrow', '--url', url], { stdin: endless() })).toMatchObject({
      code: 1,
      stderr: 'error: There is no frame "t".\nhint: GET /frames lists.\n',
    });
  });

  test('an input error aborts the upload, so that the server does not see a complete body', async () => {
    let close: (isWhole: boolean) => void;
    const closed = new Promise<boolean>((resolve) => (close = resolve));
    const { url } = await startStandIn((request) => {
      request.on('error', () => {}).on('close', () => close(request.complete));
      request.resume();
    });
    const failing = function* (): Generator<Uint8Array> {
      yield Buffer.from('[');
      throw Object.assign(new Error('i/o'), { code: 'EIO' });
    };
    expect(await run(['put', 't', '-', '--fmt', 'json', '--url', url], { stdin: failing() })).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^error: Standard input cannot be read: the disk reports an error\.\nhint: Try again, .*\n$/,
      ),
    });
    expect(await closed).toBe(false);
  });

  test('does not follow a redirect', async () => {
    const { url, requests } = await startStandIn((request, response) => {
      request.resume();
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    expect(await run(['put', 't', '-', '--fmt', 'json', '--url', url], { stdin: '[]' })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('failed: the server redirects, and an upload is sent only once.\n'),
    });
    expect(requests).toHaveLength(1);
  });

  test('a file that shrinks during the upload is an error', async () => {
    const { url } = await startStandIn((request) => request.on('error', () => {}).resume());
    const client = createClient({ url, signal: new AbortController().signal, errorWidth: 80 });
    const body = Readable.from([Buffer.from('[]')]);
    await expect(
      client.send({ method: 'PUT', path: 'frames/t', headers: { 'content-length': '3' }, body }),
    ).rejects.toMatchObject({ exitCode: 3, message: expect.stringContaining('the file changed while it was sent.') });
  });

  test('a broken connection is reported as an unknown outcome', async () => {
    const { url, requests } = await startStandIn((request) => request.destroy());
    const { code, stderr } = await run(['put', 't', '-', '--fmt', 'json', '--url', url], { stdin: '[]' });
    expect(code).toBe(3);
    expect(stderr).toContain('the server closed the connection without a response.');
    expect(stderr).toContain('hint: It may have taken effect: check before you repeat it.');
    expect(requests).toHaveLength(1);
  });
});

describe('list', () => {
  test('prints the frames, page by page', async () => {
    const handles = Array.from({ length: 501 }, (_, i) => `f${String(i).padStart(3, '0')}`);
    const { url, requests } = await startStandIn((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x');
      const after = searchParams.get('after') ?? '';
      const page = handles.filter((handle) => handle > after).slice(0, Number(searchParams.get('limit')));
      sendJson(response, { frames: page.map(frame) });
    });
    const lines = (await run(['list', 'f', '--url', url])).stdout.split('\n');
    expect(lines[0]).toBe('handle  rows  bytes  columns  created                   expires  version');
    expect(lines[2]).toBe('f000       3     24        1  2024-01-02T03:04:05.678Z  never    v1');
    expect(lines.slice(-3)).toEqual([expect.stringMatching(/^f500 /), '501 frames', '']);
    expect(requests).toEqual(['GET /frames?limit=500&prefix=f', 'GET /frames?limit=500&prefix=f&after=f499']);
  });

  test('a file that the server has not read yet has no number of rows', async () => {
    const { url } = await startStandIn((_, response) => {
      sendJson(response, { frames: [{ ...frame('a'), rows: null, columns: null }, frame('b')] });
    });
    const lines = (await run(['list', '--url', url])).stdout.split('\n');
    expect(lines.slice(2, 5)).toEqual([
      'a          ?     24        ?  2024-01-02T03:04:05.678Z  never    v1',
      'b          3     24        1  2024-01-02T03:04:05.678Z  never    v1',
      '2 frames; ?: the server has not read 1 file yet',
    ]);
  });

  test('--json is one object with all pages', async () => {
    const handles = Array.from({ length: 501 }, (_, i) => `f${String(i).padStart(3, '0')}`);
    const { url } = await startStandIn((request, response) => {
      const isSecond = request.url?.includes('after=') ?? false;
      sendJson(response, { frames: (isSecond ? handles.slice(500) : handles.slice(0, 500)).map(frame) });
    });
    expect(JSON.parse((await run(['list', '--json', '--url', url])).stdout)).toEqual({ frames: handles.map(frame) });
  });

  test('--json of no frames is an empty list', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, { frames: [] }));
    expect(JSON.parse((await run(['list', '--json', '--url', url])).stdout)).toEqual({ frames: [] });
  });

  test('ends if a server ignores paging', async () => {
    const frames = Array.from({ length: 500 }, () => frame('same'));
    const { url, requests } = await startStandIn((_, response) => sendJson(response, { frames }));
    expect((await run(['list', '--url', url])).stdout).toMatch(/\n1000 frames\n$/);
    expect(requests).toHaveLength(2);
  });
});

describe('drop', () => {
  const stand = (): ReturnType<typeof startStandIn> =>
    startStandIn((request, response) => {
      if (request.url?.includes('no')) return sendJson(response, { ...ERROR, error: `No ${request.url}.` }, 404);
      return response.writeHead(204).end();
    });

  test('names what it dropped, each once', async () => {
    const { url, requests } = await stand();
    expect(await run(['drop', 'a', 'b', 'a', '--url', url])).toEqual({
      code: 0,
      stdout: 'dropped a\ndropped b\n',
      stderr: '',
    });
    expect(requests).toEqual(['DELETE /frames/a', 'DELETE /frames/b']);
  });

  test('drops the others if one cannot be dropped', async () => {
    const { url } = await stand();
    expect(await run(['drop', 'a', 'no', 'b', '--url', url])).toEqual({
      code: 1,
      stdout: 'dropped a\ndropped b\n',
      stderr: 'error: No /frames/no.\nhint: svc list prints all handles.\n',
    });
    expect((await run(['drop', 'no1', 'a', 'no2', '--url', url])).stderr).toBe(
      'error: 2 of 3 frames were not dropped.\n  No /frames/no1.\n  No /frames/no2.\n' +
        'hint: svc list prints all handles.\n',
    );
  });

  test.each([
    ['a page', (r: ServerResponse): unknown => r.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['an answer that is cut', (r: ServerResponse): unknown => r.writeHead(200, { 'content-length': '9' }).write('{')],
  ])('does not take %s for an acknowledgement', async (_name, answer) => {
    const { url, requests } = await startStandIn((_, response) => answer(response));
    expect(await run(['drop', 'a', 'b', '--url', url])).toEqual({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining('error: Cannot read the response: its status is 200, not 204.\nhint: '),
    });
    expect(requests).toEqual(['DELETE /frames/a']);
  });

  test('sends no more requests if the server is gone after the first handle', async () => {
    const { url, requests } = await startStandIn((request) => request.destroy());
    expect(await run(['drop', 'a', 'b', '--url', url])).toMatchObject({ code: 3, stdout: '' });
    expect(requests).toEqual(['DELETE /frames/a']);
  });
});

describe('svc describe', () => {
  const info = {
    ...frame('t'),
    columns: [
      { name: 'id', type: 'LONG', nullable: false },
      { name: 'a\nb', type: 'DECIMAL(10,2)', nullable: true },
    ],
  };

  test('prints the metadata and the columns, aligned', async () => {
    const { url, requests } = await startStandIn((_, response) => sendJson(response, info));
    expect((await run(['describe', 'a b', '--url', url])).stdout.split('\n')).toEqual([
      'handle   t',
      'rows     3',
      'bytes    24',
      'created  2024-01-02T03:04:05.678Z',
      'expires  never',
      'version  v1',
      'tier     memory',
      '',
      'column  type           nullable',
      '──────  ─────────────  ────────',
      'id      LONG           no',
      'a\\nb    DECIMAL(10,2)  yes',
      '2 columns',
      '',
    ]);
    expect(requests).toEqual(['GET /frames/a%20b']);
  });

  test('--json prints the object of the server', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, info));
    expect(JSON.parse((await run(['describe', 't', '--json', '--url', url])).stdout)).toEqual(info);
  });

  test.each([
    [{ status: 'fine' }, 'it does not describe a frame'],
    [{ ...info, rows: '3' }, 'a frame has no number of rows'],
    [{ ...info, version: null }, 'a frame has no version'],
    [{ ...info, expires: 5 }, 'a frame has no expiry'],
    [[info], 'it does not describe a frame'],
    [{ ...info, columns: [{}] }, 'a column has no name or no type'],
  ])('%j is no frame', async (body, message) => {
    const { url } = await startStandIn((_, response) => sendJson(response, body));
    expect(await run(['describe', 't', '--url', url])).toMatchObject({
      code: 3,
      stdout: '',
      stderr: expect.stringContaining(`Cannot read the response: ${message}.`),
    });
  });
});
