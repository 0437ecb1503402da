import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { socketCount } from '../../../tools/process-resources.js';
import { FAULT_OUTCOMES } from './fault-outcomes.ts';
import { expectOutcome, type FaultyProxy, SQL, startFaultyProxy, WHOLE } from './faulty-proxy.ts';
import { see } from './see-fault.ts';
import { startProcess } from './server-process.ts';

let proxy: FaultyProxy;
beforeAll(async () => {
  proxy = await startFaultyProxy();
});
afterAll(() => proxy.close());
afterEach(() => proxy.relay.inject(undefined));

describe('a database that', () => {
  test.each(FAULT_OUTCOMES.filter(({ deadline }) => deadline !== undefined))(
    '$fault: the client sees $seen, and the next request succeeds',
    (outcome) => expectOutcome(proxy, outcome),
  );
});

describe('under load', () => {
  const insert = (id: string): string => `/exec?query=insert%20${id}&fmt=json`;

  test('a database that dies and comes back gets every statement at most once, and is found again', async () => {
    const { database, relay, server } = proxy;
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
      const { relay, server } = proxy;
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
