import { once } from 'node:events';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { exportJWK, generateKeyPair } from 'jose';
import { byTier, SLOW } from '../../../test/tier.ts';
import { basic, bearer, createCaller } from './callers.ts';
import { CAN_MEASURE, MAX_BLOCK_MS, type MeasuredServer, startMeasured } from './measured-server.ts';
import { testFile } from './server-process.ts';

/** A request that tries to keep the event loop, and the status of its response. */
interface Hostile {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: () => string | Uint8Array<ArrayBuffer>;
  readonly status: number;
}

const MB = 1_000_000;
const CSV = { 'content-type': 'text/csv' };
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const GZIP = { 'content-encoding': 'gzip' };
const SQL = '/exec?engine=local&fmt=json';
const NESTED = 500_000;

/** A compressed upload: few bytes on the wire become many in the server. */
function put(type: string, text: () => string | Uint8Array, { query = '', status = 400 } = {}): Hostile {
  const headers = { ...GZIP, 'content-type': type };
  return { method: 'PUT', path: `/frames/x${query}`, headers, body: () => gzipSync(text(), { level: 1 }), status };
}

const csv = (text: () => string | Uint8Array, options = {}): Hostile => put('text/csv', text, options);
const json = (text: () => string, options = {}): Hostile => put('application/json', text, options);

function lines(text: () => string, status = 400): Hostile {
  return { method: 'POST', path: '/write', headers: GZIP, body: () => gzipSync(text(), { level: 1 }), status };
}

function sql(body: () => string): Hostile {
  return { method: 'POST', path: SQL, headers: FORM, body, status: 400 };
}

/** SQL as the body itself. */
function plainSql(body: () => string): Hostile {
  return { method: 'POST', path: SQL, headers: { 'content-type': 'application/sql' }, body, status: 400 };
}

/** A form that names the columns to read. */
function columns(cols: () => string): Hostile {
  const body = (): string => `handle=x&fmt=json&cols=${cols()}`;
  return { method: 'POST', path: '/exec', headers: FORM, body, status: 400 };
}

/** A query in the body that stores its result. */
const keep = (body: () => string, status = 400): Hostile => ({
  method: 'POST',
  path: '/frames',
  headers: JSON_TYPE,
  body,
  status,
});

/** A Parquet file without rows, with a footer. */
function parquet(footer: () => Buffer): Hostile {
  const headers = { 'content-type': 'application/vnd.apache.parquet' };
  const magic = Buffer.from('PAR1');
  const body = (): Uint8Array<ArrayBuffer> => {
    const bytes = footer();
    return new Uint8Array(Buffer.concat([magic, bytes, Buffer.from(Uint32Array.of(bytes.length).buffer), magic]));
  };
  return { method: 'PUT', path: '/frames/x', headers, body, status: 400 };
}

/** The start of the compact Thrift of a footer: the version, and a list of 100,000 structs. */
const SCHEMA_HEAD = Buffer.of(0x15, 2, 0x19, 0xfc, 0xa0, 0x8d, 6);
/** A column of integers without a name. */
const ELEMENT = Buffer.of(0x15, 2, 0x25, 0, 0x18, 0, 0);
/** A list of one struct instead. */
const ONE_ELEMENT = Buffer.of(0x15, 2, 0x19, 0x1c);
/** The start of a list of 30 million booleans. */
const BOOLEANS = Buffer.of(0xf1, 0x80, 0x87, 0xa7, 0xe);

const MULTIPART = { 'content-type': 'multipart/form-data; boundary=x' };
const PART = 'Content-Disposition: form-data; name=';

/** A form with a schema and a file, for tools of QuestDB. */
const importForm = (schema: string): string =>
  `--x\r\n${PART}schema\r\n\r\n${schema}\r\n--x\r\n${PART}data; filename=a\r\n\r\na,b\n1,2\n\r\n--x--\r\n`;

/** A request with a long head. */
const get = (path: string, status: number, headers: Readonly<Record<string, string>> = {}): Hostile => ({
  path,
  headers,
  status,
});

