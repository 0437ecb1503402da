import type { Dialect } from './dialect.ts';
import { denied, type Refusal, unreadable } from './refusal.ts';
import { isName, isSymbol, type Token } from './token.ts';
import { STRUCTURE_WORDS } from './words.ts';

/** A table that a statement reads. */
export interface TableReference {
  /** As it is spelled, without quotes. */
  readonly name: string;
  /** In UTF-16 code units. */
  readonly start: number;
}

/** One level of parentheses or brackets: what it is, and what it has shown so far. */
export interface Level {
  /** Its end: a closing bracket, or nothing for the whole statement. */
  readonly closing: ')' | ']' | undefined;
  /** Whether a FROM can follow that separates operands, as in `extract(year FROM day)`. */
  hasOperands: boolean;
  /** The CTEs that it defines. */
  readonly names: string[];
  /** What must come next, if that is certain. */
  expected: 'query' | 'relation' | undefined;
  /** What a comma at this level separates. */
  list: 'relations' | 'other';
  /** Whether a FROM clause can follow. */
  canHaveFrom: boolean;
  /** Whether WITH can follow. */
  canHaveWith: boolean;
  /** Whether this level has a query, so that a set operation can follow. */
  isQuery: boolean;
}

/** How a level begins: with a query, with a table after FROM, or with anything that an expression can have. */
export interface Opening {
  readonly with: 'query' | 'relation' | 'any';
  readonly closing: Level['closing'];
  readonly hasOperands?: boolean;
}

/** The state of a walk over the tokens of a statement. */
export interface Walk {
  readonly tokens: readonly Token[];
  readonly dialect: Dialect;
  readonly tables: TableReference[];
  /** The CTEs that can be named here, by their exact spelling: some engines compare it. How many levels define each. */
  readonly hidden: Map<string, number>;
  /** The index of the next token. */
  at: number;
  depth: number;
  /** Walks over a level and its closing bracket. */
  readonly walkLevel: (opening: Opening) => void;
}

/** Returns the next token, or one at an offset from it. */
export function peek(walk: Walk, offset = 0): Token | undefined {
  return walk.tokens[walk.at + offset];
}

/** Returns the position of the next token, or of the end of the last one. */
export function placeOf(walk: Walk): number {
  const last = walk.tokens.at(-1);
  return peek(walk)?.start ?? (last === undefined ? 0 : last.start + last.text.length);
}

/** Walks over the content of parentheses, whose opening one comes next. */
export function walkParentheses(walk: Walk, opening: Omit<Opening, 'closing'>): void {
  if (!isSymbol(peek(walk), '(')) throw unreadable('A parenthesis is missing.', 'Write ( here.', placeOf(walk));
  walk.at += 1;
  walk.walkLevel({ ...opening, closing: ')' });
}

/** Takes a name that is no word of structure. */
export function takeName(walk: Walk): Token {
  const token = peek(walk);
  if (!isName(token)) throw unreadable('A name is missing.', 'Write a name here.', placeOf(walk));
  if (isStructure(token)) throw misplaced(walk, token);
  walk.dialect.checkName(token, peek(walk, -1), peek(walk, 1));
  walk.at += 1;
  return token;
}

/** Walks over names in parentheses, whose opening one comes next. */
export function walkNames(walk: Walk): void {
  do {
    walk.at += 1;
    takeName(walk);
  } while (isSymbol(peek(walk), ','));
  if (!isSymbol(peek(walk), ')')) {
    throw unreadable('Only names can be listed here.', 'Write (a, b).', placeOf(walk));
  }
  walk.at += 1;
}

/** Defines a CTE, up to the end of the level. */
export function hideTable({ hidden }: Walk, { names }: Level, name: string): void {
  names.push(name);
  hidden.set(name, (hidden.get(name) ?? 0) + 1);
}

/** Ends the definitions of a level. */
export function showTables({ hidden }: Walk, { names }: Level): void {
  for (const name of names) {
    const count = (hidden.get(name) ?? 0) - 1;
    if (count > 0) hidden.set(name, count);
    else hidden.delete(name);
  }
}

/** Whether a token is a word of structure. */
export function isStructure(token: Token | undefined): boolean {
  return token?.kind === 'name' && STRUCTURE_WORDS.has(token.word);
}

/** Whether a token is a word that starts a query. */
export function isQueryStart(walk: Walk, token: Token | undefined): boolean {
  return token?.kind === 'name' && (walk.dialect.queryStarts.has(token.word) || token.word === 'table');
}

/** The refusal of a word that has a meaning of its own, at a place at which it could be a name. */
export function misplaced(walk: Walk, token: Token): Refusal {
  const quote = walk.dialect.quote(token.text);
  return denied(`${token.text.toUpperCase()} cannot be used here.`, `If it is a name, write ${quote}.`, token.start);
}
