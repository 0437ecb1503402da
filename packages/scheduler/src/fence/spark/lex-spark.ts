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

const STRING = /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y;
const RAW_STRING = /[rR](?:'[^']*'|"[^"]*")/y;
const HEX_STRING = /[xX](?:'[0-9A-Fa-f]*'|"[0-9A-Fa-f]*")/y;
const QUOTED_NAME = /`[^`]*(?:``[^`]*)*`/y;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[lLsSyYfFdD]|[bB][dD])?/y;
const AFTER_NUMBER = /[A-Za-z0-9_]/y;
const SYMBOL = /<=>|>>>|==|<>|!=|<=|>=|!>|!<|<<|>>|\|\||::|->|=>|[-(),.[\]=<>+*/%~&|^:!;]/y;
const HINT =
  /\/\*\+[ \t\r\n]*[A-Za-z_]+(?:\([A-Za-z0-9_, \t]*\))?(?:(?:[ \t\r\n]*,[ \t\r\n]*|[ \t\r\n]+)[A-Za-z_]+(?:\([A-Za-z0-9_, \t]*\))?)*[ \t\r\n]*\*\//y;

/** The pattern of a hint takes long for a megabyte. */
const MAX_HINT_LENGTH = 65_536;

/** Strings. An engine that knows no escapes in them must see the same end. */
const readString: TokenReader = (sql, at) => {
  const quote = sql[at];
  if (quote !== "'" && quote !== '"') return undefined;
  const end = endOf(STRING, sql, at);
  if (end === undefined) throw unreadable('A string is not closed.', `Close it with ${quote}.`, at);
  return { end, kind: 'string' };
};

/** Raw strings. One that would not end here if a backslash escaped its quote is refused. */
const readRawString: TokenReader = (sql, at) => {
  const end = endOf(RAW_STRING, sql, at);
  if (end === undefined) return undefined;
  if (endOf(STRING, sql, at + 1) !== end) {
    throw unreadable('A raw string has a backslash before a quote.', "Write it as '…' with escapes.", at);
  }
  return { end, kind: 'string' };
};

const readQuotedName: TokenReader = (sql, at) => {
  if (sql[at] !== '`') return undefined;
  const end = endOf(QUOTED_NAME, sql, at);
  if (end === undefined || end === at + 2)
    throw unreadable('A quoted name is empty or not closed.', 'Close it with a backtick.', at);
  return { end, kind: 'quoted', text: sql.slice(at + 1, end - 1).replaceAll('``', '`') };
};

/** Numbers. Spark reads `1a` as a name, and a decimal before a letter as several tokens: both are refused. */
const readNumber: TokenReader = (sql, at) => {
  const end = endOf(NUMBER, sql, at);
  if (end === undefined) return undefined;
  if (endOf(AFTER_NUMBER, sql, end) === undefined) return { end, kind: 'number' };
  throw unreadable('A name cannot start with a digit.', 'Put the name into backticks.', at);
};

/** Hints, as one token. Nothing in them can look like the start of a string or a comment. */
const readHint: TokenReader = (sql, at) => {
  if (!sql.startsWith('/*+', at)) return undefined;
  if (sql.indexOf('*/', at) > at + MAX_HINT_LENGTH) {
    throw denied(`A hint is longer than ${MAX_HINT_LENGTH} characters.`, 'Name fewer tables in it.', at);
  }
  const end = endOf(HINT, sql, at);
  if (end !== undefined) return { end, kind: 'hint' };
  throw denied('This hint is not supported.', 'Write hints like /*+ BROADCAST(t), COALESCE(4) */.', at);
};

const readStray: TokenReader = (sql, at) => {
  if (sql.startsWith('*/', at)) throw unreadable('There is a */ without /*.', 'Put a space between * and /.', at);
  if (sql.startsWith('|>', at)) throw denied('Pipes are not supported.', 'Write SELECT … FROM ….', at);
  if (sql.startsWith('://', at)) throw denied('SQL reads frames, not addresses.', 'Name a frame.', at);
  return undefined;
};

const READERS: readonly TokenReader[] = [
  readBlanks,
  readLineComment,
  readHint,
  readBlockComment,
  readStray,
  readRawString,
  readerOf(HEX_STRING, 'string'),
  readString,
  readQuotedName,
  readNumber,
  readName,
  readerOf(/\?/y, 'parameter'),
  readerOf(SYMBOL, 'symbol'),
];

/** Splits a statement into tokens as Spark does. Refuses texts that Spark, or engines like it, could read otherwise. */
export async function lexSpark(sql: string): Promise<Token[]> {
  checkVariables(sql);
  return lex(sql, READERS);
}

/** Spark replaces `${env:X}` before it reads a text, in strings and comments too: by its environment, or by its settings. */
function checkVariables(sql: string): void {
  const at = sql.indexOf('${');
  if (at < 0) return;
  const hint = 'Use a parameter for a text that contains ${.';
  throw denied('Variables of the cluster cannot be used: ${ is not supported, even in strings.', hint, at);
}