const list = (count: number, item: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => item(i)).join();

const HTTP: Readonly<Record<string, Hostile>> = {
  'a line of 33 MB, 32 kB compressed': csv(() => Buffer.alloc(33 * MB, '0')),
  'a quote that stays open for 31 MB': {
    method: 'PUT',
    path: '/frames/x',
    headers: CSV,
    body: () => `a,"${'b'.repeat(31 * MB)}`,
    status: 400,
  },
  '33 MB of quotes': csv(() => '"'.repeat(33 * MB)),
  '33 MB of commas': csv(() => ','.repeat(33 * MB)),
  'a form whose schema is 250 kB of blanks': {
    method: 'POST',
    path: '/imp?overwrite=true&name=x',
    headers: MULTIPART,
    body: () => importForm(`${' '.repeat(250_000)}x`),
    status: 400,
  },
  'a form of 30 MB without its boundary': {
    method: 'PUT',
    path: '/frames/x',
    headers: MULTIPART,
    body: () => 'a'.repeat(30 * MB),
    status: 400,
  },
  '33 MB of line feeds': csv(() => '\n'.repeat(33 * MB)),
  '33 MB of carriage returns': csv(() => '\r'.repeat(33 * MB)),
  '33 MB of spaces': csv(() => ' '.repeat(33 * MB)),
  '11,000 declared columns': {
    ...csv(() => 'a,b\n1,2\n', { query: `?columns=${list(11_000, (i) => i.toString(36))}` }),
  },
  'a name of 20 MB': csv(() => `${'é'.repeat(10 * MB)},b\n1,2\n`),
  'a name of 20 MB in quotes': csv(() => `"${'é'.repeat(10 * MB)}",b\n1,2\n`),
  'a query string with 11,000 columns': get(`/exec?handle=x&fmt=json&cols=${list(11_000, (i) => i.toString(36))}`, 400),
  '20 MB of lines that end in two ways': csv(() => `a,b\r\n${'1,2\n'.repeat(5 * MB)}`, { status: 200 }),
  'a value of another type after 20 MB': csv(() => `a,b\n${'1,2\n'.repeat(5 * MB)}x,2\n`, {
    query: '?columns=a:LONG,b:LONG',
  }),
  'UTF-16': csv(() => Buffer.from(`\uFEFFa,b\n${'é,2\n'.repeat(2 * MB)}`, 'utf16le'), { status: 200 }),
  'Windows-1252': csv(() => Buffer.from(`a,b\n${'\x80,2\n'.repeat(4 * MB)}`, 'latin1'), {
    query: '?encoding=windows-1252',
    status: 200,
  }),
  'a million empty zstd frames': {
    method: 'PUT',
    path: '/frames/x',
    headers: { ...CSV, 'content-encoding': 'zstd' },
    body: () => new Uint8Array(Buffer.alloc(8 * MB, Buffer.of(0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0))),
    status: 400,
  },
  'a number of 1 MB in a line': lines(() => `t a=${'1'.repeat(MB)}x 1`),
  'a line of 30 MB of digits': lines(() => `t a=${'1'.repeat(30 * MB)}`),
  '30 MB of broken lines': lines(() => 'x\n'.repeat(15 * MB)),
  '10 MB of backslashes in a line': lines(() => '\\'.repeat(10 * MB)),
  'a parameter of 900,000 digits': sql(() => `query=select+$1&param=${'9'.repeat(900_000)}`),
  'a form with 200,000 names of columns': columns(() => list(200_000, (i) => i.toString(36))),
  'a form with a name of 1 MB in quotes': columns(() => `"${'""'.repeat(500_000)}"`),
  'a table with a name of 1 MB': plainSql(() => `select * from ${'a'.repeat(MB)}`),
  'a text of 1 MB of control characters': { ...plainSql(() => `select '${'\x01'.repeat(MB - 20)}'`), status: 200 },
  'a column that does not exist beside 1 MB of emoji': plainSql(() => `select nothing, '${'😀'.repeat(250_000)}'`),
  'a line with a text of 400,000 quotes': lines(() => `u a="${'\\"'.repeat(400_000)}"\n`, 204),
  'SQL of 1 MB of pluses': sql(() => `query=${'+'.repeat(MB)}`),
  'SQL of 1 MB of escapes': sql(() => `query=${'%20'.repeat(340_000)}`),
  '500,000 parameters': sql(() => `query=select+1${'&a'.repeat(500_000)}`),
  'a body nested 500,000 deep': keep(() => `{"sql":${'['.repeat(NESTED)}${']'.repeat(NESTED)}}`),
  'a body with 400,000 parameters': keep(() => `{"sql":"select 1","params":[${list(400_000, () => '1')}]}`),
  'a body with 80,000 names': keep(() => `{"sql":"select 1",${list(80_000, (i) => `"c${i}":1`)}}`),
  'a body of 1 MB of blanks': keep(() => `{${' '.repeat(MB)}}`),
  'a JSON name of 30 MB': json(() => `[{"${'b'.repeat(30 * MB)}":1}]`),
  'JSON lists 10 million deep': json(() => '['.repeat(10 * MB)),
  'JSON with 100,000 names': json(() => `[{${list(100_000, (i) => `"c${i}":1`)}}]`),
  'a JSON text of 30 MB of escapes': json(() => `[{"a":"${'\\u00e9'.repeat(5 * MB)}"}]`, { status: 200 }),
  'a decimal with a million zeros': json(() => `[{"a":1.${'0'.repeat(MB)}1}]`, { query: '?columns=a:DECIMAL(10,2)' }),
  'a Parquet footer of 50 MB': parquet(() => Buffer.alloc(50 * MB, 0x15)),
  'a Parquet column of 15 million fields': parquet(() => Buffer.concat([ONE_ELEMENT, Buffer.alloc(30 * MB, 0x13)])),
  'a Parquet column with 30 million booleans': parquet(() =>
    Buffer.concat([ONE_ELEMENT, Buffer.of(0x19), BOOLEANS, Buffer.alloc(30 * MB)]),
  ),
  'a Parquet footer whose version is 30 million booleans': parquet(() =>
    Buffer.concat([Buffer.of(0x19), BOOLEANS, Buffer.alloc(30 * MB)]),
  ),
  'a Parquet schema of 100,000 elements': parquet(() => Buffer.concat([SCHEMA_HEAD, Buffer.alloc(700_000, ELEMENT)])),
  '30,000 parameters in the URL': get(`/exec?handle=x&fmt=json&${'a&'.repeat(30_000)}`, 400),
  '60 kB of escapes in the URL': get(`/exec?handle=${'%41'.repeat(20_000)}&fmt=json`, 404),
  '60 kB of slashes': get('/'.repeat(60_000), 404),
  '6,000 headers': get('/frames/x', 200, Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [`a${i}`, '']))),
  '60 kB of Accept-Encoding': get('/exec?handle=x&fmt=json', 200, { 'accept-encoding': 'a;q=0.1,'.repeat(7500) }),
  '60 kB of If-None-Match': get('/exec?handle=x&fmt=json', 200, { 'if-none-match': '"a",'.repeat(15_000) }),
  '60 kB of ranges': get('/files/x.parquet', 200, { range: `bytes=${'0-1,'.repeat(15_000)}` }),
  '60 kB of credentials': get('/frames/x', 200, { authorization: `Bearer ${'a.'.repeat(30_000)}` }),
};

