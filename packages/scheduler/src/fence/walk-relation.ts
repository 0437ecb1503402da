import { quoted } from '@svc/errors/internal';
import { denied, unreadable } from './refusal.ts';
import { isName, isSymbol, isWord, type Token } from './token.ts';
import { isStructure, type Level, misplaced, peek, placeOf, takeName, type Walk } from './walk.ts';
import { walkNames, walkParentheses } from './walk.ts';
import { COMMAND_WORDS } from './words.ts';

const FRAMES_HINT = 'Name a frame, or a query of WITH, after FROM.';

/** Walks over a table after FROM, JOIN or a comma, with its alias. */
export function walkRelation(walk: Walk, level: Level): void {
  level.expected = undefined;
  if (isWord(peek(walk), 'lateral')) walk.at += 1;
  const token = peek(walk);
  if (isSymbol(token, '(')) walkParentheses(walk, { with: 'relation' });
  else if (isWord(token, 'values')) walkRows(walk);
  else walkTable(walk);
  walkAlias(walk);
}

function walkTable(walk: Walk): void {
  const token = peek(walk);
  if (token === undefined) throw unreadable('A table is missing.', FRAMES_HINT, placeOf(walk));
  if (!isName(token)) throw denied(`${quoted(token.text)} is not the name of a frame.`, FRAMES_HINT, token.start);
  if (isStructure(token) || (token.kind === 'name' && COMMAND_WORDS.has(token.word))) throw misplaced(walk, token);
  const next = peek(walk, 1);
  if (isSymbol(next, '.')) {
    const hint = `${FRAMES_HINT} Quote a handle that contains a dot.`;
    throw denied(`A table after ${quoted(token.text)} and a dot is not a frame.`, hint, token.start);
  }
  if (isSymbol(next, '(')) {
    checkTableFunction(walk, token);
    walk.at += 1;
    walkParentheses(walk, { with: 'any' });
    return;
  }
  takeName(walk);
  if (!walk.hidden.has(token.text)) walk.tables.push({ name: token.text, start: token.start });
}

function checkTableFunction(walk: Walk, token: Token): void {
  const { tableFunctions } = walk.dialect;
  if (token.kind === 'name' && tableFunctions.has(token.word)) return;
  const hint = `${FRAMES_HINT} Functions that make rows: ${[...tableFunctions].join(', ')}.`;
  throw denied(`The function ${token.text} cannot be used as a table.`, hint, token.start);
}

/** Walks over VALUES after FROM. A further row must not look like a table in parentheses. */
function walkRows(walk: Walk): void {
  for (;;) {
    walk.at += 1;
    walkParentheses(walk, { with: 'any' });
    if (!isSymbol(peek(walk), ',') || !isSymbol(peek(walk, 1), '(')) return;
    const first = peek(walk, 2);
    if (couldBeTable(first, peek(walk, 3))) {
      const hint = 'Put VALUES into parentheses: FROM (VALUES (1), (2)) AS t.';
      throw denied('This row could be read as a table.', hint, first?.start ?? placeOf(walk));
    }
  }
}

function couldBeTable(token: Token | undefined, next: Token | undefined): boolean {
  if (isSymbol(token, '(') || token?.kind === 'quoted') return true;
  if (token?.kind !== 'name' || ['null', 'true', 'false'].includes(token.word)) return false;
  return !isSymbol(next, '(') && next?.kind !== 'string';
}

/** Walks over `AS t (a, b)`, if it is there. */
function walkAlias(walk: Walk): void {
  const hasAs = isWord(peek(walk), 'as');
  if (hasAs) walk.at += 1;
  const token = peek(walk);
  if (!hasAs && (!isName(token) || isStructure(token))) return;
  const alias = takeName(walk);
  if (!isSymbol(peek(walk), '(')) return;
  walk.dialect.checkAlias(alias);
  walkNames(walk);
}
