import { nearestName } from '@svc/errors';
import { checkSelfNaming, type Dialect, WORDS_BEFORE_PARENTHESIS } from './dialect.ts';
import { SPARK_FUNCTIONS, SPARK_KEYWORDS, SPARK_VERSION } from './generated/spark-words.ts';
import {
  denied,
  endOf,
  isSymbol,
  numberReader,
  quotedNameReader,
  readersOf,
  stringReader,
  type Token,
  type TokenReader,
  unreadable,
  wordsIn,
} from './lexer.ts';

/** Known to the parser alone, not to SHOW FUNCTIONS. */
const PARSED_FUNCTIONS = wordsIn('timediff timestampadd timestampdiff try_cast');
const FUNCTIONS = new Map([...wordsIn(SPARK_FUNCTIONS), ...PARSED_FUNCTIONS].map((name) => [name, name]));
/** With those of several spellings, which `sql_keywords()` leaves out; without X, which is one only before a string. */
const KEYWORDS = new Set([...wordsIn(SPARK_KEYWORDS), ...wordsIn('not regexp rlike temp temporary')]);
KEYWORDS.delete('x');

/** These name functions without parentheses too. Not so `user`: too many columns have that name. */
const REFUSED_NAMES = new Set(['current_user', 'session_user', 'current_path']);
const METADATA = /^_+metadata$/;

function checkFunction(name: Token): void {
  if (FUNCTIONS.has(name.word)) return;
  const reason = REFUSED_SPARK_FUNCTIONS.get(name.word);
  if (reason !== undefined) {
    throw denied(`The function ${name.text} ${reason}.`, 'Write the SQL without it.', name.start);
  }
  const nearest = nearestName(name.word, FUNCTIONS);
  const hint =
    nearest === undefined ? `Use a built-in function of Spark ${SPARK_VERSION}.` : `Did you mean ${nearest}?`;
  throw denied(`The function ${name.text} is not allowed on the cluster.`, hint, name.start);
}

function checkName(name: Token, previous: Token | undefined, next: Token | undefined): void {
  if (METADATA.test(name.word)) {
    const message = `The column ${name.text} shows where the cluster keeps its files.`;
    throw denied(message, 'Write the SQL without it.', name.start);
  }
  checkSelfNaming(REFUSED_NAMES, name, previous);
  // A pipe can be written without its arrow: `| WHERE`.
  if (isSymbol(previous, '|') && name.kind === 'name' && KEYWORDS.has(name.word)) {
    throw denied('Pipes are not supported.', 'Write SELECT … FROM ….', name.start);
  }
  if (name.word === 'identifier' && name.kind === 'name' && isSymbol(next, '(')) {
    throw denied('IDENTIFIER is not supported: it makes names of texts.', 'Write the name itself.', name.start);
  }
}

/** Why functions of Spark are refused. */
interface RefusedGroup {
  /** Completes "The function f …". */
  readonly reason: string;
  readonly names: string;
}

const GROUPS: readonly RefusedGroup[] = [
  { reason: 'runs methods of Java classes on the cluster', names: 'java_method reflect try_reflect' },
  {
    reason: 'shows where the cluster keeps its files',
    names: 'input_file_block_length input_file_block_start input_file_name',
  },
  {
    reason: 'shows more of the cluster than frames',
    names: `current_catalog current_database current_path current_schema current_user python_worker_logs session_user
      user`,
  },
  {
    // Each takes the path of a schema or a descriptor, as an argument or among its options.
    reason: 'can read files of the cluster',
    names: 'from_avro from_protobuf from_xml schema_of_avro schema_of_xml to_avro to_protobuf',
  },
];

/** The refused functions of Spark, with the reason. The allowed ones are in `generated/spark-words.ts`. */
export const REFUSED_SPARK_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap(({ reason, names }) => wordsIn(names).map((name) => [name, reason] as const)),
);

const STRING = /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y;
const RAW_STRING = /[rR](?:'[^']*'|"[^"]*")/y;
const HEX_STRING = /[xX](?:'[0-9A-Fa-f]*'|"[0-9A-Fa-f]*")/y;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[lLsSyYfFdD]|[bB][dD])?/y;
const SYMBOL = /<=>|>>>|==|<>|!=|<=|>=|!>|!<|<<|>>|\|\||::|->|=>|[-(),.[\]=<>+*/%~&|^:!;]/y;
const HINT =
  /\/\*\+[ \t\r\n]*[A-Za-z_]+(?:\([A-Za-z0-9_, \t]*\))?(?:(?:[ \t\r\n]*,[ \t\r\n]*|[ \t\r\n]+)[A-Za-z_]+(?:\([A-Za-z0-9_, \t]*\))?)*[ \t\r\n]*\*\//y;

/** The pattern of a hint takes long for a megabyte. */
const MAX_HINT_LENGTH = 65_536;

/** Raw and hexadecimal strings. One that would not end here if a backslash escaped its quote is refused. */
const readPrefixedString: TokenReader = (sql, at) => {
  const end = endOf(RAW_STRING, sql, at) ?? endOf(HEX_STRING, sql, at);
  if (end === undefined) return undefined;
  if (endOf(STRING, sql, at + 1) !== end) {
    throw unreadable('A raw string has a backslash before a quote.', "Write it as '…' with escapes.", at);
  }
  return { end, kind: 'string' };
};

const readQuotedName = quotedNameReader('`', 'a backtick');

/** Spark reads `1a` as a name, and a decimal before a letter as several tokens. */
const readNumber = numberReader(NUMBER, 'A name cannot start with a digit.', 'Put the name into backticks.');

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

const readAddress: TokenReader = (sql, at) => {
  if (sql.startsWith('://', at)) throw denied('SQL reads frames, not addresses.', 'Name a frame.', at);
  return undefined;
};

/** Spark replaces `${env:X}` before it reads a text, in strings and comments too: by its environment, or by its settings. */
function checkVariables(sql: string): void {
  const at = sql.indexOf('${');
  if (at < 0) return;
  const hint = 'Use a parameter for a text that contains ${.';
  throw denied('Variables of the cluster cannot be used: ${ is not supported, even in strings.', hint, at);
}

/** SQL as Spark reads it. */
export const SPARK: Dialect = {
  readers: readersOf({
    special: [readHint, readAddress],
    strings: [readPrefixedString, stringReader(`'"`, STRING)],
    quotedName: readQuotedName,
    number: readNumber,
    symbol: SYMBOL,
  }),
  checkText: checkVariables,
  queryStarts: new Set(['select', 'values', 'with']),
  tableFunctions: new Set(
    wordsIn(`explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer range stack variant_explode
      variant_explode_outer`),
  ),
  wordsBeforeParenthesis: new Set(WORDS_BEFORE_PARENTHESIS),
  keywords: KEYWORDS,
  readsTablesAfterIn: false,
  checkFunction,
  checkName,
  checkAlias: (alias) => {
    if (REFUSED_SPARK_FUNCTIONS.has(alias.word)) checkFunction(alias);
  },
  quote: (name) => `\`${name}\``,
};
