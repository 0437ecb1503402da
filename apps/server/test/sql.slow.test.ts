import { describe, expect, test } from 'vitest';
import { ENDLESS } from './sql-clients.ts';
import { ask, startWithTrades, target } from './trades.ts';

describe('the limits of SQL', () => {
  test('sql.timeout_ms ends a query, and the next one is answered', async () => {
    const server = await startWithTrades({ env: { SERVICE_SQL_TIMEOUT_MS: '3000' } });
    expect(await ask(server, ENDLESS)).toMatchObject([
      504,
      { code: 'deadline_exceeded', hint: expect.stringContaining('sql.timeout_ms') },
    ]);
    expect(await ask(server, 'select 1')).toEqual([[1]]);
  });

  test('a short query is answered while long ones occupy the engines', async () => {
    const server = await startWithTrades({ env: { SERVICE_SQL_MAX_CONCURRENT: '2' } });
    const leaving = new AbortController();
    const busy = Array.from({ length: 5 }, () =>
      server.fetch(target('/exec', ENDLESS), { signal: leaving.signal }).catch((error: unknown) => error),
    );
    for (let i = 0; i < 3; i++) expect(await ask(server, 'select count(*) from trades')).toEqual([[100]]);
    leaving.abort();
    for (const left of await Promise.all(busy)) expect(left).toBeInstanceOf(Error);
  });

  test('frames and /ping are answered while every engine is busy', async () => {
    const server = await startWithTrades({ env: { SERVICE_SQL_MAX_CONCURRENT: '2', SERVICE_SQL_TIMEOUT_MS: '3000' } });
    const busy = Array.from({ length: 8 }, () => ask(server, ENDLESS));
    for (let i = 0; i < 20; i++) {
      expect((await server.fetch('/ping')).status).toBe(200);
      expect((await server.fetch('/exec?handle=trades&fmt=json')).status).toBe(200);
    }
    for (const answer of await Promise.all(busy)) expect(answer).toMatchObject([504, { code: 'deadline_exceeded' }]);
  });
});
