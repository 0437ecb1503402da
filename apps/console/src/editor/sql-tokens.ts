/** A part of an SQL text. Spaces are left out. */
export interface SqlToken {
  /** `quoted` is a name in quotes. */
  readonly kind: 'word' | 'number' | 'quoted' | 'string' | 'comment' | 'symbol';
  readonly from: number;
  readonly to: number;
  /** False for a string, name or comment that the text does not close. */
  readonly isClosed: boolean;
}

/** The parts of SQL that may contain any character, in the dialects of DuckDB, QuestDB and Spark. */
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
