import { describe, expect, test } from 'vitest';
import { sendRaw, sharedProcess, startProcess } from './server-process.ts';

const TRADES = [
  { id: 1, price: 10.5, symbol: 'AB' },
  { id: 2, price: 11, symbol: null },
  { id: 3, price: 9.25, symbol: 'C"D' },
];

describe('GET /exec?handle=', () => {
  test('answers the table of the specification, its keys in order', async () => {
    const server = await sharedProcess();
    await server.put('trades', [{ id: 1 }, { id: 2 }]);
    const response = await server.fetch('/exec?handle=trades&fmt=json&limit=10');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.text()).toBe(
      '{"query":"handle:trades","columns":[{"name":"id","type":"LONG"}],"dataset":[[1],[2]],"count":2}',
    );
  });

  test('limit and cols choose rows and columns; count says how many rows there are', async () => {
    const server = await sharedProcess();
    await server.put('trades', TRADES);
    const dataset = async (params: string): Promise<unknown> => {
      const response = await server.fetch(`/exec?handle=trades&fmt=json&${params}`);
      expect(response.headers.get('x-total-count')).toBe('3');
      const table = (await response.json()) as { dataset: unknown[]; count: number };
      expect(table.count).toBe(table.dataset.length);
      return table.dataset;
    };
    expect(await dataset('')).toEqual([
      [1, 10.5, 'AB'],
      [2, 11, null],
      [3, 9.25, 'C"D'],
    ]);
    expect(await dataset('limit=1')).toEqual([[1, 10.5, 'AB']]);
    expect(await dataset('limit=0')).toEqual([]);
    expect(await dataset('limit=2,3&cols=symbol,id')).toEqual([
      [null, 2],
      ['C"D', 3],
    ]);
    expect(await dataset('limit=3,&cols=id')).toEqual([[3]]);
    expect(await dataset('limit=4,9')).toEqual([]);
    expect(await dataset('cols=id&quoteLargeNum=true&limit=1')).toEqual([['1']]);
  });

  test('without limit there are 1000 rows', async () => {
    const server = await sharedProcess();
    await server.put(
      'many',
      Array.from({ length: 1500 }, (_, id) => ({ id })),
    );
    const response = await server.fetch('/exec?handle=many&fmt=json');
    expect(response.headers.get('x-total-count')).toBe('1500');
    expect(await response.json()).toMatchObject({ count: 1000 });
  });

  test('whole numbers keep every digit on their way through', async () => {
    const server = await sharedProcess();
    await server.fetch('/frames/big', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: '[{"n":9007199254740993},{"n":-9223372036854775808}]',
    });
    const text = await (await server.fetch('/exec?handle=big&fmt=json')).text();
    expect(text).toContain('"dataset":[[9007199254740993],[-9223372036854775808]]');
  });

  test('If-None-Match is 304 until the frame changes', async () => {
    const server = await sharedProcess();
    await server.put('t', [{ id: 1 }]);
    const etag = (await server.fetch('/exec?handle=t&fmt=json')).headers.get('etag') ?? '';
    const again = (): Promise<Response> =>
      server.fetch('/exec?handle=t&fmt=json', { headers: { 'if-none-match': etag } });
    expect((await again()).status).toBe(304);
    await server.put('t', [{ id: 2 }]);
    expect((await again()).status).toBe(200);
  });

  test('HEAD has the headers and no body', async () => {
    const server = await sharedProcess();
    await server.put('t', [{ id: 1 }]);
    const response = await server.fetch('/exec?handle=t&fmt=json', { method: 'HEAD' });
    expect([response.status, response.headers.get('x-total-count'), await response.text()]).toEqual([200, '1', '']);
  });

  test('timings=true adds the nanoseconds of each step', async () => {
    const server = await sharedProcess();
    await server.put('t', [{ id: 1 }]);
    const { timings } = (await (await server.fetch('/exec?handle=t&fmt=json&timings=true')).json()) as {
      timings: object;
    };
    for (const step of ['open', 'encode']) expect(timings).toHaveProperty(step, expect.any(Number));
  });
});

