import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CallSource } from '@svc/frames/async';
import { createSqlQueue, type Slot, type SqlQueue } from './queue.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const clientOf = (connection: string, address = '10.0.0.1', tenant = 'default'): CallSource => ({
  tenant,
  client: { address, connection },
});

/** Records statements by name in the order they start, with a + for each time they were interrupted. */
function createLine(options: Partial<Parameters<typeof createSqlQueue>[0]> = {}) {
  const queue: SqlQueue = createSqlQueue({
    maxConcurrent: 2,
    maxPerTenant: options.maxConcurrent ?? 2,
    maxQueued: 10,
    shortMs: 100,
    ...options,
  });
  const begun: string[] = [];
  const refused: string[] = [];
  const held = new Map<string, Slot>();
  let order = 0;

  async function wait(name: string, caller: CallSource, at: number, ranMs = 0): Promise<void> {
    try {
      const slot = await queue.wait({ caller, order: at, ranMs }, new AbortController().signal);
      begun.push(name);
      held.set(name, slot);
      const begunAt = performance.now();
      slot.begin(() => performance.now() - begunAt);
      slot.interrupted.addEventListener('abort', () => {
        slot.end();
        void wait(`${name}+`, caller, at, slot.ranMs());
      });
    } catch {
      refused.push(name);
    }
  }

  const settle = () => vi.advanceTimersByTimeAsync(0);
  return {
    begun,
    refused,
    async ask(name: string, caller: CallSource = clientOf(name), ranMs = 0) {
      void wait(name, caller, (order += 1), ranMs);
      await settle();
    },
    async end(name: string) {
      held.get(name)?.end();
      await settle();
    },
    keep: (name: string) => held.get(name)?.beginSending(),
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  };
}

describe('a free slot', () => {
  test.each<readonly [string, CallSource, CallSource]>([
    ['another connection', clientOf('1'), clientOf('2')],
    ['another address, regardless of connections', clientOf('1'), clientOf('1', '10.0.0.2')],
    ['another tenant, regardless of addresses', clientOf('1'), clientOf('1', '10.0.0.1', 'other')],
    ['a caller whose connection is known', { tenant: 'default' }, clientOf('1')],
  ])('goes to %s before another statement of a caller that has one running', async (_, greedy, modest) => {
    const line = createLine({ shortMs: 100_000 });
    for (const name of ['a', 'b', 'c', 'd']) await line.ask(name, greedy);
    await line.ask('modest', modest);
    await line.end('a');
    expect(line.begun).toEqual(['a', 'b', 'modest']);
  });

  test('alternates between callers if it is the only one', async () => {
    const line = createLine({ maxConcurrent: 1 });
    for (const name of ['a1', 'a2', 'a3']) await line.ask(name, clientOf('a'));
    for (const name of ['b1', 'b2']) await line.ask(name, clientOf('b'));
    for (const name of ['a1', 'b1', 'a2', 'b2']) await line.end(name);
    expect(line.begun).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });
});

describe('a short statement', () => {
  test('gets the slot of the youngest long one once that has used up its time', async () => {
    const line = createLine();
    for (const name of ['a', 'b']) await line.ask(name);
    await line.pass(50);
    await line.ask('c');
    await line.pass(49);
    expect(line.begun).toEqual(['a', 'b']);
    await line.pass(1);
    expect(line.begun).toEqual(['a', 'b', 'c']);
  });

  test('waits for one other new statement at a time, however many long ones there are', async () => {
    const line = createLine();
    for (const name of ['a', 'b', 'c', 'd']) await line.ask(name);
    await line.pass(200);
    expect(line.begun).toEqual(['a', 'b', 'c', 'd']);
    await line.ask('short');
    await line.pass(100);
    expect(line.begun.at(-1)).toBe('short');
  });

  test('that was slow on a busy machine restarts before callers that have used far more', async () => {
    const line = createLine();
    for (const name of ['a', 'b', 'c']) await line.ask(name);
    // They are interrupted until they are long.
    await line.pass(3000);
    await line.ask('short');
    expect(line.begun.at(-1)).toBe('short');
    for (const name of ['a', 'b', 'c']) await line.ask(`next of ${name}`, clientOf(name));
    await line.pass(100);
    // It has used up its time and is interrupted once.
    expect(line.begun.at(-1)).toMatch(/^next of/);
    await line.pass(100);
    expect(line.begun.at(-1)).toBe('short+');
  });

  test('does not interrupt one that has sent rows', async () => {
    const line = createLine();
    for (const name of ['a', 'b']) await line.ask(name);
    line.keep('a');
    line.keep('b');
    await line.ask('c');
    await line.pass(10_000);
    expect(line.begun).toEqual(['a', 'b']);
  });

  test('interrupts none if there is only one slot', async () => {
    const line = createLine({ maxConcurrent: 1 });
    for (const name of ['a', 'b']) await line.ask(name);
    await line.pass(10_000);
    expect(line.begun).toEqual(['a']);
  });
});

