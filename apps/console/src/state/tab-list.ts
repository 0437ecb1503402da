import { computed, type ReadonlySignal, signal } from '@preact/signals';
import type { EngineName } from '../api/types.ts';
import { uniqueId } from '@svc/client/internal';
import type { TabPatch } from './app-state.ts';
import { MAX_SQL_LENGTH, objectFrom, parseTab } from './parse-tab.ts';
import type { Store } from './store.ts';
import type { FrameTab, QueryTab, Tab, View } from './tabs.ts';

/** The open tabs. They are kept in a store, so that they are there after a reload. */
export interface TabList {
  readonly tabs: ReadonlySignal<readonly Tab[]>;
  readonly current: ReadonlySignal<Tab | undefined>;
  readonly select: (id: string) => void;
  /** Selects the next tab, or the previous one; after the last comes the first. */
  readonly step: (by: 1 | -1) => void;
  readonly close: (id: string) => void;
  /** Opens the tab that was closed last. */
  readonly reopen: () => void;
  readonly open: (tab: Tab) => void;
  readonly openFrame: (handle: string, view?: FrameTab['view']) => void;
  readonly openQuery: (sql: string, engine: EngineName) => void;
  readonly update: (id: string, patch: TabPatch) => void;
  readonly setView: (id: string, view: View) => void;
  /** Saves what was typed last: the page may end. */
  readonly flush: () => void;
  /** Replaces all tabs by those of another store: another tenant has signed in. */
  readonly load: (store: Store) => void;
}

const MAX_TABS = 100;
const MAX_CLOSED = 20;

export function createTabList(first: Store): TabList {
  let store = first;
  let closed: readonly Tab[] = [];
  const state = signal(readState(store));
  const set = (tabs: readonly Tab[], currentId: string | undefined, isTyped = false): void => {
    state.value = { tabs, currentId };
    if (isTyped) store.writeLater('tabs', () => savedState({ tabs, currentId }));
    else store.write('tabs', savedState({ tabs, currentId }));
  };
  const add = (tab: Tab): void => set([...state.value.tabs.slice(1 - MAX_TABS), tab], tab.id);
  const select = (id: string): void => set(state.value.tabs, id);
  const change = (id: string, changed: (tab: Tab) => Tab, isTyped = false): void => {
    const { tabs, currentId } = state.value;
    set(
      tabs.map((tab) => (tab.id === id ? changed(tab) : tab)),
      currentId,
      isTyped,
    );
  };
  const open = (tab: Tab): void => {
    const { tabs } = state.value;
    const same = tabs.find((other) => isSame(other, tab));
    if (same === undefined) return add(tabs.some(({ id }) => id === tab.id) ? { ...tab, id: newId() } : tab);
    select(same.id);
    if (same.kind === 'frame') change(same.id, () => ({ ...tab, id: same.id }));
  };
  return {
    tabs: computed(() => state.value.tabs),
    current: computed(() => state.value.tabs.find(({ id }) => id === state.value.currentId)),
    select,
    step(by) {
      const { tabs, currentId } = state.value;
      const at = tabs.findIndex(({ id }) => id === currentId);
      const next = tabs.at((at + by) % tabs.length);
      if (next) select(next.id);
    },
    close(id) {
      const { tabs, currentId } = state.value;
      const at = tabs.findIndex((tab) => tab.id === id);
      const tab = tabs[at];
      if (tab === undefined) return;
      closed = [...closed.slice(1 - MAX_CLOSED), tab];
      const rest = tabs.filter((other) => other !== tab);
      set(rest, currentId === id ? (rest[at] ?? rest[at - 1])?.id : currentId);
    },
    reopen() {
      const tab = closed.at(-1);
      closed = closed.slice(0, -1);
      if (tab) open(tab);
    },
    open,
    openFrame(handle, view) {
      const known = state.value.tabs.find((tab) => tab.kind === 'frame' && tab.handle === handle);
      if (known === undefined) return add({ kind: 'frame', id: newId(), handle, view: view ?? 'rows' });
      select(known.id);
      if (view) change(known.id, (tab) => withView(tab, view));
    },
    openQuery: (sql, engine) =>
      add({ kind: 'query', id: newId(), title: freeTitle(state.value.tabs), sql, engine, view: 'rows' }),
    // A patch of the other kind of tab is the caller's mistake; the parser of saved tabs ignores its fields.
    update: (id, patch) => change(id, (tab) => ({ ...tab, ...patch }), true),
    setView: (id, view) => change(id, (tab) => withView(tab, view)),
    flush: () => store.flush(),
    load(other) {
      store.flush();
      store = other;
      closed = [];
      state.value = readState(store);
    },
  };
}

function newId(): string {
  return uniqueId().slice(0, 8);
}

/** Returns the tab with another view; itself if it has no such view. */
function withView(tab: Tab, view: View): Tab {
  if (tab.kind === 'query') return view === 'info' ? tab : { ...tab, view };
  return view === 'plan' ? tab : { ...tab, view };
}

/** Whether a tab that is opened is there already: the same frame, or the same text for the same engine. */
function isSame(tab: Tab, other: Tab): boolean {
  if (tab.kind === 'frame') return other.kind === 'frame' && tab.handle === other.handle;
  return other.kind === 'query' && tab.sql === other.sql && tab.engine === other.engine;
}

/** Returns the first of q1, q2, … that no tab has. */
function freeTitle(tabs: readonly Tab[]): QueryTab['title'] {
  const titles = new Set(tabs.map((tab) => (tab.kind === 'query' ? tab.title : '')));
  let number = 1;
  while (titles.has(`q${number}`)) number++;
  return `q${number}`;
}

interface TabState {
  readonly tabs: readonly Tab[];
  readonly currentId: string | undefined;
}

/** Returns what is saved: a text that no storage takes must not keep the others from it. */
function savedState({ tabs, currentId }: TabState): TabState {
  return { tabs: tabs.filter((tab) => tab.kind === 'frame' || tab.sql.length <= MAX_SQL_LENGTH), currentId };
}

function readState(store: Store): TabState {
  const { tabs: saved, currentId } = objectFrom(store.read('tabs'));
  const parsed = (Array.isArray(saved) ? saved : []).slice(0, MAX_TABS).flatMap((value) => parseTab(value) ?? []);
  const tabs = parsed.filter(({ id }, index) => parsed.findIndex((other) => other.id === id) === index);
  return { tabs, currentId: (tabs.find(({ id }) => id === currentId) ?? tabs[0])?.id };
}
