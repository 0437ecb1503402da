// The client against the real server.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { tableFromArrays, tableFromIPC } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { CALLERS, callersFileOf } from '../../../apps/server/test/callers.ts';
import { type ServerProcess, sharedProcess, startProcess, testFile } from '../../../apps/server/test/server-process.ts';
import { ENDLESS } from '../../../apps/server/test/sql-clients.ts';
import { type Client, createClient, type RunningQuery, type UploadData } from '../src/index.ts';

async function shared(): Promise<{ readonly client: Client; readonly server: ServerProcess }> {
  const server = await sharedProcess();
  return { server, client: createClient({ url: server.url }) };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await all(stream));
}

const ROWS = [
  { id: 9007199254740993n, name: 'a "b" \\ é', price: 1.5, tags: ['x', null] },
  { id: -1n, name: null, price: -0.25, tags: [] },
];

test('the example of the README prints what it shows', async () => {
  const { server } = await shared();
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, code = ''] = /```js\n([^]*?)```/.exec(readme) ?? [];
  const [, output = ''] = /```text\n([^]*?)```/.exec(readme) ?? [];
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', code.replace('http://localhost:9000', server.url)],
    { cwd: fileURLToPath(new URL('..', import.meta.url)) },
  );
  // Node breaks long lines of its output.
  expect(stdout.replaceAll(/\s+/g, ' ')).toBe(output.replaceAll(/\s+/g, ' '));
  expect(stderr).toBe('');
});

describe('data', () => {
  async function* later<T>(items: readonly T[]): AsyncGenerator<T> {
    for (const item of items) yield Promise.resolve(item);
  }
  const csv = 'a,b\n1,x\n2,y\n';
  const expected = [
    { a: 1n, b: 'x' },
    { a: 2n, b: 'y' },
  ];
  const rows = [
    { a: 1, b: 'x' },
    { a: 2, b: 'y' },
  ];
  test.each<[string, () => UploadData]>([
    ['rows', () => rows],
    ['an iterable of rows', () => new Set(rows)],
    ['an async iterable of rows', () => later(rows)],
    ['text', () => csv],
    ['bytes', () => Buffer.from(csv)],
    ['an array buffer', () => new Uint8Array(Buffer.from(csv)).buffer],
    ['a blob', () => new Blob([csv])],
    ['a stream', () => new Blob([csv]).stream()],
    ['an async iterable of bytes', () => later([Buffer.from('a,b\n1,x\n'), Buffer.from('2,y\n')])],
    ['an Arrow table', () => tableFromArrays({ a: new BigInt64Array([1n, 2n]), b: ['x', 'y'] })],
  ])('can be %s', async (_name, make) => {
    const { client } = await shared();
    expect(await client.put('data', make())).toMatchObject({ handle: 'data', rows: 2, isNew: true });
    expect(await (await client.read('data')).rows()).toEqual(expected);
    expect(await client.append('data', make())).toMatchObject({ rows: 4, isNew: false });
  });

  test('keeps every digit and sign', async () => {
    const { client } = await shared();
    await client.put('exact', ROWS);
    expect(await (await client.read('exact')).rows()).toEqual(ROWS);
    await client.put('zero', [{ x: -0 }]);
    expect(await (await client.read('zero')).rows()).toEqual([{ x: -0 }]);
  });

  test('has the declared types', async () => {
    const { client } = await shared();
    const columns = { 'a,"b': 'DECIMAL(18,4)', at: 'TIMESTAMP', note: null };
    const row = { 'a,"b': '1.5', at: new Date('2024-01-02T03:04:05.678Z'), note: 'x' };
    const info = await client.put('typed', [row], { columns, ttl: 60 });
    expect(info.columns.map(({ name, type }) => [name, type])).toEqual([
      ['a,"b', 'DECIMAL(18,4)'],
      ['at', 'TIMESTAMP'],
      ['note', 'STRING'],
    ]);
    expect(info.expires).not.toBeNull();
    const read = await client.read('typed', { columns: ['at', 'a,"b'] });
    expect(await read.rows()).toEqual([{ at: '2024-01-02T03:04:05.678000Z', 'a,"b': '1.5000' }]);
  });

  test.each([NaN, Infinity])('refuses %s, which JSON does not have', async (value) => {
    const { client } = await shared();
    await expect(client.put('x', [{ value }])).rejects.toMatchObject({ code: 'inexact_value' });
    await expect(client.describe('x')).rejects.toMatchObject({ code: 'handle_not_found', status: 404 });
  });

  test('of CSV takes the options of CSV, and gzip', async () => {
    const { client } = await shared();
    const bytes = new Blob(['a;b\n1;NA\n']).stream().pipeThrough(new CompressionStream('gzip'));
    await client.create(bytes, { format: 'csv', encoding: 'gzip', params: { delimiter: ';', null: ['NA', ''] } });
    const [{ handle }] = await all(client.list());
    expect(await (await client.read(handle)).rows()).toEqual([{ a: 1n, b: null }]);
  });
});

