import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type ChildSlot, createSqlChildren, type SqlChild, type SqlChildren } from './children.ts';

const noSpace = Object.assign(new Error('ENOSPC: no space left on device, mkdtemp'), { code: 'ENOSPC' });
const { signal } = new AbortController();

let isFull: boolean;
let hasRoom: boolean;
let canRestore: boolean;
let children: SqlChildren;

function fakeChild(): SqlChild {
  let isAlive = true;
  return {
    pid: undefined,
    get isAlive() {
      return isAlive;
    },
    hasRoom: () => hasRoom,
    cpuMs: () => undefined,
    priority: { lower: () => undefined, restore: () => canRestore },
    tenant: undefined,
    call: () => Promise.reject(new Error('It must not be called.')),
    rows: () => {
      throw new Error('It must not be called.');
    },
    settled: () => Promise.resolve(),
    close() {
      isAlive = false;
      return Promise.resolve();
    },
  };
}

const start = vi.fn<() => SqlChild>(() => {
  if (isFull) throw noSpace;
  return fakeChild();
});

const options = {
  start,
  maxConcurrent: 1,
  maxPerTenant: 1,
  maxQueued: 10,
  shortMs: 250,
  idleMs: 60_000,
  startAheadMs: 0,
};

function take(tenant: string): Promise<ChildSlot> {
  return children.take({ caller: { tenant }, order: 0 }, signal);
}

beforeEach(() => {
  isFull = false;
  hasRoom = true;
  canRestore = true;
  start.mockClear();
  children = createSqlChildren(options);
});

afterEach(() => children.close());

test('the first child is started after startAheadMs, or with the first statement', async () => {
  await children.close();
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  start.mockClear();
  children = createSqlChildren({ ...options, startAheadMs: 1000 });
  vi.advanceTimersByTime(999);
  expect(start).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(start).toHaveBeenCalledTimes(1);

  await children.close();
  children = createSqlChildren({ ...options, startAheadMs: 1000 });
  (await take('one')).free();
  expect(start).toHaveBeenCalledTimes(2);
});

test('if no child can be started, the statement fails and releases its slot', async () => {
  await children.close();
  isFull = true;
  children = createSqlChildren(options);
  for (let i = 0; i < 3; i++) {
    await expect(take('one')).rejects.toMatchObject({ code: 'internal', cause: noSpace });
  }
  isFull = false;
  (await take('one')).free();
});

test('a waiting statement gets the slot when the one before it fails', async () => {
  const slot = await take('one');
  await slot.child.close();
  isFull = true;
  const waiting = [take('one'), take('two')];
  slot.free();
  for (const result of await Promise.allSettled(waiting)) {
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'internal' } });
  }
});

test('a child that cannot be started ahead fails no statement, and is started on demand', async () => {
  const slot = await take('one');
  await slot.child.close();
  isFull = true;
  slot.free();
  await expect.poll(() => start.mock.results.at(-1)).toMatchObject({ type: 'throw', value: noSpace });
  isFull = false;
  expect((await take('one')).child).not.toBe(slot.child);
});

test('a child serves its tenant again unless its memory is used up', async () => {
  const first = await take('one');
  first.free();
  const second = await take('one');
  expect(second.child).toBe(first.child);
  hasRoom = false;
  second.free();
  const third = await take('one');
  expect(third.child).not.toBe(first.child);
  expect(first.child.isAlive).toBe(false);
});

test('a child whose priority cannot be restored is replaced', async () => {
  canRestore = false;
  const first = await take('one');
  first.free();
  const second = await take('one');
  expect(second.child).not.toBe(first.child);
  expect(first.child.isAlive).toBe(false);
});
