import type { EngineName } from '../api/api.ts';

/** A statement in a text: from its first word to its last, without the semicolon and the comments around it. */
export interface Statement {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Segment {
  /** After the semicolon before it. */
  readonly start: number;
  /** After its own semicolon. */
  readonly end: number;
  readonly statement: Statement | undefined;
}

/**
 * Returns the statement at a place; undefined if the text has none. Between two statements it is the one that ends on the
 * same line, else the next one; after the last it is the last.
 */
export function statementAt(text: string, place: number): Statement | undefined {
  const all = segments(text);
  const index = all.findIndex(({ end }) => place <= end);
  const here = all[index];
  if (here === undefined) return all.findLast(({ statement }) => statement)?.statement;
  const before = all.slice(0, index).findLast(({ statement }) => statement);
  const next = all.slice(index).find(({ statement }) => statement);
  if (next?.statement === undefined) return before?.statement;
  const isOutside = place < next.statement.from;
  const isOnLine = before !== undefined && !text.slice(before.end, place).includes('\n');
  return isOutside && isOnLine ? before.statement : next.statement;
}

/** Returns all statements of a text. */
export function statementsOf(text: string): readonly Statement[] {
  return segments(text).flatMap(({ statement }) => statement ?? []);
}

function segments(text: string): readonly Segment[] {
  const all: Segment[] = [];
  let start = 0;
  let tokens: SqlToken[] = [];
  const close = (end: number): void => {
    all.push({ start, end, statement: statementOf(text, tokens) });
    start = end;
    tokens = [];
  };
  for (const token of sqlTokens(text)) {
    if (token.kind === 'symbol' && text[token.from] === ';') close(token.to);
    else if (token.kind !== 'comment') tokens.push(token);
  }
  close(text.length);
  return all;
}

function statementOf(text: string, tokens: readonly SqlToken[]): Statement | undefined {
  const from = tokens[0]?.from;
  const to = tokens.at(-1)?.to;
  return from === undefined || to === undefined ? undefined : { from, to, text: text.slice(from, to) };
}

/** A part of the editor's text. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns what to mark for an error at `position` of a statement, in the whole text. Engines count characters; the
 * time-series database counts UTF-16 units, as the editor does.
 */
export function errorPlace(statement: Statement, position: number, engine: EngineName): TextRange {
  const { text, from: start } = statement;
  const offset = Math.min(engine === 'tsdb' ? position : unitsOf(text, position), text.length);
  const token = sqlTokens(text).find(({ to }) => offset < to);
  // An error at the end, such as a missing bracket, marks the last token.
  if (token === undefined) {
    const last = sqlTokens(text).at(-1);
    return { from: start + (last?.from ?? 0), to: start + text.length };
  }
  const from = Math.max(token.from, Math.min(offset, token.to - 1));
  return {
    from: start + (token.kind === 'string' || token.kind === 'quoted' ? token.from : from),
    to: start + token.to,
  };
}

/** Returns the number of UTF-16 units of the first characters of a text. */
function unitsOf(text: string, characters: number): number {
  let units = 0;
  let left = characters;
  for (const character of text) {
    if (left-- <= 0) break;
    units += character.length;
  }
  return units;
}

/** A part of an SQL text. Spaces are left out. */
export interface SqlToken {
  /** `quoted` is a name in quotes. */
  readonly kind: 'word' | 'number' | 'quoted' | 'string' | 'comment' | 'symbol';
  readonly from: number;
  readonly to: number;
  /** False for an unclosed string, name or comment. */
  readonly isClosed: boolean;
}

/** Strings, names and comments in the dialects of DuckDB, QuestDB and Spark. */
const SPACE = /\s+/y;
const LINE_COMMENT = /--[^\n]*/y;
const DOLLAR_QUOTE = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;
const ESCAPE_STRING = /[eE]'(?:[^'\\]+|\\[^]|'')*('?)/y;
const STRING = /'(?:[^']+|'')*('?)/y;
const QUOTED = /"(?:[^"]+|"")*("?)|`(?:[^`]+|``)*(`?)/y;
const WORD = /[\p{L}_][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:\d|\.\d)(?:[\d_.]+|[eE][+-]?\d)*/y;

/** Splits SQL into tokens. Every text has some: what no dialect knows is a symbol. */
export function sqlTokens(text: string): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  for (let at = 0; at < text.length;) {
    const space = matchAt(SPACE, text, at);
    if (space) {
      at += space[0].length;
      continue;
    }
    const token = tokenAt(text, at);
    tokens.push(token);
    at = token.to;
  }
  return tokens;
}

function tokenAt(text: string, from: number): SqlToken {
  if (text.startsWith('/*', from)) return blockComment(text, from);
  const comment = matchAt(LINE_COMMENT, text, from);
  if (comment) return { kind: 'comment', from, to: from + comment[0].length, isClosed: false };
  const dollar = matchAt(DOLLAR_QUOTE, text, from);
  if (dollar) return dollarString(text, from, dollar[0]);
  const string = matchAt(ESCAPE_STRING, text, from) ?? matchAt(STRING, text, from);
  if (string) return { kind: 'string', from, to: from + string[0].length, isClosed: string[1] !== '' };
  const quoted = matchAt(QUOTED, text, from);
  if (quoted) {
    return { kind: 'quoted', from, to: from + quoted[0].length, isClosed: Boolean(quoted[1] ?? quoted[2]) };
  }
  const word = matchAt(WORD, text, from);
  if (word) return { kind: 'word', from, to: from + word[0].length, isClosed: true };
  const number = matchAt(NUMBER, text, from);
  if (number) return { kind: 'number', from, to: from + number[0].length, isClosed: true };
  const character = String.fromCodePoint(text.codePointAt(from) ?? 0);
  return { kind: 'symbol', from, to: from + character.length, isClosed: true };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** A comment may contain others. */
function blockComment(text: string, from: number): SqlToken {
  let depth = 1;
  let at = from + 2;
  while (at < text.length && depth > 0) {
    const isOpen = text.startsWith('/*', at);
    const isClose = text.startsWith('*/', at);
    if (isOpen) depth++;
    if (isClose) depth--;
    at += isOpen || isClose ? 2 : 1;
  }
  return { kind: 'comment', from, to: at, isClosed: depth === 0 };
}

function dollarString(text: string, from: number, mark: string): SqlToken {
  const end = text.indexOf(mark, from + mark.length);
  const to = end === -1 ? text.length : end + mark.length;
  return { kind: 'string', from, to, isClosed: end !== -1 };
}
