import { describe, expect, inject, test } from 'vitest';
import { type ServerProcess, startProcess } from '../../apps/server/test/server-process.ts';
import { exec } from './exec.ts';

interface Kept {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function keep(server: ServerProcess, sql: string, handle: string): Promise<Kept> {
  const response = await server.fetch('/frames', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sql, engine: 'tsdb', handle }),
  });
  return { status: response.status, body: (await response.json()) as Kept['body'] };
}

/** For each column: the SQL of its value in the database, the type of the frame's column, and the value in JSON. */
const COLUMNS: Readonly<Record<string, readonly [sql: string, type: string, value: unknown]>> = {
  yes: ['true', 'BOOLEAN', true],
  tiny: ['cast(7 as byte)', 'BYTE', 7],
  small: ['cast(-300 as short)', 'SHORT', -300],
  whole: ['cast(123456 as int)', 'INT', 123_456],
  wide: ['cast(9007199254740991 as long)', 'LONG', 9_007_199_254_740_991],
  single: ['cast(1.5 as float)', 'FLOAT', 1.5],
  double_: ['0.1', 'DOUBLE', 0.1],
  word: ["cast('AB' as symbol)", 'STRING', 'AB'],
  text_: ['\'a "text", é\'', 'STRING', 'a "text", é'],
  at: ["cast('2024-01-02T03:04:05.678901Z' as timestamp)", 'TIMESTAMP', '2024-01-02T03:04:05.678901Z'],
  day: ["cast('2024-01-02T03:04:05.678Z' as date)", 'TIMESTAMP', '2024-01-02T03:04:05.678000Z'],
  key: ["cast('11111111-2222-3333-4444-555555555555' as uuid)", 'UUID', '11111111-2222-3333-4444-555555555555'],
  nothing: ['cast(null as long)', 'LONG', null],
};

describe('a QuestDB result stored as a frame', () => {
  test('has a column type for each type of the database, and the values', async () => {
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: inject('questdbUrl') } });
    const list = Object.entries(COLUMNS).map(([name, [sql]]) => `${sql} ${name}`);
    const { status, body } = await keep(server, `select ${list.join(', ')} from long_sequence(1)`, 'types');
    expect([status, body]).toMatchObject([201, { handle: 'types', rows: 1 }]);
    const answer = await (await server.fetch('/exec?handle=types&fmt=json')).json();
    expect(answer).toMatchObject({
      columns: Object.entries(COLUMNS).map(([name, [, type]]) => ({ name, type })),
      dataset: [Object.values(COLUMNS).map(([, , value]) => value)],
    });
  });

  test('can be joined with other frames, and has all rows of the query', async () => {
    const questdb = inject('questdbUrl');
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: questdb } });
    await exec(
      questdb,
      'create table if not exists kept (at timestamp, id long) timestamp(at) partition by day bypass wal',
    );
    await exec(
      questdb,
      "insert into kept select timestamp_sequence('2024-01-01', 1000000), x from long_sequence(250000)",
    );
    const { status, body } = await keep(server, 'select * from kept', 'kept');
    expect([status, body]).toMatchObject([201, { rows: 250_000 }]);
    await server.put('names', [
      { id: 1, name: 'one' },
      { id: 250_000, name: 'last' },
    ]);
    const sql = 'select name, epoch(kept.at)::bigint as second from kept join names using (id) order by id';
    const response = await server.fetch(`/exec?engine=local&fmt=json&query=${encodeURIComponent(sql)}`);
    expect(await response.json()).toMatchObject({
      dataset: [
        ['one', 1_704_067_200],
        ['last', 1_704_317_199],
      ],
    });
    await exec(questdb, 'drop table kept');
  });

  test.each<[sql: string, status: number, code: string]>([
    ['select nope from long_sequence(1)', 400, 'invalid_sql'],
    ['', 400, 'invalid_sql'],
    ['create table never (id long)', 400, 'invalid_sql'],
  ])('%j keeps nothing', async (sql, status, code) => {
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: inject('questdbUrl') } });
    expect(await keep(server, sql, 'none')).toMatchObject({ status, body: { code } });
    expect((await server.fetch('/frames/none')).status).toBe(404);
  });
});
