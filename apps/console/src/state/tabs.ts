import { type EngineName, HANDLE } from '../api/api.ts';
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { uniqueId } from '@svc/client/internal';
import type { Store } from './store.ts';
import { visibleText } from '../rows/row-source.ts';

/** The views of a tab. A query has no `info`, a frame no `plan`. */
export type View = 'rows' | 'chart' | 'summary' | 'plan' | 'info';

/** What a tab shows, as it is kept over a reload and shared by a link. Answers are not part of it. */
export type Tab = QueryTab | FrameTab;

export interface QueryTab {
  readonly kind: 'query';
  readonly id: string;
  readonly title: string;
  readonly sql: string;
  readonly engine: EngineName;
  readonly view: Exclude<View, 'info'>;
  readonly chart?: ChartChoice;
}

export interface FrameTab {
  readonly kind: 'frame';
  readonly id: string;
  readonly handle: string;
  readonly view: Exclude<View, 'plan'>;
  readonly chart?: ChartChoice;
}

/** What a tab can change of itself; its id and kind stay. */
export type TabPatch =
  Partial<Omit<QueryTab, 'id' | 'kind' | 'view'>> | Partial<Omit<FrameTab, 'id' | 'kind' | 'view'>>;

/** How many rows become one number. */
export type Aggregate = 'sum' | 'mean' | 'min' | 'max';

/** What a chart draws. */
export interface ChartChoice {
  readonly kind: 'line' | 'bar' | 'histogram' | 'ohlc';
  /** The column of the x axis. A histogram has none. */
  readonly x?: string;
  /** The drawn columns; for `ohlc` open, high, low and close, or one column for all of them. */
  readonly y: readonly string[];
  /** The column whose values split a line into several. */
  readonly by?: string;
  /** How the rows of a bar become one number. Default: `sum`. Bars without `y` count rows. */
  readonly aggregate?: Aggregate;
}

