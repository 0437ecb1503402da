import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createStore, type StorageArea } from './store.ts';
import { createTabList, type TabList } from './tabs.ts';

function createArea(): StorageArea {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
}

const create = (area = createArea()): TabList => createTabList(createStore([area], 'test'));
const names = ({ tabs }: TabList): string[] => tabs.value.map((tab) => (tab.kind === 'frame' ? tab.handle : tab.title));
const currentName = ({ currentTab }: TabList): string | undefined =>
  currentTab.value?.kind === 'frame' ? currentTab.value.handle : currentTab.value?.title;

test('a frame has one tab, however often it is opened', () => {
  const list = create();
  list.openFrame('a');
  list.openFrame('b');
  list.openFrame('a', 'info');
  expect([names(list), currentName(list), list.currentTab.value?.view]).toEqual([['a', 'b'], 'a', 'info']);
});

test('queries are numbered, and a number that is free is used again', () => {
  const list = create();
  for (const sql of ['1', '2', '3']) list.openQuery(sql, 'local');
  list.closeTab(list.tabs.value[1]?.id ?? '');
  list.openQuery('4', 'local');
  expect(names(list)).toEqual(['q1', 'q3', 'q2']);
});

test.each([
  ['the first', 0, 1, 'b'],
  ['the last', 2, 2, 'b'],
  ['one that is not current', 0, 2, 'c'],
])('closing %s selects a neighbour', (_, closed, current, expected) => {
  const list = create();
  for (const handle of ['a', 'b', 'c']) list.openFrame(handle);
  list.selectTab(list.tabs.value[current === 1 ? closed : current]?.id ?? '');
  list.closeTab(list.tabs.value[closed]?.id ?? '');
  expect(currentName(list)).toBe(expected);
});

test('a closed tab can be opened again, the last one first', () => {
  const list = create();
  for (const sql of ['select 1', 'select 2']) list.openQuery(sql, 'local');
  for (const { id } of list.tabs.value) list.closeTab(id);
  expect(list.currentTab.value).toBeUndefined();
  list.reopenTab();
  expect(list.currentTab.value).toMatchObject({ sql: 'select 2' });
  list.reopenTab();
  list.reopenTab();
  expect(names(list)).toEqual(['q2', 'q1']);
});

test('after the last tab comes the first', () => {
  const list = create();
  for (const handle of ['a', 'b', 'c']) list.openFrame(handle);
  list.stepTab(1);
  expect(currentName(list)).toBe('a');
  list.stepTab(-1);
  expect(currentName(list)).toBe('c');
});

test('tabs are there after a reload, with what was typed', () => {
  const area = createArea();
  const list = create(area);
  list.openQuery('select', 'tsdb');
  const id = list.currentTab.value?.id ?? '';
  list.updateTab(id, { sql: 'select 1' });
  list.setView(id, 'chart');
  list.openFrame('trades');
  list.selectTab(id);
  const reloaded = create(area);
  expect(reloaded.tabs.value).toEqual(list.tabs.value);
  expect(reloaded.currentTab.value).toMatchObject({ sql: 'select 1', engine: 'tsdb', view: 'chart' });
});

test('a view that a tab does not have is ignored', () => {
  const list = create();
  list.openFrame('a');
  list.setView(list.currentTab.value?.id ?? '', 'plan');
  expect(list.currentTab.value?.view).toBe('rows');
});

test.each(['', '{', '[]', '{"tabs":[{"kind":"frame"}]}', '{"tabs":{}}', 'null'])(
  'broken storage is no tabs: %j',
  (text) => {
    const area = createArea();
    area.setItem('test:tabs', text);
    expect(create(area).tabs.value).toEqual([]);
  },
);

test('a storage that throws keeps nothing, and the tabs work', () => {
  const refuse = (): never => {
    throw new Error('denied');
  };
  const list = create({ getItem: refuse, setItem: refuse, removeItem: refuse });
  list.openFrame('a');
  expect(names(list)).toEqual(['a']);
});

test('a tab of a link is opened once, and an id that is taken is replaced', () => {
  const list = create();
  const tab = { kind: 'query', id: 'x', title: 'q1', sql: 'select 1', engine: 'local', view: 'rows' } as const;
  list.openTab(tab);
  list.openTab(tab);
  list.openTab({ ...tab, sql: 'select 2' });
  expect(list.tabs.value.length).toBe(2);
  expect(new Set(list.tabs.value.map(({ id }) => id)).size).toBe(2);
});

test('another store has other tabs', () => {
  const list = create();
  list.openFrame('a');
  list.load(createStore([createArea()], 'other'));
  expect(list.tabs.value).toEqual([]);
});

describe('what is typed', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  /** Counts the writes of an area. */
  function createCounted(): { readonly area: StorageArea; readonly writes: () => number } {
    const area = createArea();
    let writes = 0;
    return {
      area: { ...area, setItem: (key, value) => ((writes += 1), area.setItem(key, value)) },
      writes: () => writes,
    };
  }

  test('is saved once after many keys, and at once when the page may end', () => {
    const { area, writes } = createCounted();
    const list = create(area);
    list.openQuery('', 'local');
    const id = list.currentTab.value?.id ?? '';
    const before = writes();
    for (const sql of ['s', 'se', 'sel']) list.updateTab(id, { sql });
    expect(writes() - before).toBe(0);
    vi.advanceTimersByTime(1000);
    expect([writes() - before, create(area).currentTab.value]).toMatchObject([1, { sql: 'sel' }]);
    list.updateTab(id, { sql: 'select' });
    list.flush();
    expect([writes() - before, create(area).currentTab.value]).toMatchObject([2, { sql: 'select' }]);
    vi.advanceTimersByTime(1000);
    expect(writes() - before).toBe(2);
  });

  test('is not saved if it is too long, and the other tabs are', () => {
    const { area } = createCounted();
    const list = create(area);
    for (const sql of ['first', 'second']) list.openQuery(sql, 'local');
    list.updateTab(list.currentTab.value?.id ?? '', { sql: 'x'.repeat(1_000_001) });
    list.flush();
    expect(names(create(area))).toEqual(['q1']);
  });
});
