import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Asker } from './asker-groups.ts';
import { createTurns, type Turn, type Turns } from './turns.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const clientOf = (connection: string, address = '10.0.0.1', tenant = 'default'): Asker => ({
  tenant,
  client: { address, connection },
});

/** Statements by their names, and in which order they begin. */
function createLine(options: Partial<Parameters<typeof createTurns>[0]> = {}) {
  const turns: Turns = createTurns({ maxConcurrent: 2, maxQueued: 10, shortMs: 100, ...options });
  const begun: string[] = [];
  const refused: string[] = [];
  const held = new Map<string, Turn>();
  let order = 0;

  async function wait(name: string, asker: Asker, at: number, isLong = false): Promise<void> {
    try {
      const turn = await turns.wait({ asker, order: at, isLong }, new AbortController().signal);
      begun.push(name);
      held.set(name, turn);
      turn.begin();
      turn.interrupted.addEventListener('abort', () => {
        turn.end();
        void wait(`${name} again`, asker, at, true);
      });
    } catch {
      refused.push(name);
    }
  }

  const settle = () => vi.advanceTimersByTimeAsync(0);
  return {
    begun,
    refused,
    async ask(name: string, asker: Asker = clientOf(name)) {
      void wait(name, asker, (order += 1));
      await settle();
    },
    async end(name: string) {
      held.get(name)?.end();
      await settle();
    },
    keep: (name: string) => held.get(name)?.keep(),
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  };
}

describe('a free place', () => {
  test.each<readonly [string, Asker, Asker]>([
    ['another connection', clientOf('1'), clientOf('2')],
    ['another address, whatever the connections', clientOf('1'), clientOf('1', '10.0.0.2')],
    ['another tenant, whatever the addresses', clientOf('1'), clientOf('1', '10.0.0.1', 'other')],
    ['a caller whose connection is known', { tenant: 'default' }, clientOf('1')],
  ])('goes to %s before a second statement of one that runs', async (_, greedy, modest) => {
    const line = createLine({ shortMs: 100_000 });
    for (const name of ['a', 'b', 'c', 'd']) await line.ask(name, greedy);
    await line.ask('modest', modest);
    await line.end('a');
    expect(line.begun).toEqual(['a', 'b', 'modest']);
  });

  test('of only one goes round', async () => {
    const line = createLine({ maxConcurrent: 1 });
    for (const name of ['a1', 'a2', 'a3']) await line.ask(name, clientOf('a'));
    for (const name of ['b1', 'b2']) await line.ask(name, clientOf('b'));
    for (const name of ['a1', 'b1', 'a2', 'b2']) await line.end(name);
    expect(line.begun).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
  });
});

describe('a short statement', () => {
  test('has the place of the youngest long one, once that has run for long enough', async () => {
    const line = createLine();
    for (const name of ['a', 'b']) await line.ask(name);
    await line.pass(50);
    await line.ask('c');
    await line.pass(49);
    expect(line.begun).toEqual(['a', 'b']);
    await line.pass(1);
    expect(line.begun).toEqual(['a', 'b', 'c']);
  });

  test('waits for one other long one at a time, and a long one is interrupted only once', async () => {
    const line = createLine();
    for (const name of ['a', 'b', 'c', 'd']) await line.ask(name);
    await line.pass(200);
    expect(line.begun).toEqual(['a', 'b', 'c', 'd']);
    await line.ask('short');
    await line.pass(100);
    await line.end('short');
    // All places but one are for those that were interrupted, oldest first.
    expect(line.begun).toEqual(['a', 'b', 'c', 'd', 'short', 'b again']);
    await line.ask('other');
    expect(line.begun.at(-1)).toBe('other');
    await line.end('other');
    expect(line.begun.at(-1)).toBe('other');
    await line.end('b again');
    expect(line.begun.at(-1)).toBe('a again');
  });

  test('does not stop one that has given rows', async () => {
    const line = createLine();
    for (const name of ['a', 'b']) await line.ask(name);
    line.keep('a');
    line.keep('b');
    await line.ask('c');
    await line.pass(10_000);
    expect(line.begun).toEqual(['a', 'b']);
  });

  test('stops none where there is one place', async () => {
    const line = createLine({ maxConcurrent: 1 });
    for (const name of ['a', 'b']) await line.ask(name);
    await line.pass(10_000);
    expect(line.begun).toEqual(['a']);
  });
});

describe('when as many wait as may', () => {
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