/** Bodies in chunks of one byte: the method and path, the headers, and how the response starts. */
const CHUNKED: Readonly<Record<string, readonly [target: string, headers: string, response: string]>> = {
  'a CSV upload': ['PUT /frames/x', 'content-type: text/csv', 'HTTP/1.1 400'],
  'a JSON upload': ['PUT /frames/x', 'content-type: application/json', 'HTTP/1.1 400'],
  SQL: [`POST ${SQL}`, 'content-type: text/plain', 'HTTP/1.1 400'],
  'line protocol': ['POST /write', 'content-type: text/plain', 'HTTP/1.1 400'],
  'a request that has no body': ['GET /ping', 'a: b', 'HTTP/1.1 '],
};

/** Statements for a cluster, of a frame that does not exist: the check of their text is all that happens. */
const FENCED: Readonly<Record<string, () => string>> = {
  '9000 tables': () => `select 1 from ${list(9000, () => 'a')}`,
  '9000 tables under 190 levels of WITH': () =>
    `${'with b as (select 1) select * from ('.repeat(190)}select 1 from ${list(8000, () => 'a')}${')'.repeat(190)}`,
  '3900 calls': () => `select ${list(3900, () => 'abs(1)')} from a`,
  'a megabyte of comments': () => `select 1 ${'/**/'.repeat(250_000)} from a`,
  'a megabyte of lines': () => `select 1 ${'--\n'.repeat(330_000)} from a`,
  'a text of a megabyte': () => `select '${'a'.repeat(MB)}' from a`,
};
/** Sends bytes on a connection; returns the first bytes of the response. */
async function sendRaw({ port }: MeasuredServer, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(text);
  const [response] = (await once(socket, 'data')) as [Buffer];
  return response.toString('latin1');
}

