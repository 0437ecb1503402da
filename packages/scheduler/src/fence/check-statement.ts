import { ServiceError } from '@svc/errors';
import { counted, quoted } from '@svc/errors/internal';
import { createYield } from '@svc/frames/async';
import { charactersIn } from '@svc/frames/sql';
import { COMMAND_WORDS, type Dialect } from './dialect.ts';
import { denied, isName, isSymbol, isWord, lex, Refusal, type Token, unreadable } from './lexer.ts';
import { SPARK } from './spark-dialect.ts';
import { STANDARD } from './standard-dialect.ts';
import {
  hideTable,
  isQueryStart,
  isStructure,
  type Level,
  misplaced,
  type Opening,
  peek,
  placeOf,
  showTables,
  type TableReference,
  takeName,
  type Walk,
  walkNames,
  walkParentheses,
  walkToken,
} from './walk.ts';

/** How an engine reads SQL: as Spark does, or as the SQL standard says. */
export type SqlDialect = 'spark' | 'standard';

/** A statement that may reach a cluster, once its tables are known to be frames. */
export interface CheckedStatement {
  /** The statement without a semicolon at its end. Positions in it are those in the original. */
  readonly sql: string;
  /** The tables it reads, each once, in order, without the queries of WITH. Each must be a frame of the caller. */
  readonly tables: readonly TableReference[];
  /** How many `?` it has. */
  readonly parameters: number;
}

const DIALECTS: Readonly<Record<SqlDialect, Dialect>> = { spark: SPARK, standard: STANDARD };

/**
 * Checks that a statement is one query that only reads tables by a plain name, and that calls only harmless functions.
 * Throws `permission_denied` for anything else, and `invalid_sql` for a text that is not one statement.
 */
export async function checkStatement(sql: string, dialect: SqlDialect): Promise<CheckedStatement> {
  try {
    return await check(sql, DIALECTS[dialect]);
  } catch (error) {
    throw error instanceof Refusal ? error.toServiceError(sql) : error;
  }
}

/** Throws `invalid_sql` unless each table of a statement is a frame. Without this check, tables of the cluster can be read. */
export function checkTables(statement: CheckedStatement, isFrame: (name: string) => boolean): void {
  for (const { name, start } of statement.tables) {
    if (isFrame(name)) continue;
    throw new ServiceError('invalid_sql', `There is no frame "${name}".`, {
      hint: 'GET /frames lists all handles. A query of WITH must be spelled as it is defined.',
      query: statement.sql,
      position: charactersIn(statement.sql.slice(0, start)),
    });
  }
}

async function check(sql: string, dialect: Dialect): Promise<CheckedStatement> {
  const pause = createYield();
  const { tokens, end } = withoutSemicolon(await lex(sql, dialect), sql.length);
  await pause();
  const tables = new Map<string, TableReference>();
  for (const table of findTables(tokens, dialect)) if (!tables.has(table.name)) tables.set(table.name, table);
  await pause();
  return {
    sql: sql.slice(0, end),
    tables: [...tables.values()],
    parameters: tokens.filter(({ kind }) => kind === 'parameter').length,
  };
}

/** Removes a semicolon at the end. Any other one separates statements. */
function withoutSemicolon(tokens: readonly Token[], length: number): { tokens: readonly Token[]; end: number } {
  const last = tokens.at(-1);
  const isEnd = isSymbol(last, ';');
  const kept = isEnd ? tokens.slice(0, -1) : tokens;
  const other = kept.find((token) => isSymbol(token, ';'));
  if (other !== undefined) {
    throw unreadable('The SQL has more than one statement.', 'Send one statement at a time.', other.start);
  }
  return { tokens: kept, end: isEnd && last !== undefined ? last.start : length };
}

/** How deep parentheses can be nested. */
const MAX_DEPTH = 200;

/**
 * Walks over the tokens of a statement and returns the tables that it reads, without its CTEs. Refuses everything but one
 * query, and everything in it that could have another meaning than the one found here.
 */
function findTables(tokens: readonly Token[], dialect: Dialect): readonly TableReference[] {
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

/** Walks over the start of a query: WITH, SELECT, VALUES, or a parenthesis. */
function walkQueryStart(walk: Walk, level: Level): void {
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

/** An engine without RECURSIVE reads a table of its own where the query names itself. */
function recursive(walk: Walk): Refusal {
  return denied('WITH RECURSIVE is not supported on the cluster.', 'Send engine=local to run it.', placeOf(walk));
}

const FRAMES_HINT = 'Name a frame, or a query of WITH, after FROM.';

/** Walks over a table after FROM, JOIN or a comma, with its alias. */
function walkRelation(walk: Walk, level: Level): void {
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