/** The open tabs. A store keeps them over a reload. */
export interface TabList {
  readonly tabs: ReadonlySignal<readonly Tab[]>;
  readonly currentTab: ReadonlySignal<Tab | undefined>;
  readonly selectTab: (id: string) => void;
  /** Selects the next tab, or the previous one; after the last comes the first. */
  readonly stepTab: (by: 1 | -1) => void;
  readonly closeTab: (id: string) => void;
  /** Reopens the last closed tab. */
  readonly reopenTab: () => void;
  /** Opens the tab of a link; an open frame is only shown. */
  readonly openTab: (tab: Tab) => void;
  /** Shows the tab of a frame; opens it if there is none. */
  readonly openFrame: (handle: string, view?: FrameTab['view']) => void;
  /** Opens a new query tab. It does not run. */
  readonly openQuery: (sql: string, engine: EngineName) => void;
  readonly updateTab: (id: string, patch: TabPatch) => void;
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
  const selectTab = (id: string): void => set(state.value.tabs, id);
  const change = (id: string, changed: (tab: Tab) => Tab, isTyped = false): void => {
    const { tabs, currentId } = state.value;
    set(
      tabs.map((tab) => (tab.id === id ? changed(tab) : tab)),
      currentId,
      isTyped,
    );
  };
  const openTab = (tab: Tab): void => {
    const { tabs } = state.value;
    const same = tabs.find((other) => isSame(other, tab));
    if (same === undefined) return add(tabs.some(({ id }) => id === tab.id) ? { ...tab, id: newId() } : tab);
    selectTab(same.id);
    if (same.kind === 'frame') change(same.id, () => ({ ...tab, id: same.id }));
  };
  return {
    tabs: computed(() => state.value.tabs),
    currentTab: computed(() => state.value.tabs.find(({ id }) => id === state.value.currentId)),
    selectTab,
    stepTab(by) {
      const { tabs, currentId } = state.value;
      const at = tabs.findIndex(({ id }) => id === currentId);
      const next = tabs.at((at + by) % tabs.length);
      if (next) selectTab(next.id);
    },
    closeTab(id) {
      const { tabs, currentId } = state.value;
      const at = tabs.findIndex((tab) => tab.id === id);
      const tab = tabs[at];
      if (tab === undefined) return;
      closed = [...closed.slice(1 - MAX_CLOSED), tab];
      const rest = tabs.filter((other) => other !== tab);
      set(rest, currentId === id ? (rest[at] ?? rest[at - 1])?.id : currentId);
    },
    reopenTab() {
      const tab = closed.at(-1);
      closed = closed.slice(0, -1);
      if (tab) openTab(tab);
    },
    openTab,
    openFrame(handle, view) {
      const known = state.value.tabs.find((tab) => tab.kind === 'frame' && tab.handle === handle);
      if (known === undefined) return add({ kind: 'frame', id: newId(), handle, view: view ?? 'rows' });
      selectTab(known.id);
      if (view) change(known.id, (tab) => withView(tab, view));
    },
    openQuery: (sql, engine) =>
      add({ kind: 'query', id: newId(), title: freeTitle(state.value.tabs), sql, engine, view: 'rows' }),
    // A patch of the other kind of tab is the caller's mistake; the parser of saved tabs ignores its fields.
    updateTab: (id, patch) => change(id, (tab) => ({ ...tab, ...patch }), true),
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

/** True if a tab is there already: the same frame, or the same text for the same engine. */
function isSame(tab: Tab, other: Tab): boolean {
  if (tab.kind === 'frame') return other.kind === 'frame' && tab.handle === other.handle;
  return other.kind === 'query' && tab.sql === other.sql && tab.engine === other.engine;
}

/** Returns the first free title of q1, q2, … */
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

/** Returns what is saved: a text too long for storage must not keep the others from it. */
function savedState({ tabs, currentId }: TabState): TabState {
  return { tabs: tabs.filter((tab) => tab.kind === 'frame' || tab.sql.length <= MAX_SQL_LENGTH), currentId };
}

function readState(store: Store): TabState {
  const { tabs: saved, currentId } = objectFrom(store.read('tabs'));
  const parsed = (Array.isArray(saved) ? saved : []).slice(0, MAX_TABS).flatMap((value) => parseTab(value) ?? []);
  const tabs = parsed.filter(({ id }, index) => parsed.findIndex((other) => other.id === id) === index);
  return { tabs, currentId: (tabs.find(({ id }) => id === currentId) ?? tabs[0])?.id };
}

export const ENGINES: readonly EngineName[] = ['local', 'tsdb', 'scheduler'];
const QUERY_VIEWS: readonly QueryTab['view'][] = ['rows', 'chart', 'summary', 'plan'];
const FRAME_VIEWS: readonly FrameTab['view'][] = ['rows', 'chart', 'summary', 'info'];
const AGGREGATES: readonly Aggregate[] = ['sum', 'mean', 'min', 'max'];
const CHART_KINDS: readonly ChartChoice['kind'][] = ['line', 'bar', 'histogram', 'ohlc'];

/** The most characters of saved SQL. */
const MAX_SQL_LENGTH = 1_000_000;

/** Returns the tab in a value of a link or of the browser's storage; undefined if there is none. Its id is the value's. */
export function parseTab(value: unknown): Tab | undefined {
  const fields = objectFrom(value);
  const { id } = fields;
  if (typeof id !== 'string' || id === '') return undefined;
  const chart = parseChart(fields['chart']);
  const common = { id, ...(chart && { chart }) };
  if (fields['kind'] === 'frame' && isText(fields['handle'], 128) && HANDLE.test(fields['handle'])) {
    return { ...common, kind: 'frame', handle: fields['handle'], view: oneOf(FRAME_VIEWS, fields['view']) ?? 'rows' };
  }
  const engine = oneOf(ENGINES, fields['engine']);
  if (fields['kind'] !== 'query' || engine === undefined || !isText(fields['sql'], MAX_SQL_LENGTH)) return undefined;
  const title = isText(fields['title'], 100) ? visibleText(fields['title']) : 'query';
  return {
    ...common,
    kind: 'query',
    title,
    sql: fields['sql'],
    engine,
    view: oneOf(QUERY_VIEWS, fields['view']) ?? 'rows',
  };
}

function parseChart(value: unknown): ChartChoice | undefined {
  const { kind: given, x, y, by, aggregate: wanted } = objectFrom(value);
  const aggregate = oneOf(AGGREGATES, wanted);
  const kind = oneOf(CHART_KINDS, given);
  if (kind === undefined || !Array.isArray(y) || y.length > 100 || !y.every((name) => typeof name === 'string')) {
    return undefined;
  }
  return {
    kind,
    y,
    ...(typeof x === 'string' && { x }),
    ...(typeof by === 'string' && { by }),
    ...(aggregate && { aggregate }),
  };
}

function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length <= maxLength;
}

/** Returns a value if it is one of the names, else undefined. */
export function oneOf<T extends string>(names: readonly T[], value: unknown): T | undefined {
  return names.find((name) => name === value);
}

/** Returns the fields of an object; none if the value is something else. */
export function objectFrom(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