describe.runIf(CAN_MEASURE)(`the event loop is kept for at most ${MAX_BLOCK_MS} ms in one piece by`, () => {
  let server: MeasuredServer;
  let end: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    server = await startMeasured({ onEnd: (ending) => void (end = ending) });
    // The first requests load modules and compile functions.
    for (let i = 0; i < 3; i += 1) {
      await server.fetch('/frames/x', { method: 'PUT', headers: CSV, body: 'a,b\n1,2\n' });
      await server.fetch(SQL, { method: 'POST', headers: FORM, body: 'query=select+1' });
      await server.fetch('/files/x.parquet');
      await server.fetch('/write', { method: 'POST', body: `t a=${'1'.repeat(200_000)}x\n` });
      await server.fetch('/imp?overwrite=true&name=x', { method: 'POST', headers: MULTIPART, body: importForm('') });
    }
    return async () => end?.();
  });

  for (const [options, rows] of byTier(Object.entries(HTTP))) {
    test.each(rows)('%s', options, async (_, { method = 'GET', path, headers = {}, body, status }) => {
      const bytes = body?.() ?? null;
      const send = async (): Promise<void> => {
        const response = await server.fetch(path, { method, headers, body: bytes });
        await response.arrayBuffer();
        expect(response.status).toBe(status);
      };
      const ms = await server.longestBlock(send, () => server.put('x', [{ a: 1, b: 2 }]));
      expect(ms).toBeLessThanOrEqual(MAX_BLOCK_MS);
    });
  }

  // Node parses 64 KiB in one piece: eleven thousand such chunks take 25 to 55 ms, even if nothing is done with them.
  test.each(Object.entries(CHUNKED))('400,000 chunks of one byte: %s', SLOW, async (_, [target, headers, expected]) => {
    const head = `${target} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}\r\ntransfer-encoding: chunked\r\n\r\n`;
    const ms = await server.longestBlock(async () => {
      const response = await sendRaw(server, `${head}${'1\r\n1\r\n'.repeat(400_000)}0\r\n\r\n`);
      expect(response).toMatch(new RegExp(`^${expected}`));
    });
    expect(ms).toBeLessThanOrEqual(5 * MAX_BLOCK_MS);
  });
});

