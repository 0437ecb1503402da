import { denied, isSymbol, type Lexicon, type Token, wordsIn } from './lexer.ts';

/** What SQL may say in a dialect. Words are in lower case. */
export interface Dialect extends Lexicon {
  /** The words a query can start with. */
  readonly queryStarts: ReadonlySet<string>;
  /** The functions allowed after FROM. */
  readonly tableFunctions: ReadonlySet<string>;
  /** Words that keep their meaning before a parenthesis: they call nothing. */
  readonly wordsBeforeParenthesis: ReadonlySet<string>;
  /** All words with a meaning: one of them at the end of an operand is ambiguous. */
  readonly keywords: ReadonlySet<string>;
  /** True if `x IN t` reads the table t. */
  readonly readsTablesAfterIn: boolean;
  /** Throws if a function must not be called. */
  readonly checkFunction: (name: Token) => void;
  /** Throws if a name must not be used at all. `next` is the token after it. */
  readonly checkName: (name: Token, previous: Token | undefined, next: Token | undefined) => void;
  /** Throws if a table must not have this alias before the names of its columns: it looks like a call. */
  readonly checkAlias: (alias: Token) => void;
  /** How to quote a name, for hints. */
  readonly quote: (name: string) => string;
}

/** Refuses words that call a function without parentheses, unless they follow a dot. */
export function checkSelfNaming(refused: ReadonlySet<string>, name: Token, previous: Token | undefined): void {
  if (!refused.has(name.word) || isSymbol(previous, '.')) return;
  const message = `${name.text} shows more of the cluster than frames.`;
  throw denied(message, 'Put the name of its table before it, if it is a column.', name.start);
}

/**
 * Structure words of queries. Without quotes they name nothing here, although some engines allow it: a text
 * must not have a second reading in which a table stands at another place.
 */
export const STRUCTURE_WORDS: ReadonlySet<string> = new Set(
  wordsIn(`all and anti any as asof between by case cluster cross cube distinct distribute else except exists fetch for
    from full group having identifier in inner intersect into is join lateral left like limit match_condition
    minus natural nearest not of offset on or order outer pivot qualify recursive right rollup select semi set sets sort
    stream table tablesample then union unpivot using values view when where window with within`),
);

/** The first words of statements other than queries. */
export const COMMAND_WORDS: ReadonlySet<string> = new Set(
  wordsIn(`add alter analyze attach auto begin cache call checkpoint clear comment commit copy create declare delete desc
    describe detach drop execute exit explain export force from get grant handle import insert install kill list load lock map
    merge move msck open optimize pragma prepare purge put reduce refresh rename repair replace reset restore revoke rollback
    savepoint set show start summarize system table truncate unarchive uncache undrop unload unlock unset update upsert use
    vacuum watch`),
);

/** Words with the same meaning before a parenthesis, in every dialect. */
export const WORDS_BEFORE_PARENTHESIS: readonly string[] =
  wordsIn(`all and any as between by case cube distinct div else
  except exists filter for from group having ilike in intersect is join lateral like limit match_condition minus not nulls
  offset on or over pivot qualify regexp repeatable rlike rollup select sets some tablesample then union unpivot using
  values when where within char character dec decimal numeric timestamp varchar`);
