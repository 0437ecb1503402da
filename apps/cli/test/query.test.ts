import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { run } from './run.ts';
import { bodyOf, sendJson, startStandIn, tableOf } from './stand-in.ts';

describe('query', () => {
  const answers = (body: unknown, status = 200): ReturnType<typeof startStandIn> =>
    startStandIn((_, response) => sendJson(response, body, status));

  test('sends the SQL of the argument or of standard input, and prints the table', async () => {
    const seen: unknown[] = [];
    const { url, requests } = await startStandIn(async (request, response) => {
      seen.push(request.headers['content-type'], await bodyOf(request));
      sendJson(response, tableOf([['9007199254740993', 'a']], { timestamp: -1 }));
    });
    const { stdout } = await run(['query', 'select 1 + 1', '--url', url]);
    expect(stdout).toContain('\n9007199254740993  a\n1 row\n');
    await run(['query', '-', '--url', url], { stdin: 'select é' });
    expect(seen).toEqual(['application/sql', 'select 1 + 1', 'application/sql', 'select é']);
    expect(requests).toEqual(['POST /exec?fmt=json', 'POST /exec?fmt=json']);
  });

  test('a redirect is not followed, and named', async () => {
    const { url, requests } = await startStandIn((_, response) =>
      response.writeHead(307, { location: 'https://x.invalid/exec' }).end(),
    );
    expect(await run(['query', 'insert', '--url', url])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The server answered 307 with a redirect to "https://x.invalid/exec".'),
    });
    expect(requests).toHaveLength(1);
  });

  test.each([
    [{ ddl: 'OK' }, 'OK\n'],
    [{ dml: 'OK' }, 'OK\n'],
    [{ dml: 'OK', updated: 2 }, 'OK, 2 rows updated\n'],
    [{ ddl: 'OK', updated: 1 }, 'OK, 1 row updated\n'],
  ])('%j is printed as %s', async (body, stdout) => {
    const { url } = await answers(body);
    expect(await run(['query', 'x', '--url', url])).toEqual({ code: 0, stdout, stderr: '' });
  });

  test('an error shows its position in the SQL', async () => {
    const sql = 'select a,\n  nosuch\nfrom t';
    const { url } = await answers({ query: sql, error: 'Invalid column: nosuch', position: 12 }, 400);
    expect(await run(['query', sql, '--url', url])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: Invalid column: nosuch\n    nosuch\n    ^\n',
    });
  });

  test('an error of this server shows its position after surrogate pairs too', async () => {
    const sql = "select '😀😀', nosuch";
    const { url } = await answers({ error: 'No.', code: 'invalid_sql', hint: 'h', position: 13 }, 400);
    expect((await run(['query', sql, '--url', url])).stderr).toBe(
      `error: No.\n  ${sql}\n                 ^\nhint: h\n`,
    );
    expect((await run(['query', 'ab', '--url', url])).stderr).toBe('error: No.\nhint: h\n');
  });

  test.each([
    ['instead of an answer', { error: 'empty query', query: '--', position: '0' }],
    ['behind rows', tableOf([['1', 'a']], { error: 'empty query', errorPos: 0 })],
  ])('an error with status 200 %s is an error all the same', async (_name, body) => {
    const { url } = await answers(body);
    const expected = { code: 1, stderr: 'error: empty query\n  --\n  ^\n' };
    expect(await run(['query', '--url', url, '--', '--'])).toEqual({ ...expected, stdout: '' });
    expect(await run(['query', '--json', '--url', url, '--', '--'])).toEqual({
      ...expected,
      stdout: JSON.stringify(body),
    });
  });

  test('another object is not a valid response', async () => {
    const { url } = await answers({ status: 'fine' });
    expect(await run(['query', 'x', '--url', url])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('it is neither a table nor an acknowledgement'),
    });
  });

  test.each([
    ['is not UTF-8', [Uint8Array.of(0xff)], 'The SQL on standard input is not UTF-8.'],
    ['ends inside a character', [Uint8Array.of(0xc3)], 'The SQL on standard input is not UTF-8.'],
    ['is endless', [new Uint8Array(2 ** 20), new Uint8Array(1)], 'The SQL on standard input is longer than 1 MiB.'],
  ])('SQL that %s is not sent', async (_name, stdin, message) => {
    const { url, requests } = await answers({ ddl: 'OK' });
    const { code, stderr } = await run(['query', '-', '--url', url], { stdin });
    expect(code).toBe(2);
    expect(stderr).toMatch(/\nhint: .+\n$/);
    expect(stderr).toContain(`error: ${message}\n`);
    expect(requests).toEqual([]);
  });

  test('an engine and parameters are sent with the SQL, and every format works', async () => {
    const { url, requests } = await startStandIn((request, response) => {
      const fmt = new URL(request.url ?? '', 'http://x').searchParams.get('fmt') ?? '';
      if (fmt === 'json') return sendJson(response, tableOf([['1', 'a']]));
      const type = { ndjson: 'application/x-ndjson', parquet: 'application/vnd.apache.parquet' }[fmt] ?? 'text/plain';
      return response.writeHead(200, { 'content-type': type }).end('rows');
    });
    const params = ['--param', '7', '--param', '"a b"', '--param', 'null'];
    const argv = ['query', 'select ?', '--engine', 'local', ...params, '--url', url];
    expect(await run(argv)).toMatchObject({ code: 0 });
    expect(await run([...argv, '--ndjson'])).toEqual({ code: 0, stdout: 'rows', stderr: '' });
    expect(await run([...argv, '--parquet'])).toEqual({ code: 0, stdout: 'rows', stderr: '' });
    expect(requests).toEqual([
      'POST /exec?fmt=json&engine=local&param=7&param=%22a+b%22&param=null',
      'POST /exp?fmt=ndjson&engine=local&param=7&param=%22a+b%22&param=null',
      'POST /exp?fmt=parquet&engine=local&param=7&param=%22a+b%22&param=null',
    ]);
  });

  test('SQL comes from a file or from standard input, with or without -', async () => {
    const seen: string[] = [];
    const { url } = await startStandIn(async (request, response) => {
      seen.push(await bodyOf(request));
      sendJson(response, { ddl: 'OK' });
    });
    const file = join(await mkdtemp(join(tmpdir(), 'svc-sql-')), 'x.sql');
    onTestFinished(() => rm(dirname(file), { recursive: true }));
    await writeFile(file, 'select 1\n');
    await run(['query', '--file', file, '--url', url]);
    await run(['query', '-f', '-', '--url', url], { stdin: 'select 2' });
    await run(['query', '-', '--url', url], { stdin: 'select 3' });
    await run(['query', '--url', url], { stdin: 'select 4' });
    await run(['query', 'select 6/2', '--url', url]);
    await run(['query', '/* c */ select 5', '--url', url]);
    expect(seen).toEqual(['select 1\n', 'select 2', 'select 3', 'select 4', 'select 6/2', '/* c */ select 5']);
  });

  test('a server without any engine yields its own hint', async () => {
    const { url, requests } = await answers(
      { error: 'No database.', code: 'tsdb_not_configured', hint: 'Set X.' },
      412,
    );
    expect((await run(['query', 'x', '--url', url])).stderr).toBe('error: No database.\nhint: Set X.\n');
    expect(requests).toEqual(['POST /exec?fmt=json', 'GET /info']);
  });

  test('--limit is sent with the SQL', async () => {
    const { url, requests } = await answers(tableOf([['1', 'a']]));
    await run(['query', 'x', '--limit', '11,20', '--url', url]);
    expect(requests).toEqual(['POST /exec?fmt=json&limit=11%2C20']);
  });
});

