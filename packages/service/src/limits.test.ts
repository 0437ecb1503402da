import type { Authenticator, TenantLimits } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import { createMemoryStore, type Engine, streamFromTable } from '@svc/frames';
import type { TsdbProxy, TsdbResponse } from '@svc/tsdb-proxy';
import { tableFromArrays } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { createService } from './create-service.ts';
import { createTenantLimiter } from './limits.ts';

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

const authenticator: Authenticator = {
  authenticate: () => Promise.reject(new Error('not used')),
  limitsOf: () => ({ maxQueries: 1 }),
  close: () => undefined,
};
const caller = { id: 't-abcdef', tenant: 'alpha', permissions: new Set(['read', 'write', 'tsdb'] as const) };
const call = { tenant: 'alpha', caller, requestId: 'r', signal: new AbortController().signal };
const EXEC = { path: '/exec', params: [['query', 'select 1']] } as const;

const engine: Engine = {
  async query(_call, sql) {
    if (sql === 'wrong') throw new ServiceError('invalid_sql', 'No.');
    return { ...streamFromTable(tableFromArrays({ id: Int32Array.of(1) })), close: () => undefined };
  },
  describe: () => Promise.reject(new Error('not used')),
  close: async () => undefined,
};

/** A response in two chunks; `fails` after the first. */
function responseOf(kind: 'body' | 'chunks' | 'none', fails = false): TsdbResponse {
  const head = { status: 200, headers: {} };
  async function* chunks(): AsyncGenerator<Uint8Array, void> {
    yield Uint8Array.of(1);
    if (fails) throw new ServiceError('tsdb_failed', 'Cut.');
    yield Uint8Array.of(2);
  }
  if (kind === 'none') return { ...head, body: null };
  if (kind === 'body') return { ...head, body: ReadableStream.from(chunks()) };
  return { ...head, body: null, chunks: chunks() };
}

function serviceWith(answer: () => Promise<TsdbResponse>) {
  const tsdb: TsdbProxy = { forward: answer, close: async () => undefined };
  return createService({ store: createMemoryStore(), engines: { local: engine }, tsdb, authenticator });
}

const service = serviceWith(async () => responseOf('chunks'));

/** Whether another statement may start. */
async function isFree(of = service): Promise<boolean> {
  try {
    (await of.query(call, 'select 1')).close();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'too_many_requests') return false;
    throw error;
  }
}

describe('a statement over frames runs until', () => {
  test('its result is closed', async () => {
    const result = await service.query(call, 'select 1');
    expect(await isFree()).toBe(false);
    result.close();
    expect(await isFree()).toBe(true);
  });

  test('it fails', async () => {
    await expect(service.query(call, 'wrong')).rejects.toThrow('No.');
    await expect(service.query(call, 'select 1', { columns: ['none'] })).rejects.toThrow('none');
    await expect(service.keepQuery(call, 'wrong')).rejects.toThrow('No.');
    expect(await isFree()).toBe(true);
  });

  test('it is stored', async () => {
    await service.keepQuery(call, 'select 1');
    expect(await isFree()).toBe(true);
  });
});

describe('a forwarded statement runs until', () => {
  test.each(['body', 'chunks'] as const)('the %s of its response is read', async (kind) => {
    const of = serviceWith(async () => responseOf(kind));
    const { chunks } = await of.forward(call, EXEC);
    const read: number[] = [];
    for (const _chunk of [1, 2]) {
      expect(await isFree(of)).toBe(false);
      const next = await chunks?.next();
      read.push(...(next?.value ?? []));
    }
    expect(await chunks?.next()).toMatchObject({ done: true });
    expect(read).toEqual([1, 2]);
    expect(await isFree(of)).toBe(true);
  });

  test('its body is read as a stream', async () => {
    const { body } = await service.forward(call, EXEC);
    expect(await isFree()).toBe(false);
    expect(new Uint8Array(await new Response(body).arrayBuffer())).toEqual(Uint8Array.of(1, 2));
    expect(await isFree()).toBe(true);
  });

  test('its body is cancelled', async () => {
    await (await service.forward(call, EXEC)).body?.cancel();
    expect(await isFree()).toBe(true);
    await (await service.forward(call, EXEC)).chunks?.return?.();
    expect(await isFree()).toBe(true);
  });

  test('its response has no body, or fails', async () => {
    const whole = serviceWith(async () => responseOf('none'));
    await whole.forward(call, EXEC);
    expect(await isFree(whole)).toBe(true);
    const cut = serviceWith(async () => responseOf('chunks', true));
    const { chunks } = await cut.forward(call, EXEC);
    await chunks?.next();
    await expect(chunks?.next()).rejects.toThrow('Cut.');
    expect(await isFree(cut)).toBe(true);
    const refused = serviceWith(() => Promise.reject(new ServiceError('tsdb_failed', 'Refused.')));
    await expect(refused.forward(call, EXEC)).rejects.toThrow('Refused.');
    expect(await isFree(refused)).toBe(true);
  });
});

test('/chk is not a statement', async () => {
  const response = await service.forward(call, { path: '/chk', params: [] });
  expect(await isFree()).toBe(true);
  await response.chunks?.return?.();
});
