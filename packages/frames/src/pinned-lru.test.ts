import { expect, test, vi } from 'vitest';
import { createCacheBudget, createPinnedLru, type PinnedLru, type PinnedLruOptions } from './pinned-lru.ts';

/** A cache of strings, and what became of its entries. */
function cacheOf(
  maxBytes: number,
  options: Partial<PinnedLruOptions<string, string>> = {},
): { lru: PinnedLru<string, string>; evicted: string[]; disposed: string[] } {
  const evicted: string[] = [];
  const disposed: string[] = [];
  const lru = createPinnedLru<string, string>({
    budget: createCacheBudget(maxBytes),
    onEvict: (value) => evicted.push(value),
    dispose: (value) => disposed.push(value),
    ...options,
  });
  return { lru, evicted, disposed };
}

test('the least recently used entries make room, pinned ones do not', () => {
  const { lru, evicted } = cacheOf(30);
  for (const key of ['a', 'b', 'c']) expect(lru.set(key, key, 10)).toBe(true);
  expect(lru.get('a')).toBe('a');
  const pin = lru.pin('b');
  expect(lru.set('d', 'd', 20)).toBe(true);
  expect(evicted).toEqual(['c', 'a']);
  expect(lru.set('e', 'e', 21)).toBe(false);
  expect([evicted, lru.usedBytes, lru.has('b')]).toEqual([['c', 'a', 'd'], 10, true]);
  pin?.release();
  expect(lru.set('f', 'f', 30)).toBe(true);
  expect(lru.count).toBe(1);
});

test('an entry that is larger than the budget evicts nothing', () => {
  const { lru } = cacheOf(30);
  lru.set('a', 'a', 30);
  expect(lru.set('b', 'b', 31)).toBe(false);
  expect([lru.has('a'), lru.has('b'), lru.usedBytes]).toEqual([true, false, 30]);
});

test('an entry counts from its creation, and is found when it has a key', () => {
  const { lru, disposed } = cacheOf(30);
  const pin = lru.create('a');
  expect(pin.resize(20)).toBe(true);
  expect([lru.usedBytes, lru.count, lru.set('b', 'b', 11)]).toEqual([20, 0, false]);
  pin.keep('a');
  pin.release();
  expect([lru.get('a'), disposed]).toEqual(['a', ['b']]);
  const other = lru.create('c');
  other.resize(5);
  other.release();
  expect([lru.usedBytes, disposed]).toEqual([20, ['b', 'c']]);
});

test('a removed entry counts until its last pin is released', () => {
  const { lru, disposed } = cacheOf(30);
  lru.set('a', 'a', 10);
  const pins = [lru.pin('a'), lru.pin('a')];
  lru.remove('a');
  pins[0]?.release();
  pins[0]?.release();
  expect([lru.get('a'), lru.usedBytes, disposed]).toEqual([undefined, 10, []]);
  pins[1]?.release();
  expect([lru.usedBytes, disposed]).toEqual([0, ['a']]);
});

test('a forced eviction takes pinned entries, too', () => {
  const { lru, disposed } = cacheOf(30);
  lru.set('a', 'a', 10);
  const pin = lru.pin('a');
  expect(lru.evict(() => false)).toBe(false);
  expect(lru.has('a')).toBe(true);
  lru.evict(() => false, true);
  expect([lru.usedBytes, disposed, pin?.resize(1)]).toEqual([0, ['a'], false]);
  pin?.release();
  expect(disposed).toEqual(['a']);
});

test('caches with one budget give way in the order of their creation', () => {
  const budget = createCacheBudget(30);
  const [first, second] = [cacheOf(0, { budget }), cacheOf(0, { budget })];
  second.lru.set('x', 'x', 10);
  first.lru.set('a', 'a', 10);
  first.lru.set('b', 'b', 10);
  expect(second.lru.set('y', 'y', 10)).toBe(true);
  expect([first.evicted, second.evicted, budget.usedBytes]).toEqual([['a'], [], 30]);
  expect(second.lru.set('z', 'z', 20)).toBe(true);
  expect([first.evicted, second.evicted, budget.usedBytes]).toEqual([['a', 'b'], ['x'], 30]);
});

test('caches with one budget keep their entries for an entry that does not fit even without them', () => {
  const budget = createCacheBudget(30);
  const [first, second] = [cacheOf(0, { budget }), cacheOf(0, { budget })];
  first.lru.set('a', 'a', 10);
  second.lru.set('x', 'x', 10);
  const pin = second.lru.pin('x');
  expect(second.lru.set('y', 'y', 21)).toBe(false);
  expect([first.evicted, first.lru.has('a')]).toEqual([[], true]);
  pin?.release();
  expect(second.lru.set('y', 'y', 21)).toBe(true);
  expect([first.evicted, second.evicted]).toEqual([['a'], ['x']]);
});

test('pinned entries do not count among the most entries', () => {
  const { lru, evicted } = cacheOf(100, { maxCount: 2 });
  for (const key of ['a', 'b', 'c']) {
    lru.set(key, key, 1);
    lru.pin(key);
  }
  for (const key of ['d', 'e']) lru.set(key, key, 1);
  expect([evicted, lru.count]).toEqual([[], 5]);
  lru.set('f', 'f', 1);
  expect(evicted).toEqual(['d']);
});

test('a limit of its own, a number of entries and other uses bound a cache', () => {
  let limit = 20;
  const used = new Set(['b']);
  const { lru, evicted } = cacheOf(100, { maxBytes: () => limit, maxCount: 2, isInUse: (key) => used.has(key) });
  for (const key of ['a', 'b', 'c']) lru.set(key, key, 5);
  expect(evicted).toEqual(['a']);
  limit = 5;
  expect(lru.set('d', 'd', 5)).toBe(false);
  expect([evicted, lru.has('b')]).toEqual([['a', 'c'], true]);
});

test('an entry that nothing has pinned for a while is removed, also under another key', () => {
  vi.useFakeTimers();
  try {
    const { lru, disposed } = cacheOf(30, { idleMs: 1000 });
    lru.set('a', 'a', 10);
    vi.advanceTimersByTime(999);
    const pin = lru.pin('a');
    vi.advanceTimersByTime(5000);
    lru.move('a', 'b');
    pin?.release();
    vi.advanceTimersByTime(999);
    expect([lru.get('b'), disposed]).toEqual(['a', []]);
    vi.advanceTimersByTime(1);
    expect([lru.get('b'), disposed]).toEqual([undefined, ['a']]);
  } finally {
    vi.useRealTimers();
  }
});