describe('without --engine', () => {
  const NO_DATABASE = { error: 'No.', code: 'tsdb_not_configured', hint: 'Set X.' };

  function startServer(
    defaultEngine: string | undefined,
    tsdb: string,
    engines = ['local', 'tsdb'],
  ): ReturnType<typeof startStandIn> {
    return startStandIn(async (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      if (pathname === '/info') {
        return sendJson(response, {
          engines: engines.filter((name) => name !== 'tsdb' || tsdb === 'configured'),
          defaultEngine,
        });
      }
      const kept = pathname === '/frames' ? await bodyOf(request) : undefined;
      const engine =
        (kept === undefined ? undefined : JSON.parse(kept).engine) ??
        searchParams.get('engine') ??
        defaultEngine ??
        'tsdb';
      if (engine === 'tsdb' && tsdb === 'not_configured') return sendJson(response, NO_DATABASE, 412);
      if (kept !== undefined) return sendJson(response, { rows: 2, version: kept }, 201);
      if (pathname === '/exp') return response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end('{}\n');
      return sendJson(response, tableOf([['1', engine]]));
    });
  }

  test.each([
    ['the default engine of the server runs the SQL', 'local', 'configured', 'local', ['POST /exec?fmt=json']],
    ['that is the database unless the server says otherwise', undefined, 'configured', 'tsdb', ['POST /exec?fmt=json']],
    [
      'a server without a database runs it over its frames',
      'tsdb',
      'not_configured',
      'local',
      ['POST /exec?fmt=json', 'GET /info', 'POST /exec?fmt=json&engine=local'],
    ],
  ] as const)('%s', async (_, defaultEngine, tsdb, engine, expected) => {
    const { url, requests } = await startServer(defaultEngine, tsdb);
    expect((await run(['query', 'x', '--url', url])).stdout).toContain(`\n   1  ${engine}\n`);
    expect(requests).toEqual(expected);
  });

  test('a server with another engine alone runs it there', async () => {
    const { url, requests } = await startServer('tsdb', 'not_configured', ['scheduler']);
    expect((await run(['query', 'x', '--url', url])).stdout).toContain('\n   1  scheduler\n');
    expect(requests).toEqual(['POST /exec?fmt=json', 'GET /info', 'POST /exec?fmt=json&engine=scheduler']);
  });

  test('--engine tsdb is not replaced', async () => {
    const { url, requests } = await startServer('tsdb', 'not_configured');
    expect(await run(['query', 'x', '--engine', 'tsdb', '--url', url])).toMatchObject({ code: 1, stdout: '' });
    expect(requests).toHaveLength(1);
  });

  test('a format that the database does not write is checked against the default engine', async () => {
    const { url, requests } = await startServer('tsdb', 'not_configured');
    expect((await run(['query', 'x', '--ndjson', '--url', url])).stdout).toBe('{}\n');
    expect(requests).toEqual(['GET /info', 'POST /exp?fmt=ndjson&engine=local']);
    const other = await startServer('tsdb', 'configured');
    expect((await run(['query', 'x', '--ndjson', '--url', other.url])).stderr).toBe(
      'error: The time-series database does not write ndjson.\n' +
        'hint: Use --engine local to query the frames of the server, or --json or --csv.\n',
    );
    expect(other.requests).toEqual(['GET /info']);
  });

  test('--keep stores the result of the same engine', async () => {
    const { url } = await startServer('tsdb', 'not_configured');
    const params = ['--param', '9007199254740993', '--param', '"a"', '--param', '1.5'];
    const { code, stdout } = await run(['query', 'x', '--keep', 'means', '--ttl', '60', ...params, '--url', url]);
    const [, kept = ''] = /^means: 2 rows, version (.*) \(new\)\n$/.exec(stdout) ?? [];
    expect(code).toBe(0);
    expect(JSON.parse(kept)).toEqual({
      sql: 'x',
      engine: 'local',
      handle: 'means',
      ttl: 60,
      params: ['9007199254740993', 'a', 1.5],
    });
  });

  test('--keep sends a parameter with a decimal point as it is given: it is a DOUBLE', async () => {
    const { url } = await startServer('tsdb', 'not_configured');
    const params = ['--param', '1.0', '--param', ' 1e300 ', '--param', '1'];
    expect((await run(['query', 'x', '--keep', 'means', ...params, '--url', url])).stdout).toContain(
      '"params":[1.0,1e300,1]',
    );
  });
});

