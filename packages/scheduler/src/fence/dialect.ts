import type { Token } from './token.ts';

/** What SQL may say in a dialect. Words are in lower case. */
export interface Dialect {
  /** Splits a statement into tokens. */
  readonly lex: (sql: string) => Promise<Token[]>;
  /** The words a query can start with. */
  readonly queryStarts: ReadonlySet<string>;
  /** The functions that can be called after FROM. */
  readonly tableFunctions: ReadonlySet<string>;
  /** Words that keep their meaning before a parenthesis, so that they call nothing. */
  readonly wordsBeforeParenthesis: ReadonlySet<string>;
  /** All words with a meaning: one of them at the end of an operand is ambiguous. */
  readonly keywords: ReadonlySet<string>;
  /** Whether `x IN t` reads the table t. */
  readonly readsTablesAfterIn: boolean;
  /** Throws if a function must not be called. */
  readonly checkFunction: (name: Token) => void;
  /** Throws if a name must not be used at all. `next` is the token after it. */
  readonly checkName: (name: Token, previous: Token | undefined, next: Token | undefined) => void;
  /** Throws if a table must not have this alias before the names of its columns, since that looks like a call. */
  readonly checkAlias: (alias: Token) => void;
  /** How to quote a name, for hints. */
  readonly quote: (name: string) => string;
}
