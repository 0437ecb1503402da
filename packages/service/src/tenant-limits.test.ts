import type { TenantLimits } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import { describe, expect, test } from 'vitest';
import { createTenantLimiter } from './tenant-limits.ts';

function limiterOf(limits: Readonly<Record<string, TenantLimits>>) {
  const clock = { ms: 0 };
  const current = { ...limits };
  const limiter = createTenantLimiter({ limitsOf: (tenant) => current[tenant], maxInFlight: 8, now: () => clock.ms });
  /** Sends requests until one is refused. Returns how many passed, and the Retry-After of the refusal. */
  const burst = (tenant: string): readonly [passed: number, retryAfterSeconds: number | undefined] => {
    for (let passed = 0; ; passed += 1) {
      try {
        limiter.admit(tenant);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        expect(error.code).toBe('too_many_requests');
        return [passed, error.retryAfterSeconds];
      }
    }
  };
  return { limiter, clock, current, burst };
}

describe('requests_per_second', () => {
  test.each([
    [100, 100, 1],
    [1, 1, 1],
    [2.5, 2, 1],
    [0.5, 1, 2],
    [0.1, 1, 10],
  ])('of %d: a burst of %d, then Retry-After: %d', (requestsPerSecond, passed, retryAfterSeconds) => {
    const { burst } = limiterOf({ alpha: { requestsPerSecond } });
    expect(burst('alpha')).toEqual([passed, retryAfterSeconds]);
  });

  test('a request passes after Retry-After, and not much earlier', () => {
    const { limiter, clock, burst } = limiterOf({ alpha: { requestsPerSecond: 0.25 } });
    expect(burst('alpha')).toEqual([1, 4]);
    clock.ms = 3999;
    expect(burst('alpha')).toEqual([0, 1]);
    clock.ms = 4000;
    expect(() => limiter.admit('alpha')).not.toThrow();
  });

  test('over time the rate holds, refused requests do not count, and a pause saves up one second', () => {
    const { clock, burst } = limiterOf({ alpha: { requestsPerSecond: 10 } });
    let passed = 0;
    for (; clock.ms < 10_000; clock.ms += 7) passed += burst('alpha')[0];
    expect(passed).toBeGreaterThanOrEqual(10 + 99);
    expect(passed).toBeLessThanOrEqual(10 + 100);
    clock.ms += 60_000;
    expect(burst('alpha')[0]).toBe(10);
  });

  test('a tenant does not affect others, and new limits count at once', () => {
    const { limiter, clock, current, burst } = limiterOf({ alpha: { requestsPerSecond: 5 }, beta: {} });
    expect(burst('alpha')[0]).toBe(5);
    for (let i = 0; i < 1000; i += 1) for (const tenant of ['beta', 'gamma']) limiter.admit(tenant);
    clock.ms += 1000;
    current['alpha'] = { requestsPerSecond: 2 };
    expect(burst('alpha')[0]).toBe(2);
    delete current['alpha'];
    limiter.admit('alpha');
    current['alpha'] = { requestsPerSecond: 3 };
    expect(burst('alpha')[0]).toBe(3);
  });

  test('the error names the limit and its figure', () => {
    const { limiter } = limiterOf({ alpha: { requestsPerSecond: 1 } });
    limiter.admit('alpha');
    expect(() => limiter.admit('alpha')).toThrow(
      'The tenant "alpha" sends more than its limit of 1 requests per second (requests_per_second).',
    );
  });
});

describe('max_queries', () => {
  test('as many run at once, and one more when one has ended, however often it ends', () => {
    const { limiter } = limiterOf({ alpha: { maxQueries: 2 } });
    const ends = [limiter.startQuery('alpha'), limiter.startQuery('alpha')];
    const refused = 'The tenant "alpha" runs as many queries as its limit of 2 allows (max_queries).';
    expect(() => limiter.startQuery('alpha')).toThrow(refused);
    ends[0]?.();
    ends[0]?.();
    ends.push(limiter.startQuery('alpha'));
    expect(() => limiter.startQuery('alpha')).toThrow(refused);
    expect(limiter.startQuery('beta')).toBeUndefined();
  });

  test('of 0 allows none', () => {
    expect(() => limiterOf({ alpha: { maxQueries: 0 } }).limiter.startQuery('alpha')).toThrow('its limit of 0');
  });

  test('a new limit counts at once', () => {
    const { limiter, current } = limiterOf({ alpha: { maxQueries: 2 } });
    const ends = [limiter.startQuery('alpha'), limiter.startQuery('alpha')];
    current['alpha'] = { maxQueries: 3 };
    ends.push(limiter.startQuery('alpha'));
    current['alpha'] = { maxQueries: 1 };
    expect(() => limiter.startQuery('alpha')).toThrow('its limit of 1');
    for (const end of ends) end?.();
    expect(limiter.startQuery('alpha')).toBeDefined();
  });
});

test('a tenant has at most three quarters of the requests in flight, and others have the rest', () => {
  const { limiter } = limiterOf({});
  const ends = Array.from({ length: 6 }, () => limiter.startRequest('alpha'));
  expect(() => limiter.startRequest('alpha')).toThrow('The tenant "alpha" already has 6 requests in flight.');
  limiter.startRequest('beta');
  for (const end of [ends[0], ends[0]]) end?.();
  limiter.startRequest('alpha');
  expect(() => limiter.startRequest('alpha')).toThrow(ServiceError);
});