describe('svc query on a directory', () => {
  let data: string;
  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), 'svc-query-'));
    await run(['put', data, 'trades', '-', '--fmt', 'json'], {
      stdin: '[{"id":9007199254740993,"s":"a"},{"id":2,"s":null}]',
    });
    await writeFile(join(data, 'cold', 'prices.csv'), 'id,price\n2,1.5\n');
  });
  afterAll(() => rm(data, { recursive: true }));

  test('answers SQL over its frames, and files of others in it', async () => {
    const sql = 'select t.id, p.price from trades t join prices p using (id) where t.id < ?';
    expect(await run(['query', data, sql, '--param', '9007199254740993', '--ndjson'])).toEqual({
      code: 0,
      stdout: '{"id":2,"price":1.5}\n',
      stderr: '',
    });
    expect((await run(['query', data], { stdin: 'select max(id) as m from trades' })).stdout).toContain(
      '\n9007199254740993\n1 row\n',
    );
  });

  test('shows the position of an error, and refuses SQL that changes rows', { tags: ['slow'] }, async () => {
    expect(await run(['query', data, 'select nosuch\nfrom trades'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: .*nosuch.*\n  select nosuch\n         \^\nhint: /),
    });
    expect(await run(['query', data, 'delete from trades'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: /),
    });
    expect((await run(['list', data, 'trades'])).stdout).toMatch(/\n1 frame\n$/);
  });

  test('keeps a result as a frame', { tags: ['slow'] }, async () => {
    expect(
      (await run(['query', data, 'select id from trades where id < ?', '--param', '9', '--keep', 'few'])).stdout,
    ).toMatch(/^few: 1 row, version \S+ \(new\)\n$/);
    expect((await run(['get', data, 'few', '--csv'])).stdout).toBe('id\r\n2\r\n');
  });

  test('writes the result to a file', { tags: ['slow'] }, async () => {
    const file = join(data, 'answer.parquet');
    await run(['query', data, 'select 1 as x', '-o', file]);
    expect((await run(['convert', file, '-', '--to', 'csv'])).stdout).toBe('x\r\n1\r\n');
  });
});
