import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import type { QueryResult } from '@svc/frames';
import { expect, test } from 'vitest';
import { callOf, createSqlFixture, rowsOf } from '../../src/testing/sql-fixture.ts';

/** The batch files that this process has open. Needs /proc. */
function batchFiles(): string[] {
  return readdirSync('/proc/self/fd')
    .map(linkOf)
    .filter((link) => link.includes('svc-batches-'));
}

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // The descriptor of the directory listing itself.
    return '';
  }
}

async function readOne({ batches }: QueryResult): Promise<void> {
  for await (const batch of batches) {
    expect(batch.numRows).toBeGreaterThan(0);
    return;
  }
}

test.runIf(existsSync('/proc/self/fd')).each<[string, (result: QueryResult) => Promise<void> | void]>([
  ['is abandoned after its first batch', readOne],
  ['is closed unread', (result) => result.close()],
])('a result that has fully arrived and %s leaves no batch in a file', async (_, leave) => {
  const fixture = await createSqlFixture({ maxConcurrent: 1 });
  try {
    const result = await fixture.engine.query(callOf(), 'FROM range(200000)');
    // It gets the slot when the result before it has fully arrived.
    expect(await rowsOf(fixture.engine, 'SELECT 1')).toEqual([[1]]);
    expect(batchFiles()).not.toEqual([]);
    await leave(result);
  } finally {
    await fixture.close();
  }
  expect(batchFiles()).toEqual([]);
});
