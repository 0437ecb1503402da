import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, callersFileOf, createCaller } from './callers.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';

const callers = {
  both: createCaller('alpha', ['read', 'write']),
  reader: createCaller('alpha', ['read']),
  writer: createCaller('alpha', ['write']),
  database: createCaller('alpha', ['tsdb']),
  beta: createCaller('beta', ['read', 'write']),
};
type CallerName = keyof typeof callers;

let server: ServerProcess;
let end: () => Promise<void>;

beforeAll(async () => {
  server = await startProcess({
    env: {
      SERVICE_SQL_DEFAULT_ENGINE: 'local',
      SERVICE_HTTP_DEFAULT_FMT: 'json',
      SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', callersFileOf(callers)),
    },
    onEnd: (stop) => void (end = stop),
  });
  await put('both', 'coins', [
    { id: 1, name: 'ab' },
    { id: 2, name: 'cd' },
    { id: 3, name: 'ef' },
  ]);
  await put('beta', 'secret', [{ x: 1.5 }]);
});
afterAll(() => end());

const headersOf = (caller: CallerName) => ({ authorization: bearer(callers[caller].token) });

async function put(caller: CallerName, handle: string, rows: unknown): Promise<void> {
  expect((await server.put(handle, rows, { headers: headersOf(caller) })).status).toBe(201);
}

/** The status and the JSON of a response; the text if it is not JSON. */
async function ask(caller: CallerName, path: string, init: RequestInit = {}): Promise<readonly [number, unknown]> {
  const response = await server.fetch(path, { ...init, headers: headersOf(caller) });
  const text = await response.text();
  return [
    response.status,
    response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text,
  ];
}

const exec = (caller: CallerName, sql: string, more = '') =>
  ask(caller, `/exec?query=${encodeURIComponent(sql)}${more}`);
const rows = (dataset: unknown[][]) => [200, expect.objectContaining({ dataset })];

describe('SQL of the tools', () => {
  test.each<[sql: string, more: string, dataset: unknown[][], count: number]>([
    ["select table_name, table_row_count from tables() where table_name = 'coins'", '', [['coins', 3]], 1],
    [
      'select "column", type from table_columns(\'coins\')',
      '',
      [
        ['id', 'LONG'],
        ['name', 'STRING'],
      ],
      2,
    ],
    [
      'coins',
      '&limit=0,2&count=true&nm=true',
      [
        [1, 'ab'],
        [2, 'cd'],
      ],
      3,
    ],
    [
      'coins;',
      '&limit=2,3&count=true&nm=true&src=con',
      [
        ['2', 'cd'],
        ['3', 'ef'],
      ],
      3,
    ],
    ["select id from 'coins' where id > 1", '&limit=1', [[2]], 1],
  ])('%s with %s', async (sql, more, dataset, count) => {
    const [status, body] = await exec('reader', sql, more);
    expect([status, body]).toMatchObject([200, { dataset, count }]);
  });

  test('a short statement is echoed as it was sent, and its errors have their place in it', async () => {
    expect((await exec('reader', 'show columns from coins;'))[1]).toMatchObject({
      query: 'show columns from coins;',
      columns: [{ name: 'column' }, { name: 'type' }, ...Array.from({ length: 7 }, () => expect.anything())],
    });
    expect(await exec('reader', 'tables() where nothing = 1')).toMatchObject([
      400,
      { code: 'invalid_sql', query: 'tables() where nothing = 1', position: 15 },
    ]);
    expect(await exec('reader', 'nowhere')).toMatchObject([400, { query: 'nowhere', position: 0 }]);
  });

  test('shows the frames of the tenant alone', async () => {
    const names = 'select table_name from tables() order by 1';
    expect(await exec('beta', names)).toEqual(rows([['secret']]));
    expect(await exec('reader', `${names} limit 1`)).toEqual(rows([['coins']]));
    expect(await exec('reader', 'information_schema.questdb_columns()')).toMatchObject([
      200,
      { dataset: expect.not.arrayContaining([expect.arrayContaining(['secret'])]) },
    ]);
    expect(await exec('reader', "table_columns('secret')")).toMatchObject([400, { code: 'invalid_sql' }]);
    expect((await exec('writer', 'tables()'))[0]).toBe(403);
  });

  test('/exp reads a frame by its name, and leaves out the header with nm=true', async () => {
    expect(await ask('reader', '/exp?query=coins&limit=1&nm=true&filename=x')).toEqual([200, '1,ab\r\n']);
  });
});

