import { once } from 'node:events';
import { connect } from 'node:net';
import {
  Field,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableFromArrays,
  tableToIPC,
  vectorFromArray,
} from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { sendRaw, sharedProcess, startProcess } from './server-process.ts';

const ARROW_STREAM = 'application/vnd.apache.arrow.stream';
const ARROW_FILE = 'application/vnd.apache.arrow.file';

describe('PUT /frames/{handle}', () => {
  test('is 201 for a new frame and 200 for a replaced one, with its metadata', async () => {
    const server = await sharedProcess();
    const first = await server.put('trades', [{ id: 1, at: 'x' }]);
    expect(first.status).toBe(201);
    const info = (await first.json()) as Record<string, unknown>;
    expect(Object.keys(info)).toEqual(['handle', 'rows', 'bytes', 'columns', 'created', 'version', 'expires', 'tier']);
    expect(info).toMatchObject({ handle: 'trades', rows: 1, expires: null, tier: 'memory' });
    expect(info['columns']).toEqual([
      { name: 'id', type: 'LONG', nullable: true },
      { name: 'at', type: 'STRING', nullable: true },
    ]);
    expect(first.headers.get('etag')).toBe(`"${String(info['version'])}"`);
    expect(await (await server.fetch('/frames/trades')).json()).toEqual(info);
    expect((await server.put('trades', [{ id: 2 }])).status).toBe(200);
  });

  test.each([
    ['an Arrow stream', 'stream', ARROW_STREAM],
    ['an Arrow file', 'file', ARROW_FILE],
  ] as const)('takes %s', async (_name, kind, type) => {
    const server = await sharedProcess();
    const table = tableFromArrays({ id: new BigInt64Array([2n ** 62n, -1n]), x: new Float64Array([0.5, 2]) });
    const body = new Uint8Array(tableToIPC(table, kind));
    const response = await server.fetch('/frames/a', { method: 'PUT', body, headers: { 'content-type': type } });
    expect(response.status).toBe(201);
    expect(await (await server.fetch('/exec?handle=a&fmt=json')).text()).toContain(
      '"dataset":[[4611686018427387904,0.5],[-1,2]]',
    );
  });

  test('JSON rows: types by their values, missing keys null, nested values kept', async () => {
    const server = await sharedProcess();
    await server.put('t', [
      { whole: 1, mixed: 1, text: 'a', flag: true, none: null, list: [1, 2], nested: { a: 'x' }, other: 1 },
      { whole: 2, mixed: 1.5, flag: false, other: 'x' },
    ]);
    const { columns, dataset } = (await (await server.fetch('/exec?handle=t&fmt=json')).json()) as Record<
      string,
      unknown
    >;
    expect(columns).toEqual([
      { name: 'whole', type: 'LONG' },
      { name: 'mixed', type: 'DOUBLE' },
      { name: 'text', type: 'STRING' },
      { name: 'flag', type: 'BOOLEAN' },
      { name: 'none', type: 'STRING' },
      { name: 'list', type: 'ARRAY' },
      { name: 'nested', type: 'STRUCT' },
      { name: 'other', type: 'STRING' },
    ]);
    expect(dataset).toEqual([
      [1, 1, 'a', true, null, [1, 2], { a: 'x' }, '1'],
      [2, 1.5, null, false, null, null, null, 'x'],
    ]);
  });

  test('?fmt= sets the format if Content-Type does not', async () => {
    const server = await sharedProcess();
    const response = await server.fetch('/frames/t?fmt=json', { method: 'PUT', body: '[{"a":1}]' });
    expect(response.status).toBe(201);
  });

  test('conditions: If-None-Match: * and If-Match', async () => {
    const server = await sharedProcess();
    const onlyNew = { headers: { 'if-none-match': '*' } };
    const first = await server.put('t', [{ id: 1 }], onlyNew);
    expect(first.status).toBe(201);
    const taken = await server.put('t', [{ id: 2 }], onlyNew);
    expect([taken.status, ((await taken.json()) as { code: string }).code]).toEqual([409, 'handle_exists']);
    const etag = first.headers.get('etag') ?? '';
    expect((await server.put('t', [{ id: 3 }], { headers: { 'if-match': etag } })).status).toBe(200);
    const stale = await server.put('t', [{ id: 4 }], { headers: { 'if-match': etag } });
    expect([stale.status, ((await stale.json()) as { code: string }).code]).toEqual([409, 'version_conflict']);
    expect((await server.put('t', [{ id: 5 }], { headers: { 'if-match': '*' } })).status).toBe(200);
    expect((await server.put('nope', [{ id: 5 }], { headers: { 'if-match': '*' } })).status).toBe(409);
    expect((await server.put('t', [{ id: 6 }], { headers: { 'if-match': 'x' } })).status).toBe(400);
    expect(await (await server.fetch('/exec?handle=t&fmt=json')).json()).toMatchObject({ dataset: [[5]] });
  });

  test('two handles cannot differ by case alone', async () => {
    const server = await sharedProcess();
    await server.put('trades', [{ id: 1 }]);
    expect((await server.put('Trades', [{ id: 1 }])).status).toBe(409);
  });

  test('an invalid upload is an error, and the old frame stays', { tags: ['slow'] }, async () => {
    const server = await startProcess({ toml: '[http]\nmax_upload_bytes = 2000\n' });
    await server.put('t', [{ id: 1 }]);
    const json = { 'content-type': 'application/json' };
    const ids = vectorFromArray([1]);
    const schema = new Schema(['id', 'id'].map((name) => new Field(name, ids.type, true)));
    const children = [ids.data[0], ids.data[0]];
    const batch = new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: 1, children }));
    const twice = new Uint8Array(tableToIPC(new Table(schema, [batch]), 'stream'));
    const cases: [path: string, init: RequestInit, status: number, code: string, error: RegExp][] = [
      ['t', { body: '[{"id":', headers: json }, 400, 'invalid_data', /row 1|line 1/i],
      ['t', { body: '{"id":1}', headers: json }, 400, 'invalid_data', /array/],
      ['t', { body: '[{"id":1},7]', headers: json }, 400, 'invalid_data', /row 2/i],
      ['t', { body: '', headers: json }, 400, 'invalid_data', /./],
      ['t', { body: twice, headers: { 'content-type': ARROW_STREAM } }, 400, 'invalid_data', /"id"/],
      ['t', { body: 'not arrow', headers: { 'content-type': ARROW_STREAM } }, 400, 'invalid_data', /./],
      ['t', { body: 'a,b\n1,2\n3\n', headers: { 'content-type': 'text/csv' } }, 400, 'invalid_data', /Line 3/],
      ['t', { body: '<t/>', headers: { 'content-type': 'text/xml' } }, 415, 'unsupported_media_type', /"text\/xml"/],
      ['t', { body: new Uint8Array([0]) }, 415, 'unsupported_media_type', /zero bytes/],
      [
        't',
        { body: '[]', headers: { 'content-type': 'text/csv', 'content-encoding': 'br' } },
        415,
        'unsupported_media_type',
        /"br"/,
      ],
      ['t?fmt=xml', { body: 'x' }, 415, 'unsupported_media_type', /fmt="xml"/],
      ['t', { body: 'x', headers: { ...json, 'content-encoding': 'gzip' } }, 400, 'invalid_data', /gzip data/],
      ['t?fmt=json&fmt=json', { body: '[]' }, 400, 'invalid_argument', /more than once/],
      ['t?ttl=0', { body: '[]', headers: json }, 400, 'invalid_argument', /of 0 seconds/],
      ['t?ttl=1.5', { body: '[]', headers: json }, 400, 'invalid_argument', /ttl="1.5"/],
      ['t?ttl=99999999999', { body: '[]', headers: json }, 400, 'invalid_argument', /99999999999 seconds/],
      [
        't',
        { body: JSON.stringify([{ id: 'x'.repeat(2000) }]), headers: json },
        413,
        'payload_too_large',
        /2000 bytes/,
      ],
      ['-bad', { body: '[]', headers: json }, 400, 'invalid_argument', /"-bad"/],
      ['a%2Fb', { body: '[]', headers: json }, 400, 'invalid_argument', /"a\/b"/],
      ['a%00', { body: '[]', headers: json }, 400, 'invalid_argument', /u0000/],
      ['%zz', { body: '[]', headers: json }, 400, 'invalid_argument', /escape/],
      ['x'.repeat(129), { body: '[]', headers: json }, 400, 'invalid_argument', /x{80}/],
    ];
    for (const [path, init, status, code, error] of cases) {
      const response = await server.fetch(`/frames/${path}`, { method: 'PUT', ...init });
      const body = (await response.json()) as object;
      expect([path, response.status, body]).toMatchObject([
        path,
        status,
        { code, error: expect.stringMatching(error) },
      ]);
    }
    expect(await (await server.fetch('/exec?handle=t&fmt=json')).json()).toMatchObject({ dataset: [[1]] });
  });

  test('dot segments are refused before they are removed', async () => {
    const server = await sharedProcess();
    for (const path of ['/frames/..', '/frames/.', '/frames/%2e%2e', '/frames/../exec']) {
      const answer = await sendRaw(
        server.port,
        `PUT ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1.1 400/);
      expect(answer).toContain('"code":"invalid_argument"');
    }
  });

  test('a chunked upload over the limit is 413 as well', async () => {
    const server = await startProcess({ toml: '[http]\nmax_upload_bytes = 1000\n' });
    const chunk = Buffer.from(`[${'{"id":1},'.repeat(300)}{"id":1}]`);
    const answer = await sendRaw(
      server.port,
      Buffer.concat([
        Buffer.from(
          'PUT /frames/t HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
        ),
        Buffer.from(`${chunk.length.toString(16)}\r\n`),
        chunk,
        Buffer.from('\r\n0\r\n\r\n'),
      ]),
    );
    expect(answer).toMatch(/^HTTP\/1.1 413/);
  });

  test('an upload whose client vanishes half-way leaves nothing', async () => {
    const server = await startProcess({ env: { SERVICE_LOG_LEVEL: 'debug' } });
    for (const head of ['Content-Length: 1000', 'Transfer-Encoding: chunked']) {
      const socket = connect(server.port, '127.0.0.1');
      const body = head.startsWith('C') ? '[{"id":1},' : 'a\r\n[{"id":1}]\r\n';
      const id = `cut-${head.length}`;
      // The response to the first request shows that the second, sent with it, has arrived too.
      socket.write(
        `GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\nPUT /frames/t HTTP/1.1\r\nHost: localhost\r\nx-request-id: ${id}\r\nContent-Type: application/json\r\n${head}\r\n\r\n${body}`,
      );
      await once(socket, 'data');
      socket.destroy();
      await server.logged((line) => line['requestId'] === id && line.message === 'request_answered');
    }
    expect(await (await server.fetch('/frames')).json()).toEqual({ frames: [] });
  });

  test('what does not fit into storage.cache_size_gb is on disk', { tags: ['slow'] }, async () => {
    const server = await startProcess({ args: ['--cache-size', '0.001'] });
    const small = await server.put('small', [{ id: 1 }]);
    const large = await server.put(
      'large',
      Array.from({ length: 200_000 }, (_, id) => ({ id })),
    );
    expect([await small.json(), await large.json()]).toMatchObject([
      { tier: 'memory' },
      { rows: 200_000, tier: 'disk' },
    ]);
    const last = await server.fetch('/exec?handle=large&fmt=json&limit=200000,');
    expect(await last.json()).toMatchObject({ dataset: [[199_999]] });
  });

  test('storage.conversion_timeout_ms bounds how long a file takes to become a frame', { tags: ['slow'] }, async () => {
    const server = await startProcess({ env: { SERVICE_STORAGE_CONVERSION_TIMEOUT_MS: '1' } });
    const body = `a,b\n${'1,2\n'.repeat(2_000_000)}`;
    const refused = await server.fetch('/frames/t', { method: 'PUT', headers: { 'content-type': 'text/csv' }, body });
    expect([refused.status, await refused.json()]).toMatchObject([
      504,
      { code: 'deadline_exceeded', hint: expect.stringContaining('storage.conversion_timeout_ms') },
    ]);
    expect((await server.put('t', [{ a: 1 }])).status).toBe(201);
  });

  test(
    'storage.max_conversion_bytes bounds the bytes that a file takes as a frame, and the old frame stays',
    { tags: ['slow'] },
    async () => {
      const server = await startProcess({ env: { SERVICE_STORAGE_MAX_CONVERSION_BYTES: '100000' } });
      const put = (rows: number): Promise<Response> => {
        const body = `a\n${Array.from({ length: rows }, (_, i) => `${i}\n`).join('')}`;
        return server.fetch('/frames/t', { method: 'PUT', headers: { 'content-type': 'text/csv' }, body });
      };
      expect((await put(1)).status).toBe(201);
      const refused = await put(1_000_000);
      expect([refused.status, await refused.json()]).toMatchObject([
        413,
        { code: 'payload_too_large', hint: expect.stringContaining('storage.max_conversion_bytes') },
      ]);
      expect(await (await server.fetch('/frames/t')).json()).toMatchObject({ rows: 1 });
    },
  );

  test('a batch of more bytes than there is memory for decoding is 507, and the old frame stays', async () => {
    const server = await sharedProcess();
    await server.put('t', [{ id: 1 }]);
    const body = Buffer.from(tableToIPC(tableFromArrays({ id: new Float64Array(200_000) }), 'stream'));
    const length = Buffer.alloc(8);
    length.writeBigInt64LE(1_600_000n);
    // At every declared length of the batch.
    for (let at = body.indexOf(length); at >= 0; at = body.indexOf(length, at + 8)) body.writeBigInt64LE(2n ** 33n, at);
    const refused = await server.fetch('/frames/t', { method: 'PUT', headers: { 'content-type': ARROW_STREAM }, body });
    expect([refused.status, await refused.json()]).toMatchObject([507, { code: 'out_of_memory' }]);
    expect((await server.fetch('/frames/t')).status).toBe(200);
  });
});

describe('the expiry of a frame', () => {
  test('GET /frames lists by handle, with prefix, limit and after', async () => {
    const server = await sharedProcess();
    for (const handle of ['b', 'a.2', 'a.1']) await server.put(handle, [{ id: 1 }]);
    const handles = async (query: string): Promise<string[]> => {
      const { frames } = (await (await server.fetch(`/frames${query}`)).json()) as { frames: { handle: string }[] };
      return frames.map(({ handle }) => handle);
    };
    expect(await handles('')).toEqual(['a.1', 'a.2', 'b']);
    expect(await handles('?prefix=a.')).toEqual(['a.1', 'a.2']);
    expect(await handles('?limit=1&after=a.1')).toEqual(['a.2']);
    expect((await server.fetch('/frames?limit=x')).status).toBe(400);
  });

  test('DELETE is 204, then 404', async () => {
    const server = await sharedProcess();
    await server.put('t', [{ id: 1 }]);
    expect((await server.fetch('/frames/t', { method: 'DELETE' })).status).toBe(204);
    expect((await server.fetch('/frames/t', { method: 'DELETE' })).status).toBe(404);
    expect((await server.fetch('/frames/t')).status).toBe(404);
    expect((await server.fetch('/exec?handle=t&fmt=json')).status).toBe(404);
  });

  test('an invalid handle is 400 for every method', async () => {
    const server = await sharedProcess();
    const headers = { 'content-type': 'application/json' };
    for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', '{"ttl":1}'], ['PUT', '[]']] as const) {
      const response = await server.fetch('/frames/a%2Fb', { method, headers, ...(body && { body }) });
      expect([method, response.status, await response.text()]).toEqual([method, 400, expect.stringContaining('a/b')]);
    }
  });

  test('a read sees one version, even if its frame is replaced and dropped', async () => {
    const server = await sharedProcess();
    const rows = (id: number): object[] => Array.from({ length: 100_000 }, () => ({ id }));
    await server.put('t', rows(1));
    const reading = await server.fetch('/exec?handle=t&fmt=json&limit=100000');
    await server.put('t', rows(2));
    const replaced = await server.fetch('/exec?handle=t&fmt=json&limit=100000');
    await server.fetch('/frames/t', { method: 'DELETE' });
    for (const [response, id] of [
      [reading, 1],
      [replaced, 2],
    ] as const) {
      const { dataset, count } = (await response.json()) as { dataset: number[][]; count: number };
      expect([count, new Set(dataset.flat())]).toEqual([100_000, new Set([id])]);
    }
  });

  test('a condition on DELETE and PATCH is refused, not ignored', async () => {
    const server = await sharedProcess();
    await server.put('t', [{ id: 1 }]);
    for (const method of ['DELETE', 'PATCH']) {
      const response = await server.fetch('/frames/t', {
        method,
        headers: { 'if-match': '"X"' },
        ...(method === 'PATCH' && { body: '{"ttl":1}' }),
      });
      expect([method, response.status]).toEqual([method, 400]);
    }
    expect((await server.fetch('/frames/t')).status).toBe(200);
  });

  test('ttl ends a frame; PATCH extends it or keeps it', async () => {
    const server = await sharedProcess();
    const put = await server.put('t', [{ id: 1 }], { query: '?ttl=3600' });
    const { created, expires } = (await put.json()) as { created: string; expires: string };
    expect(Date.parse(expires) - Date.parse(created)).toBeCloseTo(3_600_000, -4);
    const patch = (body: string): Promise<Response> => server.fetch('/frames/t', { method: 'PATCH', body });
    expect(await (await patch('{"ttl":null}')).json()).toMatchObject({ expires: null });
    for (const body of [
      '',
      '{}',
      '{"ttl":null,"handle":"u"}',
      '{"handle":1}',
      '{"handle":"../u"}',
      '{"ttl":0}',
      '{"ttl":1.5}',
      '{"ttl":"1"}',
      '{"ttl":1,"x":1}',
      '[]',
      'nope',
    ]) {
      expect([body, (await patch(body)).status]).toEqual([body, 400]);
    }
    expect((await patch(`{"ttl":${' '.repeat(20_000)}1}`)).status).toBe(413);
    expect((await patch('{"ttl":1}')).status).toBe(200);
    await expect.poll(async () => (await server.fetch('/frames/t')).status).toBe(404);
  });
});

test('PATCH renames a frame, with a new etag, unless the new handle is in use', async () => {
  const server = await sharedProcess();
  const before = await server.put('before', [{ id: 1 }]);
  await server.put('used', [{ id: 2 }]);
  const patch = (from: string, to: string): Promise<Response> =>
    server.fetch(`/frames/${from}`, { method: 'PATCH', body: JSON.stringify({ handle: to }) });
  const refused = await patch('before', 'used');
  expect([refused.status, await refused.json()]).toMatchObject([
    409,
    { code: 'handle_exists', hint: 'Choose another name. To replace that frame, drop it first.' },
  ]);
  const renamed = await patch('before', 'after');
  expect([renamed.status, await renamed.json()]).toMatchObject([200, { handle: 'after', rows: 1 }]);
  expect(renamed.headers.get('etag')).not.toBe(before.headers.get('etag'));
  expect((await patch('before', 'after')).status).toBe(404);
  expect((await server.fetch('/exec?handle=before&fmt=json')).status).toBe(404);
  expect(await (await server.fetch('/exec?handle=after&fmt=json')).json()).toMatchObject({ dataset: [[1]] });
});

describe('POST', () => {
  test('/frames puts rows under a handle that the server makes', async () => {
    const server = await sharedProcess();
    const headers = { 'content-type': 'application/json' };
    const made = await server.fetch('/frames', { method: 'POST', body: '[{"id":1}]', headers });
    const { handle } = (await made.json()) as { handle: string };
    expect(made.status).toBe(201);
    expect(handle).toMatch(/^f-[0-9a-z]{26}$/);
    expect(made.headers.get('location')).toBe(`/frames/${handle}`);
    expect((await server.fetch(`/frames/${handle}`)).status).toBe(200);
  });

  test('/frames/{handle} appends to a frame', async () => {
    const server = await sharedProcess();
    const append = (body: string): Promise<Response> =>
      server.fetch('/frames/t', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    expect((await append('[{"id":1}]')).status).toBe(201);
    const { version } = (await (await append('[{"id":2},{"id":3}]')).json()) as { version: string };
    const table = await (await server.fetch('/exec?handle=t&fmt=json')).json();
    expect(table).toMatchObject({ dataset: [[1], [2], [3]] });
    expect(await (await server.fetch('/frames/t')).json()).toMatchObject({ rows: 3, version });
    expect((await append('[{"id":"text"}]')).status).toBe(400);
  });
});
