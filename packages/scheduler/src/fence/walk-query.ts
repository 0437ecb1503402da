import { quoted } from '@svc/errors/internal';
import { denied, type Refusal, unreadable } from './refusal.ts';
import { isSymbol, isWord, type Token } from './token.ts';
import {
  hideTable,
  type Level,
  misplaced,
  peek,
  placeOf,
  takeName,
  type Walk,
  walkNames,
  walkParentheses,
} from './walk.ts';
import { COMMAND_WORDS } from './words.ts';

/** Walks over the start of a query: WITH, SELECT, VALUES, or a parenthesis. */
export function walkQueryStart(walk: Walk, level: Level): void {
  const token = peek(walk);
  if (isSymbol(token, '(')) {
    walkParentheses(walk, { with: 'query' });
    level.isQuery = true;
    level.canHaveWith = false;
    level.expected = undefined;
    return;
  }
  if (token?.kind !== 'name' || !walk.dialect.queryStarts.has(token.word)) throw noQuery(walk, token);
  const next = peek(walk, 1);
  if (next === undefined || [',', ')', '.'].some((symbol) => isSymbol(next, symbol))) throw misplaced(walk, token);
  walk.at += 1;
  if (token.word === 'with') {
    if (!level.canHaveWith) throw misplaced(walk, token);
    level.canHaveWith = false;
    walkWith(walk, level);
    return;
  }
  if (token.word === 'select' && peek(walk)?.kind === 'hint') walk.at += 1;
  level.isQuery = true;
  level.canHaveWith = false;
  level.canHaveFrom = token.word === 'select';
  level.list = token.word === 'from' ? 'relations' : 'other';
  level.expected = token.word === 'from' ? 'relation' : undefined;
}

function noQuery(walk: Walk, token: Token | undefined): Refusal {
  const hint = 'Write a query that starts with SELECT, WITH or VALUES.';
  if (token === undefined) return unreadable('The SQL has no query, or ends too early.', hint, placeOf(walk));
  if (token.kind === 'name' && COMMAND_WORDS.has(token.word)) {
    return denied(`${token.text.toUpperCase()} cannot run on the cluster: only queries can.`, hint, token.start);
  }
  return denied(`A query cannot start with ${quoted(token.text)}.`, hint, token.start);
}

/** Walks over the queries of WITH. Each can be named, as it is spelled, in those after it. */
function walkWith(walk: Walk, level: Level): void {
  const hint = 'Write WITH name AS (SELECT …).';
  if (isWord(peek(walk), 'recursive')) throw recursive(walk);
  walk.at -= 1;
  do {
    walk.at += 1;
    const name = takeName(walk);
    if (isSymbol(peek(walk), '(')) walkNames(walk);
    if (!isWord(peek(walk), 'as')) throw unreadable('WITH needs AS after a name.', hint, placeOf(walk));
    walk.at += 1;
    walkParentheses(walk, { with: 'query' });
    hideTable(walk, level, name.text);
  } while (isSymbol(peek(walk), ','));
}

/** An engine that ignores RECURSIVE reads a table of its own where the query names itself. */
function recursive(walk: Walk): Refusal {
  return denied('WITH RECURSIVE is not supported on the cluster.', 'Send engine=local to run it.', placeOf(walk));
}
