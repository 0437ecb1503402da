import { parseHandle, type QueryOptions, type StatementProgress } from '@svc/frames';
import { longFrame } from '@svc/frames/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callOf, createSqlFixture, type SqlFixture } from '../../src/testing/sql-fixture.ts';

const ROWS = 1_000_000;
/** Takes longer than the interval of reports. DuckDB updates the progress every 100 000 rows of a thread. */
const LONG = 'SELECT count(*) FROM long WHERE len(list_sort(range(15 + id % 7))) > 1000';

let fixture: SqlFixture;

beforeAll(async () => {
  fixture = await createSqlFixture();
  await fixture.store.put({ tenant: 'default', handle: parseHandle('long') }, longFrame(ROWS));
});

afterAll(() => fixture.close());

/** Runs a statement until it has reported enough progress, and cancels it then. */
async function progressOf(
  sql: string,
  isEnough: (seen: readonly StatementProgress[]) => boolean,
  options: QueryOptions = {},
): Promise<readonly StatementProgress[]> {
  const seen: StatementProgress[] = [];
  const controller = new AbortController();
  const monitor = {
    queued: () => undefined,
    running: () => undefined,
    progressed(progress: StatementProgress) {
      seen.push(progress);
      if (isEnough(seen)) controller.abort(new Error('seen'));
    },
  };
  const call = callOf('default', controller.signal);
  await expect(fixture.engine.query(call, sql, { ...options, monitor })).rejects.toThrow('The request was cancelled.');
  return seen;
}

describe('progress', () => {
  test('rises while a statement reads frames', async () => {
    const seen = await progressOf(LONG, (all) => new Set(all.map(({ fraction }) => fraction)).size === 2);
    const fractions = seen.map(({ fraction }) => fraction);
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    for (const { fraction, rowsProcessed, rowsTotal } of seen) {
      expect(fraction).toBeGreaterThanOrEqual(0);
      expect(fraction).toBeLessThan(1);
      expect(rowsProcessed).toBeLessThanOrEqual(rowsTotal);
    }
    expect(seen.at(-1)?.rowsTotal).toBeGreaterThanOrEqual(ROWS);
  });

  test('is that of the statement, not of the one before on its connection', { tags: ['slow'] }, async () => {
    await fixture.rows('SELECT max(id) FROM long');
    const [first] = await progressOf(LONG, () => true);
    expect(first?.fraction).toBeLessThan(0.5);
  });

  test('is reported with parameters, too', { tags: ['slow'] }, async () => {
    const [first] = await progressOf(LONG.replace('1000', '?'), () => true, { params: [1000] });
    expect(first?.rowsTotal).toBeGreaterThanOrEqual(ROWS);
  });
});

describe('statements of one child', () => {
  test.each([
    ['a failed one', 'SELECT CAST(id AS TINYINT) FROM long'],
    ['an invalid one', 'SELECT nothing FROM long'],
  ])('run after %s', async (_name, sql) => {
    await expect(fixture.rows(sql)).rejects.toMatchObject({ code: 'invalid_sql' });
    expect(await fixture.rows('SELECT count(*) FROM long')).toEqual([[BigInt(ROWS)]]);
  });

  test('run after one that was left unread, was only described, or has ended', async () => {
    (await fixture.engine.query(callOf(), 'SELECT * FROM long, long AS b')).close();
    await fixture.engine.describe(callOf(), 'SELECT * FROM long');
    for (const _time of [1, 2, 3]) expect(await fixture.rows('SELECT count(*) FROM long')).toEqual([[BigInt(ROWS)]]);
  });
});
