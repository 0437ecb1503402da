import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CONNECTION_FAULTS } from '../../../packages/tsdb-proxy/src/testing/connection-faults.ts';
import { FAULT_OUTCOMES } from './fault-outcomes.ts';
import { expectOutcome, type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts';
import { byTier } from '../../../test/tier.ts';

let proxy: FaultyProxy;
beforeAll(async () => {
  proxy = await startFaultyProxy();
});
afterAll(() => proxy.close());
afterEach(() => proxy.relay.inject(undefined));

describe('a database that', () => {
  for (const [options, outcomes] of byTier(FAULT_OUTCOMES.filter(({ deadline }) => deadline === undefined))) {
    test.each(outcomes)('$fault: the client sees $seen, and the next request succeeds', options, (outcome) =>
      expectOutcome(proxy, outcome),
    );
  }

  test('covers every fault', () => {
    const listed = FAULT_OUTCOMES.map(({ fault }) => fault);
    expect(listed).toEqual(expect.arrayContaining([...CONNECTION_FAULTS]));
  });
});
