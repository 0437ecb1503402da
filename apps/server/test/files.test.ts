import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromArrays, tableFromIPC, tableToIPC } from 'apache-arrow';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { sendRaw, type ServerProcess, sharedProcess, startProcess } from './server-process.ts';

let server: ServerProcess;

beforeEach(async () => {
  server = await sharedProcess();
  await putTrades('trades', 3);
});

/** Puts a frame of noise: its file has about eight bytes for each row. */
async function putTrades(handle: string, rows: number): Promise<void> {
  const x = Float64Array.from({ length: rows }, (_, i) => Math.sin(i));
  const body = new Uint8Array(tableToIPC(tableFromArrays({ x }), 'stream'));
  const put = await server.fetch(`/frames/${handle}?fmt=arrow`, { method: 'PUT', body });
  expect(put.ok).toBe(true);
}

async function get(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; bytes: Buffer }> {
  const response = await server.fetch(path, { headers });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

const FILES = [
  ['/files/trades.parquet', 'application/vnd.apache.parquet', 'trades.parquet'],
  ['/exp?handle=trades&fmt=parquet', 'application/vnd.apache.parquet', 'trades.parquet'],
  ['/files/trades.arrow', 'application/vnd.apache.arrow.file', 'trades.arrow'],
] as const;

describe.each(FILES)('%s', (path, contentType, fileName) => {
  test('has a length and an etag, is never compressed, and HEAD has the same headers', { tags: ['slow'] }, async () => {
    const whole = await get(path, { 'accept-encoding': 'gzip' });
    const expected = {
      'accept-ranges': 'bytes',
      'content-disposition': `attachment; filename="${fileName}"`,
      'content-length': String(whole.bytes.length),
      'content-type': contentType,
      etag: expect.stringMatching(/^"[0-9A-Z]{26}(\.[0-9a-f]{8})?"$/),
      'x-total-count': '3',
    };
    expect([whole.status, Object.fromEntries(whole.headers)]).toMatchObject([200, expected]);
    expect(whole.headers.get('content-encoding')).toBeNull();
    const head = await server.fetch(path, { method: 'HEAD', headers: { range: 'bytes=0-1' } });
    const etag = whole.headers.get('etag');
    expect([head.status, Object.fromEntries(head.headers)]).toMatchObject([200, { ...expected, etag }]);
  });

  test('is sent in ranges', async () => {
    const { bytes, headers } = await get(path);
    const n = bytes.length;
    const table: [range: string, status: number, start: number, end: number][] = [
      ['bytes=0-', 206, 0, n],
      ['bytes=0-0', 206, 0, 1],
      [`bytes=5-${n + 100}`, 206, 5, n],
      [`bytes=${n - 1}-`, 206, n - 1, n],
      ['bytes=-8', 206, n - 8, n],
      [`bytes=-${n + 1}`, 206, 0, n],
      ['bytes=9-3', 200, 0, n],
      ['bytes=0-1,4-5', 200, 0, n],
      ['rows=0-1', 200, 0, n],
    ];
    for (const [range, status, start, end] of table) {
      const part = await get(path, { range });
      expect([part.status, part.headers.get('content-range')], range).toEqual([
        status,
        status === 206 ? `bytes ${start}-${end - 1}/${n}` : null,
      ]);
      expect(part.bytes.equals(bytes.subarray(start, end)), range).toBe(true);
      expect(part.headers.get('content-length'), range).toBe(String(end - start));
      expect(part.headers.get('etag'), range).toBe(headers.get('etag'));
    }
  });

  test('a range beyond its end is 416 with its length', async () => {
    const n = (await get(path)).bytes.length;
    for (const range of [`bytes=${n}-`, 'bytes=-0']) {
      const { status, headers, bytes } = await get(path, { range });
      expect([status, headers.get('content-range')]).toEqual([416, `bytes */${n}`]);
      expect(JSON.parse(bytes.toString())).toMatchObject({ code: 'range_not_satisfiable' });
    }
  });

  test('If-None-Match is 304; a client that returns after a replace gets 412 or the new file', async () => {
    const etag = (await get(path)).headers.get('etag') ?? '';
    const unchanged = await get(path, { 'if-none-match': etag });
    expect([unchanged.status, unchanged.headers.get('etag'), unchanged.bytes.length]).toEqual([304, etag, 0]);
    const range = 'bytes=4-7';
    expect((await get(path, { range, 'if-match': etag, 'if-range': etag })).status).toBe(206);
    await putTrades('trades', 4);
    const refused = await get(path, { range, 'if-match': etag });
    expect([refused.status, JSON.parse(refused.bytes.toString())]).toMatchObject([
      412,
      { code: 'precondition_failed' },
    ]);
    const whole = await get(path, { range, 'if-range': etag });
    expect([whole.status, whole.headers.get('x-total-count')]).toEqual([200, '4']);
    expect((await get(path, { 'if-none-match': etag })).status).toBe(200);
  });
});

test('the etag of any file of a frame is a condition of a put', async () => {
  const etag = (await get('/files/trades.arrow')).headers.get('etag') ?? '';
  const put = (): Promise<Response> => server.put('trades', [{ x: 1 }], { headers: { 'if-match': etag } });
  expect([(await put()).status, (await put()).status]).toEqual([200, 409]);
});

describe('a text file', () => {
  test.each(['gzip', 'identity'])('with If-Match of another version is 412 (%s)', async (coding) => {
    await putTrades('versions', 3);
    const headers = { 'if-match': '"00000000000000000000000000"', 'accept-encoding': coding };
    for (const format of ['csv', 'ndjson']) {
      const { status, bytes } = await get(`/files/versions.${format}`, headers);
      expect([status, JSON.parse(bytes.toString())]).toMatchObject([412, { code: 'precondition_failed' }]);
      expect((await get(`/files/versions.${format}`, { ...headers, 'if-match': '*' })).status).toBe(200);
    }
  });

  const TEXT = 'x\r\n0\r\n0.8414709848078965\r\n0.9092974268256817\r\n';

  test('is streamed, and has a length and ranges for clients that ask for them', async () => {
    const whole = await get('/files/trades.csv');
    expect([whole.status, whole.bytes.toString()]).toEqual([200, TEXT]);
    expect(whole.headers.get('accept-ranges')).toBe('bytes');
    const head = await server.fetch('/files/trades.csv', { method: 'HEAD' });
    expect(Object.fromEntries(head.headers)).toMatchObject({
      'content-length': String(TEXT.length),
      'content-type': 'text/csv; charset=utf-8; header=present',
      etag: whole.headers.get('etag'),
    });
    await putTrades('long', 20_000);
    const streamed = await get('/files/long.csv', { 'accept-encoding': 'identity' });
    expect(streamed.headers.get('content-length')).toBeNull();
    await server.fetch('/files/long.csv', { method: 'HEAD' });
    const kept = await get('/files/long.csv', { 'accept-encoding': 'identity' });
    expect(kept.headers.get('content-length')).toBe(String(streamed.bytes.length));
    expect(kept.bytes.equals(streamed.bytes)).toBe(true);
    const part = await get('/files/trades.csv', { range: 'bytes=6-', 'accept-encoding': 'gzip' });
    expect([part.status, part.bytes.toString()]).toEqual([206, TEXT.slice(6)]);
    const line = await get('/files/trades.ndjson', { range: 'bytes=-4' });
    expect([line.status, line.bytes.toString()]).toEqual([206, '17}\n']);
  });

  test('is compressed if the client accepts that and wants no range', async () => {
    await putTrades('long', 1000);
    const packed = await get('/files/long.csv', { 'accept-encoding': 'gzip' });
    expect(packed.headers.get('content-encoding')).toBe('gzip');
  });
});

test.each<[method: string, path: string, status: number, code: string]>([
  ['GET', '/files/nope.parquet', 404, 'handle_not_found'],
  ['GET', '/files/nope.csv', 404, 'handle_not_found'],
  ['GET', '/files/Trades.arrow', 404, 'handle_not_found'],
  ['GET', '/files/.parquet', 404, 'handle_not_found'],
  ['GET', '/files/trades', 404, 'route_not_found'],
  ['GET', '/files/trades.xlsx', 404, 'route_not_found'],
  ['GET', '/files/trades.PARQUET', 404, 'route_not_found'],
  ['GET', '/files/trades%zz.csv', 400, 'invalid_argument'],
  ['GET', '/files/trades.csv?limit=5', 400, 'invalid_argument'],
  ['GET', '/files/trades.parquet?cols=x', 400, 'invalid_argument'],
  ['PUT', '/files/trades.csv', 405, 'method_not_allowed'],
])('%s %s is %i', async (method, path, status, code) => {
  const response = await server.fetch(path, { method });
  expect([response.status, await response.json()]).toMatchObject([status, { code }]);
});

test('a handle may have dots', async () => {
  await putTrades('a.b.csv', 2);
  expect(tableFromIPC((await get('/files/a.b.csv.arrow')).bytes).numRows).toBe(2);
});

/** The open files of frames and exports. */
function openFiles(): string[] {
  const folder = `/proc/${server.child.pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      const target = readlinkSync(`${folder}/${fd}`);
      return /@[0-9A-Z]{26}|svc-export-/.test(target) ? [target] : [];
    } catch {
      return [];
    }
  });
}

describe('a client that does not read', () => {
  /** Far more than the sockets buffer. */
  const ROWS = 3_000_000;

  test.each(['parquet', 'arrow'])(
    'finishes the %s file of the version it began with',
    { tags: ['slow'] },
    async (format) => {
      await putTrades('large', ROWS);
      const begun = await server.fetch(`/files/large.${format}`);
      await putTrades('large', 2);
      await server.fetch('/frames/large', { method: 'DELETE' });
      const bytes = Buffer.from(await begun.arrayBuffer());
      expect(bytes.length).toBe(Number(begun.headers.get('content-length')));
      if (format === 'arrow') expect(tableFromIPC(bytes).numRows).toBe(ROWS);
      else expect(bytes.toString('latin1', bytes.length - 4)).toBe('PAR1');
      if (process.platform === 'linux') await expect.poll(openFiles).toEqual([]);
    },
  );

  test('and disconnects leaves no open file', { tags: ['slow'] }, async () => {
    await putTrades('large', ROWS);
    for (const path of ['/files/large.parquet', '/files/large.arrow', '/exp?handle=large&fmt=parquet']) {
      for (let i = 0; i < 5; i++) {
        await new Promise<void>((resolve) => {
          const sent = request(`${server.url}${path}`, { headers: { range: 'bytes=1-' } }, (response) => {
            response.destroy();
            resolve();
          });
          sent.end();
        });
      }
    }
    await server.fetch('/frames/large', { method: 'DELETE' });
    if (process.platform === 'linux') await expect.poll(openFiles).toEqual([]);
  });
});

test('pipelined ranges arrive in order', async () => {
  const head = (range: string, connection = 'keep-alive'): string =>
    `GET /files/trades.parquet HTTP/1.1\r\nHost: localhost\r\nRange: bytes=${range}\r\nConnection: ${connection}\r\n\r\n`;
  const text = await sendRaw(server.port, head('0-3') + head('-4') + head('0-1', 'close'));
  expect(text.match(/\r\n\r\n(PAR1|PA)(?=HTTP|$)/g)).toEqual(['\r\n\r\nPAR1', '\r\n\r\nPAR1', '\r\n\r\nPA']);
});

test('a server that is killed while it encodes leaves nothing after the next start', { tags: ['slow'] }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const start = (): Promise<ServerProcess> =>
    startProcess({ args: ['--data-dir', join(folder, 'data')], env: { TMPDIR: folder } });
  const exports = (): string[] =>
    readdirSync(folder, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.csv'));
  server = await start();
  await putTrades('large', 3_000_000);
  const cut = server.fetch('/files/large.csv', { method: 'HEAD' }).catch(() => 'cut');
  await expect.poll(exports, { interval: 5 }).toHaveLength(1);
  server.child.kill('SIGKILL');
  expect(await cut).toBe('cut');
  expect(exports()).toHaveLength(1);
  await server.exited;
  server = await start();
  await expect.poll(exports, { timeout: 10_000 }).toEqual([]);
  const whole = await get('/files/large.csv');
  expect(whole.bytes.toString('latin1').split('\r\n')).toHaveLength(3_000_002);
});
