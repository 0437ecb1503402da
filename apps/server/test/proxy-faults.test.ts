import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CONNECTION_FAULTS } from '../../../packages/tsdb-proxy/src/testing/connection-faults.ts';
import { type FaultRelay, startFaultRelay } from '../../../packages/tsdb-proxy/src/testing/fault-relay.ts';
import {
  type RecordedDatabase,
  startRecordedDatabase,
} from '../../../packages/tsdb-proxy/src/testing/recorded-database.ts';
import { socketCount } from '../../../tools/process-resources.js';
import { DEADLINE_SETTINGS, FAULT_OUTCOMES } from './fault-outcomes.ts';
import { isInTime, see } from './see-fault.ts';
import { type ServerProcess, startProcess } from './server-process.ts';

const SQL = '/exec?query=select%201&fmt=json';
const WHOLE = '{"query":"select 1","columns":[{"name":"1","type":"INT"}],"timestamp":-1,"dataset":[[1]],"count":1}';

let database: RecordedDatabase;
let relay: FaultRelay;
let server: ServerProcess;

beforeAll(async () => {
  const ends: (() => Promise<void>)[] = [];
  database = await startRecordedDatabase();
  relay = await startFaultRelay(database.url);
  server = await startProcess({
    // Connections of clients that are idle are not what is counted below.
    env: { SERVICE_TSDB_HTTP_URL: relay.url, SERVICE_HTTP_KEEP_ALIVE_MS: '1000' },
    toml: DEADLINE_SETTINGS,
    onEnd: (end) => ends.push(end),
  });
  return async () => {
    for (const end of ends) await end();
    await relay.close();
    await database.close();
  };
});

afterEach(() => relay.inject(undefined));

describe('a database that', () => {
  test.each(FAULT_OUTCOMES)('$fault: the client sees $seen, and the next request succeeds', async (outcome) => {
    // A connection used before makes some faults look different.
    for (const isUsed of [false, true]) {
      await relay.inject('refuses');
      await relay.inject(undefined);
      if (isUsed) expect((await see(`${server.url}${SQL}`, WHOLE)).seen).toBe('whole');
      const arrived = database.targets.length;
      await relay.inject(outcome.fault);
      const seen = await see(`${server.url}${SQL}`, WHOLE);
      expect(seen).toMatchObject({ seen: outcome.seen });
      expect(seen).toSatisfy((one: typeof seen) => isInTime(one, outcome));
      expect(seen.text).not.toMatch(/127\.0\.0\.1|ECONN|UND_ERR/);
      expect(database.targets.length - arrived).toBe(outcome.arrives);
      await relay.inject(undefined);
      expect((await see(`${server.url}${SQL}`, WHOLE)).seen).toBe('whole');
    }
  });

  test('has each of the faults that there are', () => {
    const listed = FAULT_OUTCOMES.map(({ fault }) => fault);
    expect(listed).toEqual(expect.arrayContaining([...CONNECTION_FAULTS]));
  });
});

describe('under load', () => {
  const insert = (id: string): string => `/exec?query=insert%20${id}&fmt=json`;

  test('a database that dies and comes back gets every statement at most once, and is found again', async () => {
    const statuses = new Map<number | string, number>();
    const load = new AbortController();
    let sent = 0;
    const clients = Array.from({ length: 8 }, async () => {
      while (!load.signal.aborted) {
        sent += 1;
        const { seen } = await see(`${server.url}${insert(`id${sent}`)}`, '');
        statuses.set(seen, (statuses.get(seen) ?? 0) + 1);
      }
    });
    for (let round = 0; round < 5; round += 1) {
      await delay(100);
      await relay.inject('refuses');
      await delay(100);
      await relay.inject(undefined);
    }
    load.abort();
    await Promise.all(clients);
    // 501 is the stand-in's: it has no answer to an INSERT.
    expect([...statuses.keys()].filter((seen) => ![501, 502, 'cut'].includes(seen))).toEqual([]);
    expect(statuses.get(501)).toBeGreaterThan(0);
    expect(statuses.get(502)).toBeGreaterThan(0);
    const inserts = database.targets.filter((target) => target.includes('insert'));
    expect(new Set(inserts).size).toBe(inserts.length);
    expect((await see(`${server.url}${SQL}`, WHOLE)).seen).toBe('whole');
  });

  // Slow, because idle connections rest for 4 s before they are closed.
  test.runIf(process.platform === 'linux')(
    'no fault leaves a socket open',
    async () => {
      for (const { fault } of FAULT_OUTCOMES) {
        await relay.inject(fault);
        await Promise.all(Array.from({ length: 10 }, () => see(`${server.url}${SQL}`, WHOLE)));
      }
      await relay.inject(undefined);
      await expect.poll(() => relay.openConnections, { timeout: 10_000 }).toBe(0);
      const idle = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: relay.url } });
      // Those of its children too, which it starts one after the other.
      const more = (): number => socketCount(server.child.pid) - socketCount(idle.child.pid);
      await expect.poll(more, { timeout: 15_000, message: 'as many sockets as a fresh server' }).toBeLessThanOrEqual(1);
    },
    60_000,
  );
});
