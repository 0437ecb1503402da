import { ServiceError } from '@svc/errors';
import { counted, quoted } from '@svc/errors/internal';
import { createYield } from '@svc/frames/async';
import { charactersIn } from '@svc/frames/sql';

/** What a token is. A hint is one token, with everything in it. */
type TokenKind = 'name' | 'quoted' | 'string' | 'number' | 'parameter' | 'symbol' | 'hint';

/** A part of a statement. Blanks and comments are no tokens. */
export interface Token {
  readonly kind: TokenKind;
  /** A quoted name without its quotes; any other token as it is written. */
  readonly text: string;
  /** A name, quoted or not, in lower case; otherwise empty. */
  readonly word: string;
  /** Where it starts in the statement, in UTF-16 code units. */
  readonly start: number;
}

/** Folds a name. Only ASCII letters have a case here: engines disagree about the others. */
function folded(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** True if a token is this symbol. */
export function isSymbol(token: Token | undefined, text: string): boolean {
  return token?.kind === 'symbol' && token.text === text;
}

/** True if a token is this word, without quotes. */
export function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === 'name' && token.word === word;
}

/** True if a token names something, with or without quotes. */
export function isName(token: Token | undefined): token is Token & { readonly kind: 'name' | 'quoted' } {
  return token?.kind === 'name' || token?.kind === 'quoted';
}

/** Splits a text into words. */
export function wordsIn(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** The refusal of a statement, before its text is known. */
export class Refusal extends Error {
  readonly code: 'permission_denied' | 'invalid_sql';
  readonly hint: string;
  /** In UTF-16 code units. */
  readonly at: number;

  constructor(code: Refusal['code'], message: string, hint: string, at: number) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.at = at;
  }

  /** The same for a client: with the statement, and a position in characters. */
  toServiceError(query: string): ServiceError {
    const position = charactersIn(query.slice(0, this.at));
    return new ServiceError(this.code, this.message, { hint: this.hint, query, position });
  }
}

/** The refusal of what must not reach a cluster. */
export function denied(message: string, hint: string, at: number): Refusal {
  return new Refusal('permission_denied', message, hint, at);
}

/** The refusal of what is not one readable statement. */
export function unreadable(message: string, hint: string, at: number): Refusal {
  return new Refusal('invalid_sql', message, hint, at);
}

/** Reads the token at a place. Returns its end and what it is; blanks and comments have no kind. */
export type TokenReader = (sql: string, at: number) => ReadToken | undefined;

/** What a reader found. */
interface ReadToken {
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

/** The tokens of a dialect. */
export interface Lexicon {
  /** The first match wins. A text with a second reading in some engine is refused. */
  readonly readers: readonly TokenReader[];
  /** Throws if a text must not be sent, whatever its tokens are. Default: any may. */
  readonly checkText?: (sql: string) => void;
}

/** Splits a statement into tokens. Refuses every character without a reader. */
export async function lex(sql: string, { readers, checkText }: Lexicon): Promise<Token[]> {
  checkText?.(sql);
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

/** Returns the end of a match from exactly here. */
export function endOf(pattern: RegExp, sql: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : undefined;
}

/** Makes a reader of names in quotes. A quote in one is doubled. */
export function quotedNameReader(quote: string, quoteName: string): TokenReader {
  const pattern = new RegExp(`${quote}[^${quote}]*(?:${quote}${quote}[^${quote}]*)*${quote}`, 'y');
  return (sql, at) => {
    if (sql[at] !== quote) return undefined;
    const end = endOf(pattern, sql, at);
    if (end === undefined || end === at + 2) {
      throw unreadable('A quoted name is empty or not closed.', `Close it with ${quoteName}.`, at);
    }
    return { end, kind: 'quoted', text: sql.slice(at + 1, end - 1).replaceAll(quote + quote, quote) };
  };
}

const AFTER_NUMBER = /[A-Za-z0-9_]/y;

/** Makes a reader of numbers. Engines disagree about a number before a letter, so it is refused. */
export function numberReader(pattern: RegExp, message: string, hint: string): TokenReader {
  return (sql, at) => {
    const end = endOf(pattern, sql, at);
    if (end === undefined) return undefined;
    if (endOf(AFTER_NUMBER, sql, end) === undefined) return { end, kind: 'number' };
    throw unreadable(message, hint, at);
  };
}

/** Makes a reader of a sticky pattern. */
function readerOf(pattern: RegExp, kind?: TokenKind): TokenReader {
  return (sql, at) => {
    const end = endOf(pattern, sql, at);
    return end === undefined ? undefined : { end, ...(kind !== undefined && { kind }) };
  };
}

/** A comment to the end of the line. Refuses characters at which some engines end a line and others do not. */
const readLineComment: TokenReader = (sql, at) => {
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
const readBlockComment: TokenReader = (sql, at) => {
  if (!sql.startsWith('/*', at)) return undefined;
  const end = sql.indexOf('*/', at + 2);
  if (end < 0) throw unreadable('A comment is not closed.', 'Close it with */.', at);
  const inner = sql.indexOf('/*', at + 1);
  if (inner >= 0 && inner < end) {
    throw unreadable('A comment contains the start of another one.', 'Remove the inner /*.', inner);
  }
  return { end: end + 2 };
};

/** What no token starts with. */
const readStray: TokenReader = (sql, at) => {
  if (sql.startsWith('*/', at)) throw unreadable('There is a */ without /*.', 'Put a space between * and /.', at);
  if (sql.startsWith('|>', at)) throw denied('Pipes are not supported.', 'Write SELECT … FROM ….', at);
  return undefined;
};

/** What the lexers of dialects differ in. */
interface DialectReaders {
  /** What is not read as usual: hints, and texts with other readings in other engines. */
  readonly special: readonly TokenReader[];
  readonly strings: readonly TokenReader[];
  readonly quotedName: TokenReader;
  readonly number: TokenReader;
  /** A sticky pattern. */
  readonly symbol: RegExp;
}

/** Returns the readers of a dialect, in their order. */
export function readersOf({ special, strings, quotedName, number, symbol }: DialectReaders): readonly TokenReader[] {
  return [
    readerOf(BLANKS),
    ...special,
    readStray,
    readLineComment,
    readBlockComment,
    ...strings,
    quotedName,
    number,
    // Other letters than ASCII ones need quotes: engines disagree about their case.
    readerOf(NAME, 'name'),
    readerOf(/\?/y, 'parameter'),
    readerOf(symbol, 'symbol'),
  ];
}

/** Makes a reader of strings between these quotes. `check` may refuse one by its end. */
export function stringReader(quotes: string, pattern: RegExp, check?: (sql: string, end: number) => void): TokenReader {
  return (sql, at) => {
    const quote = sql.charAt(at);
    if (quote === '' || !quotes.includes(quote)) return undefined;
    const end = endOf(pattern, sql, at);
    if (end === undefined) throw unreadable('A string is not closed.', `Close it with ${quote}.`, at);
    check?.(sql, end);
    return { end, kind: 'string' };
  };
}

/** Refuses what no engine reads alike: half characters, and control characters. A line ends with LF or CRLF. */
function checkCharacters(sql: string): void {
  // eslint-disable-next-line no-control-regex -- these are what is refused
  const at = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\r(?!\n)|\p{Cs}/u.exec(sql)?.index;
  if (at !== undefined) throw strange(sql, at);
}

/** The error of a character without a place in SQL. */
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
