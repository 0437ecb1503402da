import { expect, onTestFinished, test, vi } from 'vitest';
import { createSemaphore, type Semaphore } from './semaphore.ts';

const clientOf = (connection: string) => ({ address: '10.0.0.1', connection });

/** Begins tasks that end one by one, and tells which have begun. */
function tasksOf(semaphore: Semaphore) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    begin: async (name: string, tenant?: string, connection = 'c', signal?: AbortSignal, permits?: number) => {
      const source = tenant === undefined ? undefined : { tenant, client: clientOf(connection) };
      const end = await semaphore.acquire(signal, undefined, source, permits);
      begun.push(name);
      ends.set(name, end);
    },
    end: async (name: string) => {
      ends.get(name)?.();
      await new Promise(setImmediate);
    },
  };
}

test('a free permit goes to the tenant with the fewest, whatever the order of arrival', async () => {
  const { begun, begin, end } = tasksOf(createSemaphore(2));
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void begin(name, 'alpha');
  void begin('b1', 'beta');
  await new Promise(setImmediate);
  expect(begun).toEqual(['a1', 'a2']);
  await end('a1');
  await end('a2');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  await end('b1');
  expect(begun.at(-1)).toBe('a4');
});

test('tenants that always wait take turns, and so do the connections of one', async () => {
  // All hold their permits for as long.
  const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
  onTestFinished(() => now.mockRestore());
  const { begun, begin, end } = tasksOf(createSemaphore(1));
  for (const name of ['a1', 'a2', 'a3']) void begin(name, 'alpha');
  for (const name of ['b1', 'b2']) void begin(name, 'beta');
  await new Promise(setImmediate);
  for (const name of ['a1', 'b1', 'a2', 'b2', 'a3']) {
    expect(begun.at(-1)).toBe(name);
    await end(name);
  }
  for (const name of ['x1', 'x2']) void begin(name, 'alpha', 'x');
  void begin('y1', 'alpha', 'y');
  await new Promise(setImmediate);
  await end('x1');
  expect(begun.at(-1)).toBe('y1');
});

test('a tenant leaves permits to others, and work without a tenant may hold all', async () => {
  const { begun, begin, end } = tasksOf(createSemaphore(4, 3));
  for (const name of ['a1', 'a2', 'a3', 'a4']) void begin(name, 'alpha');
  void begin('b1', 'beta');
  await new Promise(setImmediate);
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1']);
  await end('b1');
  expect(begun).not.toContain('a4');
  await end('a1');
  expect(begun.at(-1)).toBe('a4');
  for (const name of ['a2', 'a3', 'a4']) await end(name);
  for (const name of ['1', '2', '3', '4', '5']) void begin(name);
  await new Promise(setImmediate);
  expect(begun.slice(-4)).toEqual(['1', '2', '3', '4']);
});

test('a waiter that leaves gets no permit, and the next one does', async () => {
  const { begun, begin, end } = tasksOf(createSemaphore(1));
  await begin('a1', 'alpha');
  const leaving = new AbortController();
  const left = begin('b1', 'beta', 'c', leaving.signal);
  void begin('a2', 'alpha');
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await end('a1');
  expect(begun).toEqual(['a1', 'a2']);
});

test('a task for several permits waits until all are free, and no other task overtakes it', async () => {
  const { begun, begin, end } = tasksOf(createSemaphore(4));
  for (const name of ['1', '2', '3']) await begin(name);
  void begin('wide', undefined, 'c', undefined, 3);
  void begin('4');
  await end('1');
  expect(begun).toEqual(['1', '2', '3']);
  await end('2');
  expect(begun.slice(3)).toEqual(['wide']);
  await end('3');
  expect(begun.slice(3)).toEqual(['wide', '4']);
  await end('wide');
  for (const name of ['5', '6', '7']) await begin(name);
  expect(begun.slice(-3)).toEqual(['5', '6', '7']);
});

test('a tenant has no more permits at once than its share, and its waiters do not stop another tenant', async () => {
  const { begun, begin, end } = tasksOf(createSemaphore(4, 3));
  await begin('a1', 'alpha', 'c', undefined, 9);
  void begin('a2', 'alpha', 'c', undefined, 2);
  void begin('a3', 'alpha');
  await begin('b1', 'beta');
  void begin('b2', 'beta');
  await end('a1');
  expect(begun).toEqual(['a1', 'b1', 'a2', 'b2']);
  await end('b1');
  expect(begun.slice(4)).toEqual(['a3']);
});

test('the task behind one for several permits begins when that one leaves', async () => {
  const { begun, begin, end } = tasksOf(createSemaphore(2));
  await begin('1');
  const leaving = new AbortController();
  const left = begin('wide', undefined, 'c', leaving.signal, 2);
  void begin('2');
  await new Promise(setImmediate);
  expect(begun).toEqual(['1']);
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  expect(begun).toEqual(['1', '2']);
  await end('1');
});
