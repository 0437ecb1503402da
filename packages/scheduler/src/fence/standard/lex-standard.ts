import { denied, unreadable } from '../refusal.ts';
import {
  endOf,
  lex,
  readBlanks,
  readBlockComment,
  readerOf,
  readLineComment,
  readName,
  type TokenReader,
} from '../lexer.ts';
import type { Token } from '../token.ts';

const STRING = /'[^']*'/y;
const QUOTED_NAME = /"[^"]*(?:""[^"]*)*"/y;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const AFTER_NUMBER = /[A-Za-z0-9_]/y;
const PREFIXED = /[A-Za-z0-9_]+['"]/y;
const SYMBOL = /<=>|==|<>|!=|<=|>=|<<|>>|\|\||::|->>|->|=>|[-(),.[\]=<>+*/%~&|^;]/y;

/** Strings. A quote in one is doubled; one after a backslash is its end in some engines only. */
const readString: TokenReader = (sql, at) => {
  if (sql[at] !== "'") return undefined;
  const end = endOf(STRING, sql, at);
  if (end === undefined) throw unreadable('A string is not closed.', "Close it with '.", at);
  checkBackslash(sql, end);
  return { end, kind: 'string' };
};

const readQuotedName: TokenReader = (sql, at) => {
  if (sql[at] !== '"') return undefined;
  const end = endOf(QUOTED_NAME, sql, at);
  if (end === undefined || end === at + 2)
    throw unreadable('A quoted name is empty or not closed.', 'Close it with ".', at);
  const backslash = sql.slice(at, end).indexOf('\\');
  if (backslash >= 0) throw unreadable('A name contains a backslash.', 'Remove it.', at + backslash);
  return { end, kind: 'quoted', text: sql.slice(at + 1, end - 1).replaceAll('""', '"') };
};

function checkBackslash(sql: string, end: number): void {
  if (sql[end - 2] !== '\\') return;
  const hint = "Write a quote in a string as ''. Use a parameter for a text that ends with a backslash.";
  throw unreadable('A string has a backslash before a quote.', hint, end - 2);
}

const readNumber: TokenReader = (sql, at) => {
  const end = endOf(NUMBER, sql, at);
  if (end === undefined) return undefined;
  if (endOf(AFTER_NUMBER, sql, end) === undefined) return { end, kind: 'number' };
  throw unreadable('A name cannot start with a digit, and a number has no suffix.', 'Put the name into "…".', at);
};

/** Refuses what some engines read as a comment, a string or a variable, and others do not. */
const readAmbiguous: TokenReader = (sql, at) => {
  const next = sql.slice(at, at + 3);
  if (next.startsWith('--') && !/^--(?:\s|$)/.test(next)) {
    throw unreadable('A comment needs a space after --.', 'Write -- and a space; or - - for two signs.', at);
  }
  if (/^\/\*[!+]/.test(next)) throw denied('Comments with instructions are not supported.', 'Remove it.', at);
  if (next.startsWith('//')) throw unreadable('// is a comment in some engines.', 'Use floor(a / b).', at);
  if (next.startsWith('*/')) throw unreadable('There is a */ without /*.', 'Put a space between * and /.', at);
  if (next.startsWith('|>')) throw denied('Pipes are not supported.', 'Write SELECT … FROM ….', at);
  if (endOf(PREFIXED, sql, at) !== undefined) {
    throw unreadable('A string cannot have a prefix.', 'Put a space before the quote.', at);
  }
  return undefined;
};

const READERS: readonly TokenReader[] = [
  readBlanks,
  readAmbiguous,
  readLineComment,
  readBlockComment,
  readString,
  readQuotedName,
  readNumber,
  readName,
  readerOf(/\?/y, 'parameter'),
  readerOf(SYMBOL, 'symbol'),
];

/** Splits a statement into tokens as the SQL standard says. Refuses texts that an engine could read otherwise. */
export function lexStandard(sql: string): Promise<Token[]> {
  return lex(sql, READERS);
}
