import type { Api, ColumnInfo, EngineName } from '../api/api.ts';
import { askTable } from '../api/statements.ts';
import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { AppState } from '../state/app-state.ts';

/** A function of an engine. */
export interface FunctionInfo {
  readonly name: string;
  /** `(bucket_width, timestamp)`; of several forms the shortest. */
  readonly signature: string;
  readonly description: string;
  /** True if it is used after FROM. */
  readonly isTable: boolean;
}

/** A table for SQL: a frame, or a table of the time-series database. */
export interface TableInfo {
  readonly name: string;
  readonly columns: readonly ColumnInfo[];
}

/** The words of an engine. */
export interface Vocabulary {
  readonly functions: readonly FunctionInfo[];
  readonly keywords: readonly string[];
}

/** What can be completed. */
export interface CompletionWords extends Vocabulary {
  readonly tables: readonly TableInfo[];
}

/** The words before the server has told its own, and if it cannot. */
export const BASIC_VOCABULARY: Vocabulary = {
  functions: [],
  keywords:
    `all and any as asc between by case cast cross desc describe distinct else end except exists explain false from full
    group having in inner intersect interval into is join lateral left like limit not null offset on or order outer over
    partition right select show summarize then true union using values when where window with`.split(/\s+/),
};

const FRAME_FUNCTIONS = `select function_name, arg_min(list_aggregate(parameters, 'string_agg', ', '), len(parameters)),
  any_value(description), bool_or(function_type in ('table', 'table_macro'))
  from duckdb_functions() where function_type <> 'pragma' and regexp_full_match(function_name, '[a-z_][a-z0-9_]*')
  and not starts_with(function_name, '__') group by function_name order by function_name`;
const FRAME_KEYWORDS = 'select distinct keyword_name from duckdb_keywords() order by keyword_name';
const TSDB_FUNCTIONS = 'select name, signature from functions()';
const TSDB_KEYWORDS = 'select keyword from keywords()';

/** Loads the words of an engine. It does not throw: without them the basic ones are completed. */
async function loadVocabulary(api: Api, engine: EngineName): Promise<Vocabulary> {
  const isTsdb = engine === 'tsdb';
  const target = isTsdb ? 'tsdb' : 'local';
  const load = (sql: string): Promise<readonly (readonly unknown[])[]> => loadRows(api, target, sql).catch(() => []);
  const [functions, keywords] = await Promise.all([
    load(isTsdb ? TSDB_FUNCTIONS : FRAME_FUNCTIONS),
    load(isTsdb ? TSDB_KEYWORDS : FRAME_KEYWORDS),
  ]);
  return {
    functions: isTsdb ? tsdbFunctions(functions) : functions.flatMap(frameFunction),
    keywords: keywords.length > 0 ? keywords.map(([word]) => String(word)) : BASIC_VOCABULARY.keywords,
  };
}

/** Loads the tables of the time-series database with their columns. */
async function loadTsdbTables(api: Api): Promise<readonly TableInfo[]> {
  const sql = 'select table_name, column_name, data_type from information_schema.columns()';
  const tables = new Map<string, ColumnInfo[]>();
  for (const [table, name, type] of await loadRows(api, 'tsdb', sql)) {
    const columns = tables.get(String(table)) ?? [];
    columns.push({ name: String(name), type: String(type) });
    tables.set(String(table), columns);
  }
  return [...tables].map(([name, columns]) => ({ name, columns }));
}

async function loadRows(api: Api, engine: EngineName, sql: string): Promise<readonly (readonly unknown[])[]> {
  return (await askTable(api, sql, { engine, limit: 10_000 })).rows;
}

function frameFunction([name, parameters, description, isTable]: readonly unknown[]): FunctionInfo {
  return {
    name: String(name),
    signature: `(${typeof parameters === 'string' ? parameters : ''})`,
    description: typeof description === 'string' ? description : '',
    isTable: isTable === true,
  };
}

/** The database lists each form of a function; its operators are no names. */
function tsdbFunctions(rows: readonly (readonly unknown[])[]): readonly FunctionInfo[] {
  const names = new Set(rows.map(([name]) => String(name)).filter((name) => /^[a-z_]\w*$/i.test(name)));
  return [...names].toSorted().map((name) => ({ name, signature: '(…)', description: '', isTable: false }));
}

/** The words of each engine. They are loaded when an engine is first used, and shared by all tabs. */
export interface Words {
  of(engine: EngineName): ReadonlySignal<CompletionWords>;
}

/** Creates the completion words of an app's editors. */
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
