import { describe, expect, test } from 'vitest';
import { type ServerProcess, sharedProcess } from './server-process.ts';

const NDJSON = { 'content-type': 'application/x-ndjson' };

interface Answer {
  readonly status: number;
  readonly code?: string;
  readonly error?: string;
  readonly rows?: number;
}

async function send(server: ServerProcess, method: 'PUT' | 'POST', path: string, body: string): Promise<Answer> {
  const response = await server.fetch(`/frames/${path}`, { method, body, headers: NDJSON });
  return { status: response.status, ...((await response.json()) as object) };
}

async function tableOf(server: ServerProcess, handle: string): Promise<{ columns: unknown; dataset: unknown[] }> {
  return (await (await server.fetch(`/exec?handle=${handle}&fmt=json`)).json()) as {
    columns: unknown;
    dataset: unknown[];
  };
}

/** A column of every type that a store can hold, with a value. */
const TYPES_SQL = `SELECT true AS b, 1::TINYINT AS i8, 2::SMALLINT AS i16, 3::INTEGER AS i32, 9007199254740993::BIGINT AS i64,
  1::UTINYINT AS u8, 18446744073709551615::UBIGINT AS u64, 170141183460469231731687303715884105727::HUGEINT AS i128,
  0.1::FLOAT AS f32, 0.1::DOUBLE AS f64, 1.10::DECIMAL(18,2) AS dec, 'x' AS s, DATE '2024-01-02' AS d,
  TIMESTAMP '2024-01-02 03:04:05.678901' AS ts, TIMESTAMP_NS '2024-01-02 03:04:05.678901234' AS ns,
  TIMESTAMPTZ '2024-01-02 03:04:05.678901Z' AS tz, TIME '03:04:05.678901' AS t,
  '01234567-89ab-cdef-0123-456789abcdef'::UUID AS u, '\\xAA\\x00'::BLOB AS bin, INTERVAL '1 year 2 days 3.5 seconds' AS iv,
  [1, NULL, 3] AS l, [TIMESTAMP '2024-01-02 03:04:05'] AS lt, {'a': 1, 'b': DATE '2024-01-02'} AS st,
  MAP {'k': TIME '01:02:03'} AS m, [1.5, 2.5]::DOUBLE[2] AS fx`;

describe('JSON rows appended to a frame', () => {
  test('are read as its types, so that what the server writes can be appended', async () => {
    const server = await sharedProcess();
    const kept = await server.fetch('/frames', {
      method: 'POST',
      body: JSON.stringify({ sql: TYPES_SQL, engine: 'local', handle: 'typed' }),
      headers: { 'content-type': 'application/json' },
    });
    expect(await kept.json()).toMatchObject({ rows: 1 });
    for (const query of ['', '&quoteLargeNum=true']) {
      const rows = await (await server.fetch(`/exp?handle=typed&fmt=ndjson&limit=1${query}`)).text();
      expect((await send(server, 'POST', 'typed', rows)).error).toBeUndefined();
    }
    expect(await send(server, 'POST', 'typed', '{"ts":"2024-01-02T05:04:05.678901+02:00"}\n')).toMatchObject({
      rows: 4,
    });
    const { dataset } = await tableOf(server, 'typed');
    expect(dataset[1]).toEqual(dataset[0]);
    expect(dataset[2]).toEqual(dataset[0]);
    expect(dataset[3]).toContain('2024-01-02T03:04:05.678901Z');
  });

  test('are all or nothing: a value that does not fit is 400 with row and column', async () => {
    const server = await sharedProcess();
    await send(server, 'PUT', 'strict?columns=id:LONG,at:TIMESTAMP', '{"id":1,"at":"2024-01-02"}\n');
    const cases = [
      ['{"id":2}\n{"id":2.75}\n', 'Row 2, column "id": 2.75 is not exactly a LONG.'],
      ['{"id":2}\n{"at":"yesterday"}\n', 'Row 2, column "at": "yesterday" is not exactly a TIMESTAMP.'],
      ['{"id":2}\n{"other":2}\n', /^Row 2: the key "other" is not expected here/],
    ] as const;
    for (const [body, error] of cases) {
      const answer = await send(server, 'POST', 'strict', body);
      expect(answer).toMatchObject({ status: 400, code: 'invalid_data' });
      expect(answer.error).toEqual(typeof error === 'string' ? error : expect.stringMatching(error));
    }
    expect((await tableOf(server, 'strict')).dataset).toEqual([[1, '2024-01-02T00:00:00.000000Z']]);
  });
});

describe('columns=', () => {
  test('gives the names and types of JSON and NDJSON', async () => {
    const server = await sharedProcess();
    const columns = 'px:DECIMAL(18,4),at:TIMESTAMP,note,id:ULONG';
    const put = await server.fetch(`/frames/declared?fmt=json&columns=${columns}`, {
      method: 'PUT',
      body: '[{"id":"18446744073709551615","px":1.5},{"at":"2024-01-02T03:04:05Z","px":"2.0001","note":7}]',
    });
    expect(put.status).toBe(201);
    const { columns: found, dataset } = await tableOf(server, 'declared');
    expect(found).toEqual([
      { name: 'px', type: 'DECIMAL(18,4)' },
      { name: 'at', type: 'TIMESTAMP' },
      { name: 'note', type: 'LONG' },
      { name: 'id', type: 'ULONG' },
    ]);
    expect(dataset[1]).toEqual(['2.0001', '2024-01-02T03:04:05.000000Z', 7, null]);
  });

  test.each([
    ['columns=id:FOO', '{"id":1}', 'Column "id" cannot be declared as "FOO".'],
    ['columns=id:LONG', '{"id":1e30}', 'Row 1, column "id": 1e30 is not exactly a LONG.'],
    ['columns=id:LONG', '{"name":1}', expect.stringContaining('the key "name" is not expected here')],
    ['delimiter=;', '{"id":1}', 'The parameter delimiter does not apply to ndjson.'],
    ['column=id', '{"id":1}', 'There is no parameter "column" of PUT here.'],
  ])('%s with %s is 400', async (query, body, error) => {
    const server = await sharedProcess();
    expect(await send(server, 'PUT', `refused?${query}`, body)).toMatchObject({ status: 400, error });
  });
});
