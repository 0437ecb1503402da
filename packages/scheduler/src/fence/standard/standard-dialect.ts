import type { Dialect } from '../dialect.ts';
import { denied } from '../refusal.ts';
import { isSymbol, type Token, wordsIn } from '../token.ts';
import { COMMAND_WORDS, STRUCTURE_WORDS, WORDS_BEFORE_PARENTHESIS } from '../words.ts';
import { lexStandard } from './lex-standard.ts';
import { isRefusedFunction } from './refused-functions.ts';

/** These name functions without parentheses too. Not so `user`: too many columns have that name. */
const REFUSED_NAMES = new Set(
  wordsIn('current_catalog current_role current_schema current_user session_user system_user'),
);

/** Words that end a query with instructions for the engine, if another name follows. */
const ENDINGS = new Set(['format', 'settings']);
const AFTER_COLUMN = new Set(['as', 'asc', 'desc', 'from', 'in', 'is', 'like', 'not', 'nulls']);

/** SQL as the standard says, for engines that speak Flight SQL. Their functions are many, so this refuses known dangers. */
export const STANDARD: Dialect = {
  lex: lexStandard,
  queryStarts: new Set(['from', 'select', 'values', 'with']),
  tableFunctions: new Set(['generate_series', 'range', 'unnest']),
  wordsBeforeParenthesis: new Set([...WORDS_BEFORE_PARENTHESIS, 'interval']),
  keywords: new Set([...STRUCTURE_WORDS, ...COMMAND_WORDS]),
  readsTablesAfterIn: true,
  checkFunction,
  checkName,
  checkAlias: checkFunction,
  quote: (name) => `"${name}"`,
};

function checkFunction(name: Token): void {
  if (!isRefusedFunction(name.word)) return;
  const message = `The function ${name.text} does more than to compute a value.`;
  throw denied(message, 'Write the SQL without it.', name.start);
}

function checkName(name: Token, previous: Token | undefined, next: Token | undefined): void {
  if (REFUSED_NAMES.has(name.word) && !isSymbol(previous, '.')) {
    const message = `${name.text} shows more of the cluster than frames.`;
    throw denied(message, 'Put the name of its table before it, if it is a column.', name.start);
  }
  if (name.kind !== 'name') return;
  const endsQuery = ENDINGS.has(name.word) && next?.kind === 'name' && !AFTER_COLUMN.has(next.word);
  if (name.word === 'into' || endsQuery) {
    const message = `${name.text.toUpperCase()} is not supported: it tells the engine where or how to write.`;
    throw denied(message, `If it is a name, write "${name.text}".`, name.start);
  }
}