describe('an invalid request is answered with its problem', () => {
  test('status, code and the offending value, for every rule of /exec', async () => {
    const server = await sharedProcess();
    await server.put('t', [{ id: 1 }]);
    const cases: [params: string, status: number, code: string, error: RegExp][] = [
      ['', 400, 'invalid_argument', /Neither handle nor query/],
      ['handle=t&query=select+1&fmt=json', 400, 'invalid_argument', /Both handle and query/],
      ['handle=t&handle=t&fmt=json', 400, 'invalid_argument', /handle is given more than once/],
      ['handle=t', 400, 'invalid_argument', /fmt is missing/],
      ['handle=t&fmt=csv', 400, 'invalid_argument', /fmt="csv"/],
      ...['abc', '-1', '1.5', '', '%202', '1e3', '2,1', String(2n ** 70n)].map(
        (limit): [string, number, string, RegExp] => [
          `handle=t&fmt=json&limit=${limit}`,
          400,
          'invalid_argument',
          new RegExp(`limit="${decodeURIComponent(limit)}"`),
        ],
      ),
      ['handle=t&fmt=json&cols=nope', 400, 'invalid_argument', /no column "nope"/],
      ['handle=t&fmt=json&cols=', 400, 'invalid_argument', /cols=""/],
      ['handle=nope&fmt=json', 404, 'handle_not_found', /"nope"/],
      ['handle=&fmt=json', 404, 'handle_not_found', /""/],
      ['handle=..&fmt=json', 404, 'handle_not_found', /"\.\."/],
      ['handle=a%2Fb&fmt=json', 404, 'handle_not_found', /"a\/b"/],
      ['handle=a%00b&fmt=json', 404, 'handle_not_found', /\\u0000/],
      [`handle=${'x'.repeat(10_000)}&fmt=json`, 404, 'handle_not_found', /"x{80}…"/],
      ['handle=%zz&fmt=json', 400, 'invalid_argument', /broken escape/],
      ['handle=%FF&fmt=json', 400, 'invalid_argument', /not UTF-8/],
      ['query=select+1&fmt=json&engine=nope', 400, 'invalid_argument', /no engine "nope"/],
      ['query=select+1&fmt=json', 412, 'tsdb_not_configured', /No time-series database/],
      ['query=', 412, 'tsdb_not_configured', /No time-series database/],
    ];
    for (const [params, status, code, error] of cases) {
      const response = await server.fetch(`/exec?${params}`);
      expect([params.slice(0, 40), response.status]).toEqual([params.slice(0, 40), status]);
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      const body = (await response.json()) as Record<string, string>;
      expect(body).toMatchObject({ code, error: expect.stringMatching(error), hint: expect.stringMatching(/\.$/) });
      expect(body['requestId']).toBe(response.headers.get('x-request-id'));
    }
  });

  test('the hint of 412 names the variable to set', async () => {
    const server = await sharedProcess();
    const { hint } = (await (await server.fetch('/exec?query=select%201&fmt=json')).json()) as { hint: string };
    expect(hint).toContain('SERVICE_TSDB_HTTP_URL');
  });

  test('UTF-8 that is not percent-encoded is refused', async () => {
    const server = await sharedProcess();
    const answer = await sendRaw(
      server.port,
      Buffer.from('GET /exec?handle=é&fmt=json HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    );
    expect(answer).toMatch(/^HTTP\/1.1 400[^]*"code":"invalid_argument"/);
  });
});

describe('settings of /exec', () => {
  test('http.default_fmt stands for a missing fmt, http.max_rows refuses more', { tags: ['slow'] }, async () => {
    const server = await startProcess({ toml: '[http]\ndefault_fmt = "json"\nmax_rows = 2\n' });
    await server.put('t', [{ id: 1 }, { id: 2 }, { id: 3 }]);
    expect(await (await server.fetch('/exec?handle=t')).json()).toMatchObject({ count: 2 });
    expect((await server.fetch('/exec?handle=t&limit=3')).status).toBe(400);
    expect((await server.fetch('/exec?handle=t&limit=1,')).status).toBe(400);
    expect((await server.fetch('/exec?handle=t&limit=2,')).status).toBe(200);
  });

  test('http.compression = false sends bodies uncompressed', { tags: ['slow'] }, async () => {
    const rows = Array.from({ length: 1000 }, (_, id) => ({ id }));
    for (const [toml, encoding] of [
      ['', 'gzip'],
      ['[http]\ncompression = false\n', null],
    ] as const) {
      const server = await startProcess({ toml });
      await server.put('t', rows);
      const response = await server.fetch('/exec?handle=t&fmt=json', { headers: { 'accept-encoding': 'gzip' } });
      expect(response.headers.get('content-encoding')).toBe(encoding);
      expect(await response.json()).toMatchObject({ count: 1000 });
    }
  });

  test('http.cors_origins allows only pages of that origin to read', async () => {
    const server = await startProcess({ toml: '[http]\ncors_origins = ["https://app.example"]\n' });
    const allowed = async (origin: string): Promise<string | null> =>
      (await server.fetch('/ping', { headers: { origin } })).headers.get('access-control-allow-origin');
    expect(await allowed('https://app.example')).toBe('https://app.example');
    expect(await allowed('https://evil.example')).toBeNull();
    const preflight = await server.fetch('/frames/t', {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'PUT' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT');
    const headers = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'range,if-range' };
    const ranges = await server.fetch('/files/t.parquet', {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', ...headers },
    });
    expect(ranges.headers.get('access-control-allow-headers')).toBe('range,if-range');
    const file = await server.fetch('/files/t.parquet', { headers: { origin: 'https://app.example' } });
    expect(file.headers.get('access-control-expose-headers')).toMatch(/\baccept-ranges\b.*\bcontent-range\b/);
    const plain = await sharedProcess();
    expect(
      (await plain.fetch('/ping', { headers: { origin: 'https://app.example' } })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBeNull();
  });
});
