import { nearestName } from '@svc/errors';
import type { Dialect } from '../dialect.ts';
import { SPARK_FUNCTIONS, SPARK_KEYWORDS, SPARK_VERSION } from '../generated/spark-words.ts';
import { denied } from '../refusal.ts';
import { isSymbol, type Token, wordsIn } from '../token.ts';
import { WORDS_BEFORE_PARENTHESIS } from '../words.ts';
import { lexSpark } from './lex-spark.ts';

/** Known to the parser alone, not to SHOW FUNCTIONS. */
const PARSED_FUNCTIONS = wordsIn('timediff timestampadd timestampdiff try_cast');
const FUNCTIONS = new Map([...wordsIn(SPARK_FUNCTIONS), ...PARSED_FUNCTIONS].map((name) => [name, name]));
/** With those of several spellings, which `sql_keywords()` leaves out; without X, which is one only before a string. */
const KEYWORDS = new Set([...wordsIn(SPARK_KEYWORDS), ...wordsIn('not regexp rlike temp temporary')]);
KEYWORDS.delete('x');

/** These name functions without parentheses too. Not so `user`: too many columns have that name. */
const REFUSED_NAMES = new Set(['current_user', 'session_user', 'current_path']);
const METADATA = /^_+metadata$/;

/** SQL as Spark reads it. */
export const SPARK: Dialect = {
  lex: lexSpark,
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
  if (REFUSED_NAMES.has(name.word) && !isSymbol(previous, '.')) {
    const message = `${name.text} shows more of the cluster than frames.`;
    throw denied(message, 'Put the name of its table before it, if it is a column.', name.start);
  }
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

/** The functions of Spark that SQL must not call, with the reason. The allowed ones are in `generated/spark-functions.ts`. */
const REFUSED_SPARK_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  GROUPS.flatMap(({ reason, names }) => wordsIn(names).map((name) => [name, reason] as const)),
);