describe.runIf(CAN_MEASURE)('the check of SQL for a cluster', () => {
  let server: MeasuredServer;
  let end: (() => Promise<void>) | undefined;
  const send = (body: string): Promise<Response> =>
    server.fetch('/exec?engine=scheduler&fmt=json', {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body,
    });

  beforeAll(async () => {
    const env = { SERVICE_SCHEDULER_URL: 'sc://127.0.0.1:1', SERVICE_DATA_DIR: dirname(testFile('empty', '')) };
    server = await startMeasured({ env, onEnd: (ending) => void (end = ending) });
    for (const text of Object.values(FENCED)) await (await send(text())).arrayBuffer();
    return async () => end?.();
  });

  test.each(Object.entries(FENCED))(`keeps the event loop for at most ${MAX_BLOCK_MS} ms: %s`, async (_, text) => {
    const statement = text();
    const ms = await server.longestBlock(async () => {
      expect(await (await send(statement)).json()).toMatchObject({ error: 'There is no frame "a".' });
    });
    expect(ms).toBeLessThanOrEqual(MAX_BLOCK_MS);
  });
});

const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const JWT_HEAD = base64url('{"alg":"ES256","kid":"k"}');
const OPEN = '['.repeat(40_000);

/** Credentials of 60 kB that prove nothing. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  'a bearer token': bearer('a'.repeat(60_000)),
  'dots as a bearer token': bearer('a.'.repeat(30_000)),
  'blanks before a bearer token': `Bearer ${' '.repeat(60_000)}x`,
  'a password': basic('a'.repeat(44_000)),
  'colons as a name and password': `Basic ${base64url(':'.repeat(44_000))}`,
  'the header of a JWT': bearer(`${base64url(OPEN)}.e30.AAAA`),
  'the claims of a JWT': bearer(`${JWT_HEAD}.${base64url(OPEN)}.AAAA`),
  'the signature of a JWT': bearer(`${JWT_HEAD}.e30.${'A'.repeat(60_000)}`),
};

describe.runIf(CAN_MEASURE)('with authentication', () => {
  const caller = createCaller('alpha', ['read', 'write']);
  let server: MeasuredServer;
  let end: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    const key = await exportJWK((await generateKeyPair('ES256')).publicKey);
    const env = {
      SERVICE_AUTH_MODE: 'required',
      SERVICE_AUTH_CALLERS_FILE: testFile('callers.toml', caller.row),
      SERVICE_AUTH_JWKS: testFile('jwks.json', JSON.stringify({ keys: [{ ...key, kid: 'k' }] })),
      SERVICE_AUTH_JWT_ISSUER: 'https://login.example.com/',
      SERVICE_AUTH_JWT_AUDIENCE: 'svc',
    };
    server = await startMeasured({ env, onEnd: (ending) => void (end = ending) });
    for (const authorization of Object.values(CREDENTIALS))
      await server.fetch('/frames', { headers: { authorization } });
    const headers = { ...JSON_TYPE, authorization: bearer(caller.token) };
    for (let i = 0; i < 3; i += 1) {
      await server.fetch('/frames', {
        method: 'POST',
        headers,
        body: JSON.stringify({ sql: `select '${'a'.repeat(200_000)}'` }),
      });
    }
    return async () => end?.();
  });

  test.each(Object.entries(CREDENTIALS))(
    `60 kB of credentials keep the event loop for at most ${MAX_BLOCK_MS} ms: %s`,
    async (_, authorization) => {
      const ms = await server.longestBlock(async () => {
        expect((await server.fetch('/frames', { headers: { authorization } })).status).toBe(401);
      });
      expect(ms).toBeLessThanOrEqual(MAX_BLOCK_MS);
    },
  );

  test.each([
    ['of a caller', bearer(caller.token), 201],
    ['of a stranger', bearer(`${caller.token}x`), 401],
  ])(`a long valid JSON body %s keeps it for at most ${MAX_BLOCK_MS} ms`, async (_, authorization, expected) => {
    const body = JSON.stringify({ sql: `select '${'a'.repeat(900_000)}'` });
    const headers = { ...JSON_TYPE, authorization };
    const ms = await server.longestBlock(async () => {
      expect((await server.fetch('/frames', { method: 'POST', headers, body })).status).toBe(expected);
    });
    expect(ms).toBeLessThanOrEqual(MAX_BLOCK_MS);
  });
});