describe('/chk', () => {
  test.each<[CallerName, string, number, object]>([
    ['reader', 'coins', 200, { status: 'Exists' }],
    ['reader', 'secret', 200, { status: 'Does not exist' }],
    ['beta', 'secret', 200, { status: 'Exists' }],
    ['reader', 'a b', 200, { status: 'Reserved name' }],
    ['writer', 'coins', 403, { code: 'permission_denied' }],
    ['database', 'coins', 403, { code: 'permission_denied' }],
  ])('of %s about %s', async (caller, name, status, body) => {
    expect(await ask(caller, `/chk?f=json&j=${encodeURIComponent(name)}&version=2`)).toMatchObject([status, body]);
  });

  test('engine=tsdb asks the database, which is not configured, with the permission for it', async () => {
    expect((await ask('database', '/chk?f=json&j=coins&engine=tsdb'))[0]).toBe(412);
    expect((await ask('reader', '/chk?f=json&j=coins&engine=tsdb'))[0]).toBe(403);
  });
});

/** A form of parts in this order: texts, or files with their names. */
function form(...parts: readonly (readonly [part: string, text: string, file?: string])[]): RequestInit {
  const body = new FormData();
  for (const [part, text, file] of parts) {
    if (file === undefined) body.append(part, text);
    else body.append(part, new Blob([text]), file);
  }
  return { method: 'POST', body };
}

const CSV = 'id,name\n4,gh\n5,ij\n';
const file = form(['data', CSV, 'x.csv']);
const OK = { status: 'OK', rowsRejected: 0, partitionBy: 'NONE' };
const idsOf = async (handle: string) =>
  ((await exec('both', `select id from "${handle}" order by id`))[1] as { dataset?: number[][] }).dataset?.flat();

