import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { DEADLINE_SETTINGS, FAULT_OUTCOMES } from '../../apps/server/test/fault-outcomes.ts';
import { isInTime, see } from '../../apps/server/test/see-fault.ts';
import { type ServerProcess, startProcess } from '../../apps/server/test/server-process.ts';
import { type FaultRelay, startFaultRelay } from '../../packages/tsdb-proxy/src/testing/fault-relay.ts';
import { residentBytes, socketCount } from '../../tools/process-resources.js';
import { exec, execUrl } from './exec.ts';
import { startQuestdb } from './start-questdb.js';

const INSERTED = '{"dml":"OK"}';
const MIB = 1024 * 1024;
/** A small heap, so that uncollected garbage does not look like a leak. */
const SMALL_HEAP = { NODE_OPTIONS: '--max-old-space-size=40 --max-semi-space-size=1' };

let relay: FaultRelay;
let server: ServerProcess;

beforeAll(async () => {
  const ends: (() => Promise<void>)[] = [];
  relay = await startFaultRelay(inject('questdbUrl'));
  server = await startProcess({
    env: { SERVICE_TSDB_HTTP_URL: relay.url },
    toml: DEADLINE_SETTINGS,
    onEnd: (end) => ends.push(end),
  });
  await createTable(inject('questdbUrl'));
  return async () => {
    for (const end of ends) await end();
    await relay.close();
  };
});

afterEach(() => relay.inject(undefined));

/** Its rows are visible as soon as they are acknowledged. */
async function createTable(url: string): Promise<void> {
  await exec(url, 'drop table if exists inserts');
  await exec(url, 'create table inserts (id long, ts timestamp) timestamp(ts) partition by day bypass wal');
}

function insertUrl(url: string, id: number): string {
  return execUrl(url, `insert into inserts values (${id}, ${id})`);
}

/** Counts how often each id is in the table. */
async function countIds(url: string): Promise<ReadonlyMap<number, number>> {
  const { dataset } = await exec(url, 'select id, count() from inserts');
  return new Map(dataset as [number, number][]);
}

describe('between the server and the database', () => {
  test.each(FAULT_OUTCOMES.map((outcome, id) => ({ ...outcome, id })))(
    'one that $fault: the client sees $seen, an INSERT has run $arrives times, and the next one succeeds',
    async ({ id, ...outcome }) => {
      await relay.inject(outcome.fault);
      const seen = await see(insertUrl(server.url, id), INSERTED);
      expect(seen).toMatchObject({ seen: outcome.seen });
      expect(seen).toSatisfy((one: typeof seen) => isInTime(one, outcome));
      await relay.inject(undefined);
      expect((await see(insertUrl(server.url, id + 1000), INSERTED)).seen).toBe('whole');
      const counts = await countIds(inject('questdbUrl'));
      expect([counts.get(id) ?? 0, counts.get(id + 1000)]).toEqual([outcome.arrives, 1]);
    },
  );

  test('a response that arrives at a byte per second is complete', async () => {
    const slow = await startFaultRelay(inject('questdbUrl'), { dripMs: 1_000 });
    const patient = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: slow.url } });
    await slow.inject('drips its body');
    const seen = await see(insertUrl(patient.url, 2000), INSERTED);
    expect(seen.seen).toBe('whole');
    expect(seen.ms).toBeGreaterThan(10_000);
    await slow.close();
  });

  test('two thousand faults leave no socket and no memory behind', { timeout: 180_000 }, async () => {
    const faults = FAULT_OUTCOMES.filter(({ fault, deadline }) => deadline === undefined && !fault.startsWith('drips'));
    // Close the idle connections of clients, which are not counted below.
    const env = { SERVICE_TSDB_HTTP_URL: relay.url, SERVICE_HTTP_KEEP_ALIVE_MS: '1000', ...SMALL_HEAP };
    const small = await startProcess({ env });
    const round = async (): Promise<void> => {
      for (const { fault } of faults) {
        await relay.inject(fault);
        await Promise.all(Array.from({ length: 20 }, () => see(execUrl(small.url, 'select 1'), '')));
      }
    };
    await round();
    const before = residentBytes(small.child.pid);
    for (let count = 0; count < 10; count += 1) await round();
    await relay.inject(undefined);
    expect((residentBytes(small.child.pid) - before) / MIB).toBeLessThan(32);
    // Compare with a fresh server: the children of both have sockets too, and start one after the other.
    const fresh = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: relay.url } });
    const more = (): number => socketCount(small.child.pid) - socketCount(fresh.child.pid);
    await expect.poll(more, { timeout: 15_000 }).toBe(0);
  });
});

test('a database that is killed and restarted under load is used again, and runs no INSERT twice', async () => {
  const database = await startQuestdb();
  await createTable(database.url);
  const alone = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: database.url } });
  const acknowledged: number[] = [];
  const others = new Set<unknown>();
  const load = new AbortController();
  let sent = 0;
  const clients = Array.from({ length: 4 }, async () => {
    while (!load.signal.aborted) {
      const id = (sent += 1);
      const { seen } = await see(insertUrl(alone.url, id), INSERTED);
      if (seen === 'whole') acknowledged.push(id);
      else others.add(seen);
      await delay(5);
    }
  });
  await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(100);
  await database.kill();
  const atDeath = acknowledged.length;
  await expect.poll(() => others.has(502), { timeout: 10_000 }).toBe(true);
  await database.start();
  await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(atDeath + 50);
  load.abort();
  await Promise.all(clients);
  expect([...others].filter((seen) => seen !== 502 && seen !== 'cut')).toEqual([]);
  const counts = await countIds(database.url);
  expect([...counts.values()].filter((count) => count !== 1)).toEqual([]);
  expect(acknowledged.filter((id) => !counts.has(id))).toEqual([]);
  await database.stop();
}, 240_000);
