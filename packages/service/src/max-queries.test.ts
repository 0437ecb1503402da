import type { Authenticator } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import { createMemoryStore, type Engine, streamFromTable } from '@svc/frames';
import type { TsdbProxy, TsdbResponse } from '@svc/tsdb-proxy';
import { tableFromArrays } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { createService } from './create-service.ts';

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
function responseOf(kind: 'body' | 'bytes' | 'chunks', fails = false): TsdbResponse {
  const head = { status: 200, headers: {} };
  async function* chunks(): AsyncGenerator<Uint8Array, void> {
    yield Uint8Array.of(1);
    if (fails) throw new ServiceError('tsdb_failed', 'Cut.');
    yield Uint8Array.of(2);
  }
  if (kind === 'bytes') return { ...head, body: null, bytes: Uint8Array.of(1, 2) };
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

  test('its response has arrived whole, or fails', async () => {
    const whole = serviceWith(async () => responseOf('bytes'));
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