describe('/imp', () => {
  // What QuestDB's web console sends.
  const fromConsole =
    'fmt=json&owner=undefined&partitionBy=NONE&forceHeader=false&skipLev=false&delimiter=&atomicity=skipCol&maxUncommitedRows=500000';

  test('creates a frame, appends to it, and replaces it with overwrite=true', async () => {
    const columns = [
      { name: 'id', type: 'LONG', errors: 0 },
      { name: 'name', type: 'STRING', errors: 0 },
    ];
    const report = { ...OK, location: 'made', rowsImported: 2, header: true, columns };
    const importing = (overwrite: boolean) =>
      ask(
        'both',
        `/imp?${fromConsole}&name=made&overwrite=${overwrite}`,
        form(['schema', '[]'], ['data', CSV, 'x.csv']),
      );
    expect(await importing(false)).toEqual([200, report]);
    expect(await importing(false)).toEqual([200, report]);
    expect(await idsOf('made')).toEqual([4, 4, 5, 5]);
    expect(await importing(true)).toEqual([200, report]);
    expect(await idsOf('made')).toEqual([4, 5]);
  });

  test('takes the name of the file, a delimiter, a header, and compressed or other formats', async () => {
    expect(await ask('both', '/imp', file)).toMatchObject([200, { location: 'x.csv' }]);
    const lines = form(['data', 'a;b\nc;d\n', 'lines.txt']);
    expect(await ask('both', '/imp?name=lines&delimiter=%3B&forceHeader=true', lines)).toMatchObject([
      200,
      { rowsImported: 1, columns: [{ name: 'a' }, { name: 'b' }] },
    ]);
    const bare = form(['data', '1,2\n3,4\n', 'bare.csv']);
    expect(await ask('both', '/imp?name=bare', bare)).toMatchObject([
      200,
      { rowsImported: 2, header: false, columns: [{ name: 'column0' }, { name: 'column1' }] },
    ]);
    const arrow = await server.fetch('/exp?query=coins&fmt=arrow', { headers: headersOf('reader') });
    const body = new FormData();
    body.append('data', new Blob([await arrow.arrayBuffer()]), 'coins.arrow');
    expect(await ask('both', '/imp?name=copied', { method: 'POST', body })).toMatchObject([200, { rowsImported: 3 }]);
    expect(await idsOf('copied')).toEqual([1, 2, 3]);
  });

  test('shows a caller who may not read no columns', async () => {
    expect(await ask('writer', '/imp?name=blind', file)).toEqual([200, { ...OK, location: 'blind', rowsImported: 2 }]);
  });

  const schema = '[{"name":"id","type":"INT"},{"name":"name","type":"STRING"}]';
  test('a schema is accepted for a frame that exists, as a text or as a file before the data', async () => {
    await put('both', 'typed', [{ id: 1, name: 'a' }]);
    for (const part of [['schema', schema] as const, ['schema', schema, 'schema.json'] as const]) {
      expect(await ask('both', '/imp?name=typed', form(part, ['data', CSV, 'x.csv']))).toMatchObject([
        200,
        { rowsImported: 2, columns: [{ type: 'LONG' }, { type: 'STRING' }] },
      ]);
    }
    expect(await idsOf('typed')).toEqual([1, 4, 4, 5, 5]);
  });

  const withSchema = form(['schema', schema], ['data', CSV, 'x.csv']);
  test.each<[what: string, query: string, init: RequestInit, status: number, code: string]>([
    ['a schema of a new frame', 'name=none', withSchema, 400, 'invalid_argument'],
    ['a schema of a frame that is replaced', 'name=coins&overwrite=true', withSchema, 400, 'invalid_argument'],
    ['a schema after the data', 'name=coins', form(['data', CSV, 'x.csv'], ['schema', schema]), 400, 'invalid_data'],
    ['another field', 'name=none', form(['other', 'x'], ['data', CSV, 'x.csv']), 400, 'invalid_data'],
    ['two files', 'name=none', form(['data', CSV, 'x.csv'], ['more', CSV, 'y.csv']), 400, 'invalid_data'],
    ['no file', 'name=none', form(['schema', '[]']), 400, 'invalid_data'],
    ['an empty file', 'name=none', form(['data', '', 'x.csv']), 400, 'invalid_data'],
    ['a name that is not a handle', 'name=a%20b', file, 400, 'invalid_argument'],
    ['a flag that is none', 'name=none&overwrite=yes', file, 400, 'invalid_argument'],
    ['a frame that must exist', 'name=none&create=false', file, 409, 'version_conflict'],
    ['other columns than those of the frame', 'name=coins', form(['data', 'a,b\n1,2\n', 'x']), 400, 'invalid_data'],
    ['a value of another type', 'name=coins', form(['data', 'id,name\n4,a\nx,b\n', 'x']), 400, 'invalid_data'],
    ['a body that is no form', 'name=none', { method: 'POST', body: CSV }, 415, 'unsupported_media_type'],
  ])('%s is refused, and changes nothing', async (_what, query, init, status, code) => {
    const [seen, body] = await ask('both', `/imp?${query}`, init);
    expect([seen, body]).toMatchObject([status, { code, hint: expect.any(String) }]);
    const { error, status: said } = body as { error: string; status: string };
    expect(said).toBe(error);
    expect(await idsOf('coins')).toEqual([1, 2, 3]);
    expect((await ask('both', '/chk?f=json&j=none'))[1]).toEqual({ status: 'Does not exist' });
  });

  test('needs the permission write', async () => {
    expect((await ask('reader', '/imp?name=none', file))[0]).toBe(403);
    expect((await server.fetch('/imp?name=none', file)).status).toBe(401);
    expect((await ask('beta', '/imp?name=coins', file))[0]).toBe(200);
    expect(await idsOf('coins')).toEqual([1, 2, 3]);
  });
});
