import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import type { QueryResult } from '@svc/frames';
import { expect, test } from 'vitest';
import { callOf, createSqlFixture, rowsOf } from '../../src/testing/sql-fixture.ts';

/** The files of batches that this process has open; only where the system has /proc. */
function batchFiles(): string[] {
  return readdirSync('/proc/self/fd')
    .map(linkOf)
    .filter((link) => link.includes('svc-batches-'));
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // The one that the folder was read with.
    return '';
  }
}

async function readOne({ batches }: QueryResult): Promise<void> {
  for await (const batch of batches) {
    expect(batch.numRows).toBeGreaterThan(0);
    return;
  }
}

test.runIf(existsSync('/proc/self/fd')).each<[string, (answer: QueryResult) => Promise<void> | void]>([
  ['is left after its first batch', readOne],
  ['is closed unread', (answer) => answer.close()],
])('an answer that %s when all of it has come leaves no batch in a file', async (_, leave) => {
  const fixture = await createSqlFixture({ maxConcurrent: 1 });
  try {
    const answer = await fixture.engine.query(callOf(), 'FROM range(200000)');
    // Its turn comes when everything has come of the one before.
    expect(await rowsOf(fixture.engine, 'SELECT 1')).toEqual([[1]]);
    expect(batchFiles()).not.toEqual([]);
    await leave(answer);
  } finally {
    await fixture.close();
  }
  expect(batchFiles()).toEqual([]);
});
