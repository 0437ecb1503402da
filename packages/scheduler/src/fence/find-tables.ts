import { counted } from '@svc/errors/internal';
import type { Dialect } from './dialect.ts';
import { type Refusal, unreadable } from './refusal.ts';
import { isSymbol, type Token } from './token.ts';
import {
  isQueryStart,
  type Level,
  type Opening,
  peek,
  placeOf,
  showTables,
  type TableReference,
  type Walk,
} from './walk.ts';
import { walkToken } from './walk-expression.ts';
import { walkQueryStart } from './walk-query.ts';
import { walkRelation } from './walk-relation.ts';

/** How deep parentheses can be nested. */
const MAX_DEPTH = 200;

/**
 * Walks over the tokens of a statement and returns the tables that it reads, without its CTEs. Refuses everything but one
 * query, and everything in it that could have another meaning than the one found here.
 */
export function findTables(tokens: readonly Token[], dialect: Dialect): readonly TableReference[] {
  const walk: Walk = {
    tokens,
    dialect,
    tables: [],
    hidden: new Map(),
    at: 0,
    depth: 0,
    walkLevel: (opening) => walkLevel(walk, opening),
  };
  walk.walkLevel({ with: 'query', closing: undefined });
  return walk.tables;
}

function walkLevel(walk: Walk, opening: Opening): void {
  walk.depth += 1;
  if (walk.depth > MAX_DEPTH) {
    const message = `The SQL is nested more than ${counted(MAX_DEPTH, 'level')} deep.`;
    throw unreadable(message, 'Name parts of it with WITH.', placeOf(walk));
  }
  const level = levelOf(walk, opening);
  for (;;) {
    const token = peek(walk);
    if (level.expected === 'query') walkQueryStart(walk, level);
    else if (level.expected === 'relation') walkRelation(walk, level);
    else if (token === undefined || isSymbol(token, ')') || isSymbol(token, ']')) break;
    else walkToken(walk, token, level);
  }
  if (peek(walk)?.text !== opening.closing) throw unbalanced(walk);
  showTables(walk, level);
  walk.at += 1;
  walk.depth -= 1;
}

function levelOf(walk: Walk, opening: Opening): Level {
  const { closing, hasOperands = false } = opening;
  const isQuery = opening.with === 'query' || isQueryStart(walk, peek(walk));
  const isRelation = !isQuery && opening.with === 'relation';
  return {
    closing,
    names: [],
    hasOperands: hasOperands && !isQuery,
    expected: isQuery ? 'query' : isRelation ? 'relation' : undefined,
    list: isRelation ? 'relations' : 'other',
    canHaveFrom: false,
    canHaveWith: true,
    isQuery: false,
  };
}

function unbalanced(walk: Walk): Refusal {
  const token = peek(walk);
  const hint = 'Balance the parentheses and brackets.';
  if (token === undefined) return unreadable('A parenthesis or bracket is not closed.', hint, placeOf(walk));
  return unreadable(`There is a ${token.text} that closes nothing.`, hint, token.start);
}
