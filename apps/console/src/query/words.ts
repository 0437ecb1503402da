import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { EngineName } from '../api/types.ts';
import type { CompletionWords } from '../editor/complete.ts';
import {
  BASIC_VOCABULARY,
  loadTsdbTables,
  loadVocabulary,
  type TableInfo,
  type Vocabulary,
} from '../editor/vocabulary.ts';
import type { AppState } from '../state/app-state.ts';

/** The words of each engine. They are loaded when an engine is first used, and shared by all tabs. */
export interface Words {
  of(engine: EngineName): ReadonlySignal<CompletionWords>;
}

/** Creates the words that the editors of an app complete. */
export function createWords(app: Pick<AppState, 'api' | 'frames' | 'info'>): Words {
  const frames = computed(() =>
    app.frames.value.map(({ handle, columns }): TableInfo => ({ name: handle, columns: columns ?? [] })),
  );
  const byEngine = new Map<EngineName, ReadonlySignal<CompletionWords>>();

  function load(engine: EngineName): ReadonlySignal<CompletionWords> {
    const vocabulary = signal<Vocabulary>(BASIC_VOCABULARY);
    const tsdbTables = signal<readonly TableInfo[]>([]);
    // The server must be known first: it may have no such engine.
    const stop = effect(() => {
      if (!app.info.value?.engines.includes(engine)) return;
      queueMicrotask(() => stop());
      void loadVocabulary(app.api, engine).then((loaded) => (vocabulary.value = loaded));
      if (engine !== 'tsdb') return;
      loadTsdbTables(app.api).then(
        (tables) => (tsdbTables.value = tables),
        () => undefined,
      );
    });
    const tables = engine === 'tsdb' ? tsdbTables : frames;
    return computed(() => ({ ...vocabulary.value, tables: tables.value }));
  }

  return {
    of(engine) {
      const words = byEngine.get(engine) ?? load(engine);
      byEngine.set(engine, words);
      return words;
    },
  };
}
