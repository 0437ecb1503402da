import { parseHandle, streamFromTable } from '@svc/frames';
import { Table, vectorFromArray, Int32 } from 'apache-arrow';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSqlFixture, type SqlFixture } from '../testing/sql-fixture.ts';

const WATCH_MS = 3000;

let fixture: SqlFixture;

beforeAll(async () => {
  fixture = await createSqlFixture();
});

afterAll(() => fixture.close());

/** A frame of as many rows as its version, each of which says it. */
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

test('a statement that reads a frame twice sees one version while it is replaced as fast as it can be', async () => {
  await put(0);
  const endMs = performance.now() + WATCH_MS;
  let version = 0;
  async function replace(): Promise<void> {
    while (performance.now() < endMs) await put(++version);
  }
  const seen: number[] = [];
  async function ask(): Promise<void> {
    while (performance.now() < endMs) {
      const sql =
        'SELECT min(a.v), max(a.v), min(b.v), max(b.v), count(*)::INTEGER FROM changing a, changing b WHERE a.v >= b.v OR true';
      const [[min, max, otherMin, otherMax, count] = []] = await fixture.rows(sql);
      expect([max, otherMin, otherMax]).toEqual([min, min, min]);
      expect(count).toBe((1 + (Number(min) % 50)) ** 2);
      seen.push(Number(min));
    }
  }
  await Promise.all([replace(), ask(), ask()]);
  expect(seen.length).toBeGreaterThan(10);
  expect(version).toBeGreaterThan(20);
  // Each asks for the newest one.
  expect(new Set(seen).size).toBeGreaterThan(5);
});