describe('a statement that is interrupted', () => {
  test('gets four times as long each time, and is not interrupted a fourth time', async () => {
    const line = createLine();
    await line.ask('kept');
    line.keep('kept');
    await line.ask('long');
    for (const ms of [100, 400, 1600]) {
      const name = `after ${ms}`;
      await line.ask(name);
      await line.pass(ms - 1);
      expect(line.begun).not.toContain(name);
      await line.pass(1);
      expect(line.begun).toContain(name);
      await line.end(name);
    }
    await line.ask('last');
    await line.pass(1_000_000);
    expect(line.begun.at(-1)).toBe('long+++');
  });

  test('leaves a slot to quick ones when it is long', async () => {
    const line = createLine({ maxConcurrent: 4 });
    for (let i = 0; i < 12; i++) await line.ask(`long ${i}`);
    await line.pass(100_000);
    const before = line.begun.length;
    await line.ask('short');
    expect(line.begun.slice(before)).toEqual(['short']);
  });

  test.each([
    ['makes room for a long one of another connection', 'b', ['first', 'second']],
    ['does not make room for a long one of the same connection', 'a', ['first']],
  ])('and is long %s', async (_, connection, begun) => {
    const line = createLine();
    await line.ask('first', clientOf('a'), 400);
    await line.ask('second', clientOf(connection), 400);
    await line.pass(1599);
    expect(line.begun).toEqual(['first']);
    await line.pass(1);
    expect(line.begun).toEqual(begun);
  });
});

describe('a tenant with callers', () => {
  const alpha = (connection: string): CallSource => clientOf(connection, '10.0.0.1', 'alpha');
  const beta = clientOf('b', '10.0.0.1', 'beta');

  test('leaves a slot to other tenants, even if all its statements send rows', async () => {
    const line = createLine({ maxConcurrent: 4, maxPerTenant: 3 });
    for (const name of ['a1', 'a2', 'a3', 'a4']) {
      await line.ask(name, alpha(name));
      line.keep(name);
    }
    expect(line.begun).toEqual(['a1', 'a2', 'a3']);
    await line.ask('b', beta);
    expect(line.begun).toEqual(['a1', 'a2', 'a3', 'b']);
  });

  test('uses a slot of its own again, and not that of another tenant', async () => {
    const line = createLine({ maxConcurrent: 4, maxPerTenant: 3 });
    for (const name of ['a1', 'a2', 'a3', 'a4']) await line.ask(name, alpha(name));
    for (const name of ['a1', 'a2', 'a3']) line.keep(name);
    await line.ask('b', beta);
    await line.pass(10_000);
    expect(line.begun).toEqual(['a1', 'a2', 'a3', 'b']);
    await line.end('b');
    expect(line.begun).toHaveLength(4);
    await line.end('a2');
    expect(line.begun.at(-1)).toBe('a4');
  });

  test('gets a short statement past its own long ones', async () => {
    const line = createLine({ maxConcurrent: 4, maxPerTenant: 3 });
    for (let i = 0; i < 12; i++) await line.ask(`long ${i}`, alpha(`${i}`));
    await line.pass(100_000);
    const before = line.begun.length;
    await line.ask('short', alpha('short'));
    expect(line.begun.slice(before)).toEqual(['short']);
  });
});

test('a statement that has started no longer listens to its signal', async () => {
  const queue = createSqlQueue({ maxConcurrent: 1, maxPerTenant: 1, maxQueued: 1, shortMs: 100 });
  const { signal } = new AbortController();
  const request = { caller: clientOf('a'), order: 0 };
  const first = await queue.wait(request, signal);
  const waiting = queue.wait(request, signal);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  first.end();
  await waiting;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

describe('when the queue is full', () => {
  test('the client with the most waiting statements loses one for a client with fewer', async () => {
    const line = createLine({ maxConcurrent: 1, maxQueued: 3 });
    for (const name of ['a1', 'a2', 'a3', 'a4']) await line.ask(name, clientOf('a'));
    await line.ask('b1', clientOf('b'));
    expect(line.refused).toEqual(['a4']);
    await line.ask('a5', clientOf('a'));
    expect(line.refused).toEqual(['a4', 'a5']);
    await line.ask('b2', clientOf('b'));
    expect(line.refused).toEqual(['a4', 'a5', 'b2']);
  });

  test('many connections of one address count as one', async () => {
    const line = createLine({ maxConcurrent: 1, maxQueued: 3 });
    for (const name of ['a1', 'a2', 'a3', 'a4']) await line.ask(name);
    await line.ask('b1', clientOf('b', '10.0.0.2'));
    expect(line.refused).toEqual(['a4']);
  });
});
