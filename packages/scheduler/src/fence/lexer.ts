import { counted, quoted } from '@svc/errors/internal';
import { createYield } from '@svc/frames/internal';
import { unreadable } from './refusal.ts';
import { folded, type Token, type TokenKind } from './token.ts';

/** Reads the token at a place. Returns its end and what it is; blanks and comments have no kind. */
export type TokenReader = (sql: string, at: number) => ReadToken | undefined;

/** What a reader found. */
export interface ReadToken {
  readonly end: number;
  readonly kind?: TokenKind;
  /** Default: as it is written. */
  readonly text?: string;
}

const BLANKS = /[ \t\n\r]+/y;
const LINE_COMMENT = /--[^\n]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

/** How many tokens a statement can have: the walk over them is one piece of work. */
const MAX_TOKENS = 20_000;
/** The number of tokens, blanks and comments between two pauses. */
const STEPS_OF_TURN = 250;

/** Splits a statement into tokens. Refuses every character for which no reader knows a token. */
export async function lex(sql: string, readers: readonly TokenReader[]): Promise<Token[]> {
  checkCharacters(sql);
  const pause = createYield();
  const tokens: Token[] = [];
  for (let at = 0, steps = 1; at < sql.length; steps += 1) {
    if (steps % STEPS_OF_TURN === 0) await pause();
    const found = readToken(sql, at, readers);
    if (found === undefined) throw strange(sql, at);
    const { end, kind, text = sql.slice(at, end) } = found;
    if (kind !== undefined) {
      const word = kind === 'name' || kind === 'quoted' ? folded(text) : '';
      tokens.push({ kind, text, word, start: at });
    }
    if (tokens.length > MAX_TOKENS) {
      const message = `The SQL has more than ${counted(MAX_TOKENS, 'token')}.`;
      throw unreadable(message, 'Put the values into a frame and join it.', at);
    }
    at = end;
  }
  return tokens;
}

function readToken(sql: string, at: number, readers: readonly TokenReader[]): ReadToken | undefined {
  for (const reader of readers) {
    const found = reader(sql, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the end of a match that starts exactly here. */
export function endOf(pattern: RegExp, sql: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : undefined;
}

/** Makes a reader of a sticky pattern. */
export function readerOf(pattern: RegExp, kind?: TokenKind): TokenReader {
  return (sql, at) => {
    const end = endOf(pattern, sql, at);
    return end === undefined ? undefined : { end, ...(kind !== undefined && { kind }) };
  };
}

/** Blanks that every engine skips. */
export const readBlanks: TokenReader = readerOf(BLANKS);

/** A name without quotes. Other letters than ASCII ones need quotes: engines disagree about their case. */
export const readName: TokenReader = readerOf(NAME, 'name');

/** A comment to the end of the line. Refuses characters at which some engines end a line and others do not. */
export const readLineComment: TokenReader = (sql, at) => {
  const end = endOf(LINE_COMMENT, sql, at);
  if (end === undefined) return undefined;
  const text = sql.slice(at, end).replace(/\r$/, '');
  const strangeEnd = /[\r\u0085\u2028\u2029]/.exec(text);
  if (strangeEnd !== null) throw strange(sql, at + strangeEnd.index);
  if (text.endsWith('\\')) {
    throw unreadable(
      'A comment ends with a backslash, which continues it on the next line in some engines.',
      'Remove the backslash.',
      at + text.length - 1,
    );
  }
  return { end };
};

/** A comment in brackets. Engines disagree about comments in comments, so there must be none. */
export const readBlockComment: TokenReader = (sql, at) => {
  if (!sql.startsWith('/*', at)) return undefined;
  const end = sql.indexOf('*/', at + 2);
  if (end < 0) throw unreadable('A comment is not closed.', 'Close it with */.', at);
  const inner = sql.indexOf('/*', at + 1);
  if (inner >= 0 && inner < end) {
    throw unreadable('A comment contains the start of another one.', 'Remove the inner /*.', inner);
  }
  return { end: end + 2 };
};

/** Refuses what no engine reads alike: half characters, and control characters. A line ends with LF or CRLF. */
function checkCharacters(sql: string): void {
  // eslint-disable-next-line no-control-regex -- these are what is refused
  const at = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\r(?!\n)|\p{Cs}/u.exec(sql)?.index;
  if (at !== undefined) throw strange(sql, at);
}

/** The error of a character that has no place in SQL. */
function strange(sql: string, at: number): Error {
  const character = String.fromCodePoint(sql.codePointAt(at) ?? 0);
  const code = `U+${(sql.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  const shown = /[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? `${quoted(character)} (${code})` : code;
  return unreadable(
    `The character ${shown} cannot be used here.`,
    'Use it only in strings and quoted names. Between them, a blank is a space, a tab or a line end.',
    at,
  );
}
