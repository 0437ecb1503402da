import { createMemoryStore } from '@svc/frames';
import { createService, type Service } from '@svc/service';
import type { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createExecApp, type ExecEnv } from '../index.ts';

const TRADES = [
  { id: 1, price: 10.5, symbol: 'AB', tags: [1, 2] },
  { id: 2, price: null, symbol: 'C,"D', tags: null },
  { id: 9007199254740991, price: 9.25, symbol: '', tags: [] },
];

describe('GET /exp?handle=', () => {
  let service: Service;
  let app: Hono<ExecEnv>;

  beforeAll(async () => {
    service = createService({ store: createMemoryStore() });
    app = createExecApp({ service });
    const headers = { 'content-type': 'application/json' };
    await app.request('/frames/trades', { method: 'PUT', body: JSON.stringify(TRADES), headers });
  });
  afterAll(() => service.close());

  test.each<[params: string, contentType: string, fileName: string, body: string]>([
    [
      '',
      'text/csv; charset=utf-8; header=present',
      'trades.csv',
      'id,price,symbol,tags\r\n1,10.5,AB,"[1,2]"\r\n2,,"C,""D",\r\n9007199254740991,9.25,"",[]\r\n',
    ],
    [
      '&fmt=csv&limit=2,3&cols=symbol,id',
      'text/csv; charset=utf-8; header=present',
      'trades.csv',
      'symbol,id\r\n"C,""D",2\r\n"",9007199254740991\r\n',
    ],
    [
      '&fmt=ndjson&limit=2',
      'application/x-ndjson',
      'trades.ndjson',
      '{"id":1,"price":10.5,"symbol":"AB","tags":[1,2]}\n{"id":2,"price":null,"symbol":"C,\\"D","tags":null}\n',
    ],
    ['&fmt=ndjson&cols=id&quoteLargeNum=true&limit=1', 'application/x-ndjson', 'trades.ndjson', '{"id":"1"}\n'],
    ['&fmt=csv&limit=1&cols=id&nm=true', 'text/csv; charset=utf-8; header=absent', 'trades.csv', '1\r\n'],
    ['&fmt=csv&limit=0&cols=id', 'text/csv; charset=utf-8; header=present', 'trades.csv', 'id\r\n'],
  ])('%s', async (params, contentType, fileName, body) => {
    const response = await app.request(`/exp?handle=trades${params}`);
    expect([response.status, await response.text()]).toEqual([200, body]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': contentType,
      'content-disposition': `attachment; filename="${fileName}"`,
      'x-total-count': '3',
      etag: expect.stringMatching(/^"[0-9A-Z]{26}"$/),
    });
  });

  test.each<[params: string, status: number, code: string]>([
    ['handle=nope', 404, 'handle_not_found'],
    ['handle=trades&fmt=json', 400, 'invalid_argument'],
    ['handle=trades&fmt=parquet', 400, 'invalid_argument'],
    ['handle=trades&cols=nope', 400, 'invalid_argument'],
    ['handle=trades&query=x', 400, 'invalid_argument'],
    ['query=x', 412, 'tsdb_not_configured'],
  ])('%s is %i', async (params, status, code) => {
    const response = await app.request(`/exp?${params}`);
    expect([response.status, await response.json()]).toMatchObject([status, { code }]);
  });
});
