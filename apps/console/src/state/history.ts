import { type ReadonlySignal, signal } from '@preact/signals';
import type { EngineName } from '../api/types.ts';
import { uniqueId } from '../api/unique-id.ts';
import type { Store } from './store.ts';

/** SQL that was run, and what became of it. */
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

/** The SQL that was run in this browser, newest first. */
export interface History {
  readonly entries: ReadonlySignal<readonly HistoryEntry[]>;
  /** Adds an entry. The same SQL on the same engine moves to the top and keeps its star. */
  add(entry: Omit<HistoryEntry, 'id' | 'isStarred'>): void;
  star(id: string, isStarred: boolean): void;
  /** Removes all entries, starred ones too. */
  forgetAll(): void;
  /** Shows the entries of another store instead: another tenant has signed in. */
  load(store: Store): void;
}

/** How many entries without a star are kept. */
const MAX_ENTRIES = 200;

/** Longer SQL is run but not remembered: storage of browsers is small. */
const MAX_SQL_LENGTH = 20_000;

/** Creates the history that a store keeps. */
export function createHistory(first: Store): History {
  let store = first;
  const entries = signal<readonly HistoryEntry[]>(readEntries(store.read('history')));
  const set = (list: readonly HistoryEntry[]): void => {
    let plain = 0;
    entries.value = list.filter(({ isStarred }) => isStarred || ++plain <= MAX_ENTRIES);
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
  };
}

/** Returns the valid entries of what storage had. */
function readEntries(value: unknown): readonly HistoryEntry[] {
  return Array.isArray(value) ? value.filter(isEntry) : [];
}

function isEntry(value: unknown): value is HistoryEntry {
  const entry: Partial<HistoryEntry> = typeof value === 'object' && value !== null ? value : {};
  return (
    typeof entry.id === 'string' &&
    typeof entry.sql === 'string' &&
    typeof entry.engine === 'string' &&
    typeof entry.ranAtMs === 'number' &&
    typeof entry.elapsedMs === 'number' &&
    typeof entry.outcome === 'string'
  );
}
