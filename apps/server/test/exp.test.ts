import { tableFromArrays, tableFromIPC, tableToIPC } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { sharedProcess, startProcess } from './server-process.ts';
import { startUpstream } from './upstream.ts';

const TRADES = [
  { id: 1, price: 10.5, symbol: 'AB', tags: [1, 2] },
  { id: 2, price: null, symbol: 'C,"D', tags: null },
  { id: 9007199254740991, price: 9.25, symbol: '', tags: [] },
];

describe('GET /exp?handle=', () => {
  test('fmt=arrow is an IPC stream that has every row', async () => {
    const server = await sharedProcess();
    await server.put('trades', TRADES);
    const response = await server.fetch('/exp?handle=trades&fmt=arrow&cols=symbol,id');
    expect(response.headers.get('content-type')).toBe('application/vnd.apache.arrow.stream');
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="trades.arrows"');
    const table = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
    expect(table.toArray().map((row) => row.toJSON())).toEqual([
      { symbol: 'AB', id: 1n },
      { symbol: 'C,"D', id: 2n },
      { symbol: '', id: 9007199254740991n },
    ]);
  });

  test('an export is complete: there is no default limit', async () => {
    const server = await sharedProcess();
    await server.put(
      'many',
      Array.from({ length: 1500 }, (_, id) => ({ id })),
    );
    const lines = (await (await server.fetch('/exp?handle=many')).text()).split('\r\n');
    expect(lines).toEqual(['id', ...Array.from({ length: 1500 }, (_, id) => String(id)), '']);
  });

  test('a frame larger than the cache is complete and correct for concurrent readers', { tags: ['slow'] }, async () => {
    const server = await startProcess({ args: ['--cache-size', '0.001'] });
    const x = Float64Array.from({ length: 400_000 }, (_, i) => Math.sin(i));
    const body = new Uint8Array(tableToIPC(tableFromArrays({ x }), 'stream'));
    await server.fetch('/frames/large?fmt=arrow', { method: 'PUT', body });
    const paths = [0, 1, 5000, 399_990].flatMap((skipped) =>
      ['handle=large', `engine=local&query=${encodeURIComponent('FROM large')}`].flatMap((source) =>
        ['identity', 'gzip'].map((encoding) => ({ skipped, source, encoding })),
      ),
    );
    const read = await Promise.all(
      paths.map(async ({ skipped, source, encoding }) => {
        const path = `/exp?${source}&fmt=arrow&limit=${skipped + 1},`;
        const response = await server.fetch(path, { headers: { 'accept-encoding': encoding } });
        const values = tableFromIPC(new Uint8Array(await response.arrayBuffer()))
          .getChild('x')
          ?.toArray();
        return Buffer.compare(Buffer.from(values.slice().buffer), Buffer.from(x.slice(skipped).buffer));
      }),
    );
    expect(read).toEqual(paths.map(() => 0));
  });

  test('exported frames can be put again', async () => {
    const server = await sharedProcess();
    await server.put('trades', TRADES);
    for (const [fmt, type] of [
      ['ndjson', 'application/x-ndjson'],
      ['arrow', 'application/vnd.apache.arrow.stream'],
    ]) {
      const body = await (await server.fetch(`/exp?handle=trades&fmt=${fmt}`)).arrayBuffer();
      const put = await server.fetch(`/frames/${fmt}`, { method: 'PUT', body, headers: { 'content-type': type } });
      expect(put.status).toBe(201);
      const [before, after] = await Promise.all(
        ['trades', fmt].map(async (handle) => (await server.fetch(`/exec?handle=${handle}&fmt=json`)).json()),
      );
      expect(after).toEqual({ ...(before as object), query: `handle:${fmt}` });
    }
  });

  test('fmt=parquet is a Parquet file, as it is for a client that takes gzip', async () => {
    const server = await sharedProcess();
    await server.put('trades', TRADES);
    const headers = { 'accept-encoding': 'gzip' };
    const response = await server.fetch('/exp?handle=trades&fmt=parquet', { headers });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/vnd.apache.parquet',
      'content-disposition': 'attachment; filename="trades.parquet"',
      'x-total-count': '3',
    });
    expect(response.headers.has('content-encoding')).toBe(false);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect([bytes.toString('latin1', 0, 4), bytes.toString('latin1', bytes.length - 4)]).toEqual(['PAR1', 'PAR1']);
    const head = await server.fetch('/exp?handle=trades&fmt=parquet', { method: 'HEAD', headers });
    expect([head.status, head.headers.get('etag')]).toEqual([200, response.headers.get('etag')]);
    const known = { 'if-none-match': head.headers.get('etag') ?? '' };
    expect((await server.fetch('/exp?handle=trades&fmt=parquet', { headers: known })).status).toBe(304);
  });

  test('HEAD, 304, gzip and the limit of rows work as for /exec', { tags: ['slow'] }, async () => {
    const server = await startProcess({ toml: '[http]\nmax_rows = 2\n' });
    await server.put('trades', TRADES);
    const head = await server.fetch('/exp?handle=trades&limit=1', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const etag = head.headers.get('etag') ?? '';
    const again = await server.fetch('/exp?handle=trades&limit=1', { headers: { 'if-none-match': etag } });
    expect(again.status).toBe(304);
    const whole = await server.fetch('/exp?handle=trades');
    expect([whole.status, await whole.json()]).toMatchObject([400, { error: expect.stringContaining('3 rows') }]);
    await server.put('wide', [{ text: 'x'.repeat(5000) }]);
    const packed = await server.fetch('/exp?handle=wide', { headers: { 'accept-encoding': 'gzip' } });
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect(await packed.text()).toBe(`text\r\n${'x'.repeat(5000)}\r\n`);
  });
});

describe('with a time-series database', () => {
  test(
    '/exp and /chk forward every parameter but engine, and return the response unchanged',
    { tags: ['slow'] },
    async () => {
      const upstream = await startUpstream((request, response) => {
        response.setHeader('content-type', 'text/csv');
        response.setHeader('content-disposition', 'attachment; filename="questdb.csv"');
        response.end(request.url);
      });
      const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: upstream.url } });
      const exported = await server.fetch('/exp?limit=a&query=select%201&engine=tsdb&fmt=parquet&limit=b');
      expect(await exported.text()).toBe('/exp?limit=a&query=select%201&fmt=parquet&limit=b');
      expect(exported.headers.get('content-disposition')).toBe('attachment; filename="questdb.csv"');
      expect(await (await server.fetch('/chk?f=json&j=trades&engine=tsdb')).text()).toBe('/chk?f=json&j=trades');
      const posted = await server.fetch('/exp?fmt=csv', {
        method: 'POST',
        body: 'select 2',
        headers: { 'content-type': 'application/sql' },
      });
      expect(await posted.text()).toBe('/exp?fmt=csv&query=select%202');
    },
  );

  test('HEAD never reaches it', async () => {
    const upstream = await startUpstream((_request, response) => void response.end());
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: upstream.url } });
    for (const path of ['/exp?query=x', '/chk']) {
      expect((await server.fetch(path, { method: 'HEAD' })).status).toBe(405);
    }
    expect(upstream.requests).toEqual([]);
  });
});

test('/chk without a database is 412', async () => {
  const response = await (await sharedProcess()).fetch('/chk?f=json');
  expect([response.status, await response.json()]).toMatchObject([412, { code: 'tsdb_not_configured' }]);
});
