import { parseHandle, streamFromTable } from '@svc/frames';
import { Table, vectorFromArray, Int32 } from 'apache-arrow';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSqlFixture, type SqlFixture } from '../../src/testing/sql-fixture.ts';

const RESULTS = 30;
const VERSIONS = 30;

let fixture: SqlFixture;

beforeAll(async () => {
  fixture = await createSqlFixture();
});

afterAll(() => fixture.close());

/** Stores a frame whose number of rows and values depend on its version. */
async function put(version: number): Promise<void> {
  const values = vectorFromArray(
    Array.from({ length: 1 + (version % 50) }, () => version),
    new Int32(),
  );
  await fixture.store.put(
    { tenant: 'default', handle: parseHandle('changing') },
    streamFromTable(new Table({ v: values })),
  );
}

test(
  'a statement that reads a frame twice sees one version while the frame is replaced continuously',
  { timeout: 60_000 },
  async () => {
    await put(0);
    let version = 0;
    const seen: number[] = [];
    const isEnough = (): boolean => seen.length >= RESULTS && version >= VERSIONS && new Set(seen).size > 5;
    async function replace(): Promise<void> {
      while (!isEnough()) await put(++version);
    }
    async function ask(): Promise<void> {
      while (!isEnough()) {
        const sql =
          'SELECT min(a.v), max(a.v), min(b.v), max(b.v), count(*)::INTEGER FROM changing a, changing b WHERE a.v >= b.v OR true';
        const [[min, max, otherMin, otherMax, count] = []] = await fixture.rows(sql);
        expect([max, otherMin, otherMax]).toEqual([min, min, min]);
        expect(count).toBe((1 + (Number(min) % 50)) ** 2);
        seen.push(Number(min));
      }
    }
    // Each statement must see the newest version: otherwise this would not end.
    await Promise.all([replace(), ask()]);
  },
);
