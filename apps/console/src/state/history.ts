import { type ReadonlySignal, signal } from '@preact/signals';
import type { EngineName } from '../api/api.ts';
import { uniqueId } from '@svc/client/internal';
import { ENGINES, objectFrom, oneOf } from './tabs.ts';
import type { Store } from './store.ts';

/** A run of SQL and its outcome. */
export interface HistoryEntry {
  readonly id: string;
  readonly sql: string;
  readonly engine: EngineName;
  /** When it was run, in milliseconds since 1970. */
  readonly ranAtMs: number;
  readonly outcome: 'done' | 'failed' | 'cancelled';
  readonly elapsedMs: number;
  /** The rows of the answer, if there was one. */
  readonly rows?: number;
  readonly isStarred?: boolean;
}

/** The SQL run in this browser, newest first. */
export interface History {
  readonly entries: ReadonlySignal<readonly HistoryEntry[]>;
  /** Adds an entry. The same SQL on the same engine moves to the top and keeps its star. */
  add(entry: Omit<HistoryEntry, 'id' | 'isStarred'>): void;
  star(id: string, isStarred: boolean): void;
  /** Removes all entries, starred ones too. */
  forgetAll(): void;
  /** Shows the entries of another store instead: another tenant has signed in. */
  load(store: Store): void;
  /** Takes over what another page of this browser has written. */
  follow(): void;
}

/** How many entries without a star are kept, and how many with one. */
const MAX_ENTRIES = 200;
const MAX_STARRED = 500;

/** Longer SQL is run but not remembered: storage of browsers is small. */
const MAX_SQL_LENGTH = 20_000;

/** Creates the history of a store. */
export function createHistory(first: Store): History {
  let store = first;
  const entries = signal<readonly HistoryEntry[]>(readEntries(store.read('history')));
  const set = (list: readonly HistoryEntry[]): void => {
    entries.value = newest(list);
    store.write('history', entries.value);
  };
  return {
    entries,
    add(entry) {
      if (entry.sql.trim() === '' || entry.sql.length > MAX_SQL_LENGTH) return;
      const isSame = (other: HistoryEntry): boolean => other.sql === entry.sql && other.engine === entry.engine;
      const before = entries.value.find(isSame);
      const id = before?.id ?? uniqueId();
      const added: HistoryEntry = { ...entry, id, ...(before?.isStarred && { isStarred: true }) };
      set([added, ...entries.value.filter((other) => other !== before)]);
    },
    star: (id, isStarred) => set(entries.value.map((entry) => (entry.id === id ? { ...entry, isStarred } : entry))),
    forgetAll: () => set([]),
    load(other) {
      store = other;
      entries.value = readEntries(store.read('history'));
    },
    follow() {
      const saved = store.read('history');
      // A store without memory has nothing of other pages.
      if (saved !== undefined) entries.value = readEntries(saved);
    },
  };
}

function newest(list: readonly HistoryEntry[]): readonly HistoryEntry[] {
  let plain = 0;
  let starred = 0;
  return list.filter(({ isStarred }) => (isStarred ? ++starred <= MAX_STARRED : ++plain <= MAX_ENTRIES));
}

const OUTCOMES: readonly HistoryEntry['outcome'][] = ['done', 'failed', 'cancelled'];
/** The last moment of JavaScript's dates; it is below the largest exact integer, too. */
const MAX_NUMBER = 8.64e15;

/** Returns the valid entries of what storage had; each id once. */
function readEntries(value: unknown): readonly HistoryEntry[] {
  const ids = new Set<string>();
  const parsed = (Array.isArray(value) ? value : []).flatMap((one) => parseEntry(one) ?? []);
  return newest(parsed.filter(({ id }) => !ids.has(id) && ids.add(id)));
}

function parseEntry(value: unknown): HistoryEntry | undefined {
  const { id, sql, engine: engineName, ranAtMs, outcome: end, elapsedMs, rows, isStarred } = objectFrom(value);
  const engine = oneOf(ENGINES, engineName);
  const outcome = oneOf(OUTCOMES, end);
  if (typeof id !== 'string' || typeof sql !== 'string' || sql.length > MAX_SQL_LENGTH) return undefined;
  if (engine === undefined || outcome === undefined) return undefined;
  if (!isNumber(ranAtMs) || !isNumber(elapsedMs)) return undefined;
  const isCounted = isNumber(rows) && Number.isInteger(rows);
  const result = { ...(isCounted && { rows }), ...(isStarred === true && { isStarred }) };
  return { id, sql, engine, ranAtMs, outcome, elapsedMs, ...result };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_NUMBER;
}