describe('a frame', () => {
  test.each([
    [{ limit: 2 }, [0n, 1n]],
    [{ limit: 2, offset: 5 }, [5n, 6n]],
    [{ offset: 1498 }, [1498n, 1499n]],
    [{ limit: 0, offset: 3 }, []],
  ])('is read from %j', async (select, ids) => {
    const { client } = await shared();
    await client.keep('select range as id from range(1500)', { handle: 'many' });
    const result = await client.read('many', select);
    expect([result.total, result.columns]).toEqual([1500, [{ name: 'id', type: 'LONG' }]]);
    expect((await result.rows()).map(({ id }) => id)).toEqual(ids);
  });

  test('is read whole: rows have no default limit here', async () => {
    const { client } = await shared();
    await client.keep('select range as id from range(1500)', { handle: 'many' });
    expect((await (await client.read('many')).rows()).length).toBe(1500);
  });

  test('is read as Arrow, and as bytes of each format', async () => {
    const { client } = await shared();
    await client.put('exact', ROWS);
    expect((await client.readArrow('exact', { columns: ['id'] })).toArray().map(({ id }) => id)).toEqual([
      9007199254740993n,
      -1n,
    ]);
    const arrow = await bytesOf(await client.readStream('exact', { format: 'arrow' }));
    expect(tableFromIPC(arrow).numRows).toBe(2);
    const csv = await bytesOf(await client.readStream('exact', { format: 'csv', columns: ['id'], limit: 1 }));
    expect(csv.toString()).toBe('id\r\n9007199254740993\r\n');
    const parquet = await bytesOf(await client.readStream('exact', { format: 'parquet' }));
    expect(parquet.subarray(0, 4).toString()).toBe('PAR1');
  });

  test('is listed, described, kept longer and dropped', async () => {
    const { client } = await shared();
    for (const handle of ['b', 'a-1', 'a-2']) await client.put(handle, [{ x: 1 }]);
    expect((await all(client.list({ prefix: 'a' }))).map(({ handle }) => handle)).toEqual(['a-1', 'a-2']);
    expect(await client.describe('b')).toMatchObject({ handle: 'b', rows: 1, expires: null });
    expect((await client.setTtl('b', 60)).expires).not.toBeNull();
    expect((await client.setTtl('b', null)).expires).toBeNull();
    await client.drop('b');
    await expect(client.drop('b')).rejects.toMatchObject({ code: 'handle_not_found' });
  });

  test('is renamed, with its rows, unless the new handle is taken', async () => {
    const { client } = await shared();
    for (const handle of ['old', 'taken']) await client.put(handle, [{ x: handle }]);
    expect(await client.rename('old', 'new')).toMatchObject({ handle: 'new', rows: 1 });
    expect(await (await client.read('new')).rows()).toEqual([{ x: 'old' }]);
    await expect(client.describe('old')).rejects.toMatchObject({ code: 'handle_not_found' });
    await expect(client.rename('new', 'taken')).rejects.toMatchObject({ code: 'handle_exists', status: 409 });
  });

  test.each([
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a function behind toJSON', { toJSON: () => () => 1 }],
  ])('with %s as a value is not sent', async (_name, value) => {
    const { client } = await shared();
    const refusal = { name: 'ClientError', code: 'invalid_argument' };
    for (const row of [{ a: value }, { a: [1, value] }, { a: { b: value } }]) {
      await expect(client.put('refused', [row])).rejects.toMatchObject(refusal);
      await expect(client.put('refused', new Set([{ a: 1 }, row]))).rejects.toMatchObject(refusal);
    }
    await expect(client.query('select ?', { engine: 'local', params: [value] })).rejects.toMatchObject(refusal);
    await expect(client.keep('select ?', { params: [value] })).rejects.toMatchObject(refusal);
    await expect(client.describe('refused')).rejects.toMatchObject({ code: 'handle_not_found' });
  });

  test('is written only if the condition holds', async () => {
    const { client } = await shared();
    const { version } = await client.put('x', [{ a: 1 }], { ifNew: true });
    await expect(client.put('x', [{ a: 2 }], { ifNew: true })).rejects.toMatchObject({ code: 'handle_exists' });
    const next = await client.put('x', [{ a: 2 }], { ifVersion: version });
    await expect(client.append('x', [{ a: 3 }], { ifVersion: version })).rejects.toMatchObject({
      code: 'version_conflict',
    });
    expect((await client.read('x')).version).toBe(next.version);
  });

  test.each(['', '.', '..'])('cannot have the handle "%s"', async (handle) => {
    const { client } = await shared();
    await expect(client.drop(handle)).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

describe('SQL', () => {
  const engine = 'local';

  test('takes parameters of every kind, exactly', async () => {
    const { client } = await shared();
    const params = [9007199254740993n, 1.5, 'a "b"', null, true];
    const sql = 'select ? as a, ? as b, ? as c, ? as d, ? as e';
    const [row] = await (await client.query(sql, { engine, params })).rows();
    expect(Object.values(row)).toEqual(params);
    await client.keep('select ?::bigint as a', { handle: 'kept', params: [9007199254740993n] });
    expect(await (await client.read('kept')).rows()).toEqual([{ a: 9007199254740993n }]);
  });

  test.each([
    ['bigint', 9007199254740993n],
    ['string', '9007199254740993'],
  ] as const)('has longs as %s, also in nested values', async (longs, long) => {
    const { client } = await shared();
    const sql =
      "select 9007199254740993 as a, [1, 9007199254740993] as b, {'c': 0.1234567890123456::double} as d, 'x' as e";
    const [row] = await (await client.query(sql, { engine, longs })).rows();
    expect(row).toEqual({ a: long, b: [1, long], d: { c: 0.1234567890123456 }, e: 'x' });
  });

  test('has longs as numbers only if they are exact', async () => {
    const { client } = await shared();
    const read = async (sql: string): Promise<unknown> => (await client.query(sql, { engine, longs: 'number' })).rows();
    expect(await read('select 9007199254740991 as a')).toEqual([{ a: 9007199254740991 }]);
    await expect(read('select 9007199254740993 as a')).rejects.toMatchObject({ code: 'inexact_value' });
    await expect(read('select [9007199254740993] as a')).rejects.toMatchObject({ code: 'inexact_value' });
  });

  test('that is wrong says where, why and what to do', async () => {
    const { client } = await shared();
    const failed = client.query('select nothing', { engine, requestId: 'wrong-sql' });
    await expect(failed).rejects.toMatchObject({
      name: 'ClientError',
      code: 'invalid_sql',
      status: 400,
      position: 7,
      requestId: 'wrong-sql',
      isAmbiguous: false,
      message: expect.stringContaining('nothing'),
      hint: expect.any(String),
    });
  });

  test('is read as Arrow and as a stream', async () => {
    const { client } = await shared();
    expect((await client.queryArrow('select 1::bigint as a', { engine })).get(0)?.['a']).toBe(1n);
    const stream = await client.queryStream('select 1 as a', { engine, format: 'ndjson' });
    expect((await bytesOf(stream)).toString()).toBe('{"a":1}\n');
  });

  test('may have columns of any name', async () => {
    const { client } = await shared();
    const [row] = await (await client.query('select 1 as "__proto__", 2 as "constructor"', { engine })).rows();
    expect(Object.keys(row)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
  });

  test('that runs reports its progress, and ends on the server when it is aborted', async () => {
    const { client } = await shared();
    const ending = new AbortController();
    const seen: RunningQuery[] = [];
    const query = client.query(ENDLESS, {
      engine,
      requestId: 'endless',
      signal: ending.signal,
      onProgress(running) {
        seen.push(running);
        ending.abort(new Error('enough'));
      },
    });
    await expect(query).rejects.toThrow('enough');
    expect(seen[0]).toMatchObject({ id: 'endless', engine, state: 'running' });
    await expect.poll(() => client.running()).toEqual([]);
  });

  test('ends on the server when it is aborted between its rows, or its rows are left', async () => {
    const { client } = await shared();
    const sql = 'select range as a from range(1000000000000)';
    const ending = new AbortController();
    const read = async (): Promise<void> => {
      for await (const { a } of await client.query(sql, { engine, signal: ending.signal }))
        if (a === 3n) ending.abort();
    };
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
    await expect.poll(() => client.running()).toEqual([]);
    for await (const row of await client.query(sql, { engine })) if (row['a'] === 3n) break;
    await expect.poll(() => client.running()).toEqual([]);
    const stream = await client.queryStream(sql, { engine, format: 'csv' });
    await stream.cancel();
    await expect.poll(() => client.running()).toEqual([]);
  });

  test('of another request can be cancelled', async () => {
    const { client } = await shared();
    const query = client.query(ENDLESS, { engine, requestId: 'other' });
    query.catch(() => undefined);
    await expect.poll(() => client.running()).toMatchObject([{ id: 'other' }]);
    expect(await client.cancel('other')).toBe(true);
    await expect(query).rejects.toMatchObject({ code: 'cancelled', status: 499 });
    await expect.poll(() => client.running()).toEqual([]);
    expect(await client.cancel('other')).toBe(false);
  });

  test('without an engine runs on the only one of the server; a request without one is refused', async () => {
    const { client, server } = await shared();
    expect(await (await client.query('select 1 as x')).rows()).toEqual([{ x: 1 }]);
    expect((await client.queryArrow('select 1 as x')).numRows).toBe(1);
    expect(String(await bytesOf(await client.queryStream('select 1 as x', { format: 'csv' })))).toBe('x\r\n1\r\n');
    await expect(client.query('select 1', { engine: 'tsdb' })).rejects.toMatchObject({ code: 'tsdb_not_configured' });
    const raw = await fetch(`${server.url}/exec?query=select+1&fmt=json`);
    expect([raw.status, await raw.json()]).toMatchObject([412, { code: 'tsdb_not_configured' }]);
  });

  test('asks for the engines once, and names none if the server has several or does not say', async () => {
    const asked: string[] = [];
    const ask = (info: Response): Client => {
      const fake: typeof fetch = async (input, init) => {
        const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input);
        const body = pathname === '/frames' ? await new Response(init?.body).json() : undefined;
        asked.push(`${pathname} ${body?.engine ?? searchParams.get('engine')}`);
        return pathname === '/info' ? info.clone() : Response.json({ columns: [], dataset: [], count: 0 });
      };
      return createClient({ url: 'http://localhost', fetch: fake });
    };
    const one = ask(Response.json({ engines: ['scheduler'] }));
    for (const options of [{}, {}, { engine: 'local' as const }]) await (await one.query('x', options)).rows();
    await one.keep('x');
    await one.keep('x', { engine: 'local' });
    expect(asked.splice(0)).toEqual([
      '/info null',
      '/exec scheduler',
      '/exec scheduler',
      '/exec local',
      '/frames scheduler',
      '/frames local',
    ]);
    for (const info of [Response.json({ engines: ['local', 'tsdb'] }), Response.json({}, { status: 404 })]) {
      await (await ask(info).query('x')).rows();
      expect(asked.splice(0)).toEqual(['/info null', '/exec null']);
    }
  });
});

test('the server says what it can do', async () => {
  const { client } = await shared();
  await client.ping();
  expect(await client.info()).toMatchObject({ engines: ['local'], defaultEngine: 'tsdb' });
});

test('a token is sent, also one that a function returns for each request', async () => {
  const file = testFile('callers.toml', callersFileOf(CALLERS));
  const { url } = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
  await expect(createClient({ url }).info()).rejects.toMatchObject({ code: 'unauthenticated', status: 401 });
  const tokens = ['wrong', CALLERS.read.token];
  const client = createClient({ url, token: () => Promise.resolve(tokens.shift()) });
  await expect(client.info()).rejects.toMatchObject({ code: 'unauthenticated' });
  expect((await client.info()).caller?.permissions).toContain('read');
});
