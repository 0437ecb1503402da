// SQL that changes frames with svc query: which requests it sends, and what it does in a directory.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SLOW } from '../../../test/tier.ts';
import { type Ran, run } from './run.ts';
import { bodyOf, sendJson, startStandIn } from './stand-in.ts';

const FRAME = { handle: 't', rows: 2, version: 'V' };

/** A server whose frames have one answer, and which says what it was asked. */
async function startServer({
  status = 200,
  body = FRAME,
  tsdb = 'not_configured',
}: { readonly status?: number; readonly body?: object; readonly tsdb?: string } = {}) {
  const asked: unknown[] = [];
  const info = { engines: tsdb === 'configured' ? ['local', 'tsdb'] : ['local'], defaultEngine: 'tsdb' };
  const { url } = await startStandIn(async (request, response) => {
    if (request.url === '/info') return sendJson(response, info);
    if (request.url?.startsWith('/frames?')) return sendJson(response, { frames: [] });
    const text = await bodyOf(request);
    const condition = request.headers['if-none-match'];
    asked.push(`${request.method} ${request.url}${condition === undefined ? '' : ` if-none-match ${condition}`}`);
    if (text !== '') asked.push(text.startsWith('{') ? JSON.parse(text) : text);
    return status === 204 ? response.writeHead(204).end() : sendJson(response, body, status);
  });
  return { asked, query: (...argv: readonly string[]): Promise<Ran> => run(['query', ...argv, '--url', url]) };
}

const EXISTS = { error: 'The frame "t" already exists.', code: 'handle_exists', hint: 'If-None-Match' };
const MISSING = { error: 'There is no frame "t".', code: 'handle_not_found', hint: 'h' };

describe('a server gets one request that writes, and none at /exec:', () => {
  test.each([
    [
      'create table t as select ?',
      ['--param', '1'],
      { status: 201 },
      [
        'POST /frames if-none-match *',
        { sql: '                  select ?', engine: 'local', handle: 't', params: [1] },
      ],
      't: 2 rows, version V (new)\n',
    ],
    [
      'create or replace table t (a int)',
      [],
      {},
      ['POST /frames', { sql: 'SELECT CAST(NULL AS int) AS "a" LIMIT 0', engine: 'local', handle: 't' }],
      't: 2 rows, version V (replaced)\n',
    ],
    [
      'insert into t (b, a) values (?, 2)',
      ['--param', '9007199254740993', '--engine', 'scheduler'],
      {},
      [
        'POST /frames/t',
        {
          sql: `${' '.repeat(21)}values (?, 2)`,
          engine: 'scheduler',
          columns: ['b', 'a'],
          params: ['9007199254740993'],
        },
      ],
      't: 2 rows, version V (appended)\n',
    ],
    ['drop table t;', [], { status: 204 }, ['DELETE /frames/t'], 'dropped t\n'],
    ['drop table if exists t', [], { status: 404, body: MISSING }, ['DELETE /frames/t'], 'there is no frame t\n'],
    [
      'alter table t rename to "u.1"',
      [],
      { body: { ...FRAME, handle: 'u.1' } },
      ['PATCH /frames/t', { handle: 'u.1' }],
      'u.1: 2 rows, version V (renamed)\n',
    ],
    [
      'alter table if exists t rename to u',
      [],
      { status: 404, body: MISSING },
      ['PATCH /frames/t', { handle: 'u' }],
      'there is no frame t\n',
    ],
    ['commit', [], {}, [], 'OK\n'],
  ])('%s', async (sql, flags, answer, requests, stdout) => {
    const { asked, query } = await startServer(answer);
    expect(await query(sql, ...flags)).toMatchObject({ code: 0, stdout });
    expect(asked).toEqual(requests);
  });

  test('create table if not exists', async () => {
    const { query } = await startServer({ status: 409, body: EXISTS });
    expect(await query('create table if not exists t as select 1')).toMatchObject({ stdout: 't exists already\n' });
    expect(await query('create table t as select 1')).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${EXISTS.error}\nhint: Use CREATE OR REPLACE TABLE, or CREATE TABLE IF NOT EXISTS.\n`,
    });
  });
});

test('a server whose default is a database gets the statement as SQL for the database', async () => {
  for (const engine of [[], ['--engine', 'tsdb']]) {
    const { asked, query } = await startServer({ tsdb: 'configured', body: { ddl: 'OK' } });
    expect(await query('create table t (a symbol) timestamp(ts)', ...engine)).toMatchObject({ stdout: 'OK\n' });
    expect(asked).toEqual(['POST /exec?fmt=json&engine=tsdb', 'create table t (a symbol) timestamp(ts)']);
  }
});

describe('nothing is sent for', () => {
  test.each([
    ['insert t', [], 1, 'error: Cannot read the statement: INSERT is not followed by INTO, at "t".\n  insert t\n'],
    ['alter table t add c int', [], 1, 'error: ALTER TABLE without RENAME TO is not supported: columns of a frame do'],
    ['delete from t', [], 1, 'error: DELETE is not supported: rows of a frame do not change.\n'],
    ['drop table t', ['--csv'], 2, 'error: The statement returns no rows, so --csv has no meaning.\n'],
    ['insert into t values (1)', ['-o', 'x.csv'], 2, 'error: The statement returns no rows, so -o has no meaning.\n'],
    ['drop table t', ['--param', '1'], 2, 'error: The statement has no parameters, so --param has no meaning.\n'],
  ])('%s %j', async (sql, flags, code, stderr) => {
    const { asked, query } = await startServer();
    expect(await query(sql, ...flags)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(stderr) });
    expect(asked).toEqual([]);
  });
});

test('an error in the query of a statement shows its position in the whole statement', async () => {
  const sql = "insert into t\nselect '😀', nosuch";
  const body = { error: 'No.', code: 'invalid_sql', hint: 'h', position: 26 };
  const { query } = await startServer({ status: 400, body });
  expect((await query(sql)).stderr).toBe("error: No.\n  select '😀', nosuch\n               ^\nhint: h\n");
});

describe('in a directory', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-writes-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('statements make, fill and drop frames', SLOW, async () => {
    const data = join(folder, 'data');
    const query = (sql: string, ...flags: readonly string[]) => run(['query', data, sql, ...flags]);
    expect((await query('create table t (id bigint, name text)')).stdout).toMatch(/^t: 0 rows, version \S+ \(new\)\n$/);
    expect((await query("insert into t values (1, 'a'), (2, null)")).stdout).toMatch(/^t: 2 rows/);
    expect((await query('insert into t (id) select id + ? from t', '--param', '10')).stdout).toMatch(/^t: 4 rows/);
    expect((await query('from t order by id', '--csv')).stdout).toBe('id,name\r\n1,a\r\n2,\r\n11,\r\n12,\r\n');
    expect(await query('insert into t select 1.5, null')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Row 1, column "id": 1.5 is not exactly a LONG.'),
    });
    expect((await query('alter table t rename to u')).stdout).toMatch(/^u: 4 rows, version \S+ \(renamed\)\n$/);
    expect((await query('alter table u rename to "U"')).stderr).toContain('only in letter case');
    expect((await query('alter table u rename to t')).code).toBe(0);
    expect(await query('drop table t')).toEqual({ code: 0, stdout: 'dropped t\n', stderr: '' });
  });

  test('a refused statement creates no directory', async () => {
    for (const sql of ['create table t', 'insert into t values (1)', 'drop table t', 'alter table t rename to u']) {
      expect((await run(['query', join(folder, 'data'), sql])).code).not.toBe(0);
    }
    expect(await readdir(folder)).toEqual([]);
  });
});
