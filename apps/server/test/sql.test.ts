import { describe, expect, test } from 'vitest';
import { ENDLESS } from './sql-clients.ts';
import { ask, startWithTrades, target } from './trades.ts';

describe('SQL over frames', () => {
  test('queries frames as tables, in every format, with parameters', async () => {
    const server = await startWithTrades();
    await server.put('my-frame.v2', [{ id: 2, name: 'two' }]);
    expect(
      await ask(server, 'select symbol, count(*) n from trades where id < $1 group by 1 order by 1', { param: '10' }),
    ).toEqual([
      ['AB', 5],
      ['CD', 5],
    ]);
    expect(await ask(server, 'select name, price from trades join "my-frame.v2" using (id)')).toEqual([['two', 0.5]]);
    expect(await ask(server, 'show tables')).toEqual([['my-frame.v2'], ['trades']]);
    expect(
      await ask(server, "select column_name, data_type from information_schema.columns where table_name = 'trades'"),
    ).toEqual([
      ['id', 'BIGINT'],
      ['symbol', 'VARCHAR'],
      ['price', 'DOUBLE'],
    ]);
    const texts = await Promise.all(
      ['csv', 'ndjson'].map(async (fmt) =>
        (await server.fetch(target('/exp', 'select 1 as a, null as b', { fmt }))).text(),
      ),
    );
    expect(texts).toEqual(['a,b\r\n1,\r\n', '{"a":1,"b":null}\n']);
    const parquet = Buffer.from(
      await (await server.fetch(target('/exp', 'from trades', { fmt: 'parquet' }))).arrayBuffer(),
    );
    expect([parquet.toString('latin1', 0, 4), parquet.toString('latin1', parquet.length - 4)]).toEqual([
      'PAR1',
      'PAR1',
    ]);
  });

  test('is the engine of a query without one, if configured', { tags: ['slow'] }, async () => {
    const server = await startWithTrades({ env: { SERVICE_SQL_DEFAULT_ENGINE: 'local' } });
    const response = await server.fetch('/exec?query=select%20max(id)%20from%20trades&fmt=json');
    expect(await response.json()).toMatchObject({ dataset: [[99]] });
  });

  test('errors have a code and a position', async () => {
    const server = await startWithTrades();
    expect(await ask(server, 'select nope from trades')).toMatchObject([400, { code: 'invalid_sql', position: 7 }]);
    expect(await ask(server, 'select 1; select 2')).toMatchObject([400, { code: 'invalid_sql' }]);
    expect(await ask(server, "select * from read_text('/etc/passwd')")).toMatchObject([
      403,
      { code: 'permission_denied' },
    ]);
    expect(await ask(server, 'drop table trades')).toMatchObject([403, { code: 'permission_denied' }]);
    const response = await server.fetch('/exec?query=select+1&engine=scheduler&fmt=json');
    expect([response.status, await response.json()]).toMatchObject([412, { code: 'scheduler_not_configured' }]);
  });

  test('POST /frames saves a query result as an ordinary frame', async () => {
    const server = await startWithTrades();
    const kept = await server.fetch('/frames', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sql: 'select symbol, max(price) top from trades group by 1', handle: 'tops', ttl: 60 }),
    });
    expect([kept.status, kept.headers.get('location')]).toEqual([201, '/frames/tops']);
    expect(await ask(server, 'select * from tops order by symbol')).toEqual([
      ['AB', 24.5],
      ['CD', 24.75],
    ]);
  });

  test('a statement sees one version of a frame despite concurrent puts', { tags: ['slow'] }, async () => {
    const server = await startWithTrades();
    const over = new AbortController();
    const writer = (async () => {
      for (let i = 1; !over.signal.aborted; i++)
        await server.put(
          'moving',
          Array.from({ length: 50 }, () => ({ version: i })),
        );
    })();
    await expect.poll(async () => (await server.fetch('/frames/moving')).status).toBe(200);
    for (let i = 0; i < 20; i++) {
      const sql = 'select count(distinct version), count(*) from (from moving union all from moving)';
      expect(await ask(server, sql)).toEqual([[1, 100]]);
    }
    over.abort();
    await writer;
  });
});

describe('the limits of SQL', () => {
  test('sql.memory_gb bounds what a query takes', { tags: ['slow'] }, async () => {
    const server = await startWithTrades({ env: { SERVICE_SQL_MEMORY_GB: '0.1' } });
    expect(await ask(server, 'select len(range(1000000000))')).toMatchObject([507, { code: 'out_of_memory' }]);
    expect(await ask(server, 'select 1')).toEqual([[1]]);
  });

  test(
    'sql.max_concurrent run, sql.max_queued wait, one more is 429; a client that leaves makes room',
    { tags: ['slow'] },
    async () => {
      const server = await startWithTrades({ toml: '[sql]\nmax_concurrent = 1\nmax_queued = 1\n' });
      const leaving = new AbortController();
      const running = server
        .fetch(target('/exec', ENDLESS), { signal: leaving.signal })
        .catch((error: unknown) => error);
      await expect
        .poll(async () => {
          const waiting = new AbortController();
          const asked = [0, 1].map(() => server.fetch(target('/exec', 'select 1'), { signal: waiting.signal }));
          const first = await Promise.race(asked);
          waiting.abort();
          await Promise.allSettled(asked);
          return [first.status, first.headers.get('retry-after')];
        })
        .toEqual([429, '1']);
      leaving.abort();
      expect(await running).toBeInstanceOf(Error);
      await expect.poll(() => ask(server, 'select 2')).toEqual([[2]]);
    },
  );
});
