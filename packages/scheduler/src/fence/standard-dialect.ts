import { checkSelfNaming, COMMAND_WORDS, type Dialect, STRUCTURE_WORDS, WORDS_BEFORE_PARENTHESIS } from './dialect.ts';
import {
  denied,
  endOf,
  numberReader,
  quotedNameReader,
  readersOf,
  stringReader,
  type Token,
  type TokenReader,
  unreadable,
  wordsIn,
} from './lexer.ts';

/** These name functions without parentheses too. Not so `user`: too many columns have that name. */
const REFUSED_NAMES = new Set(
  wordsIn('current_catalog current_role current_schema current_user session_user system_user'),
);

/** Before another name, these end a query with instructions for the engine. */
const ENDINGS = new Set(['format', 'settings']);
const AFTER_COLUMN = new Set(['as', 'asc', 'desc', 'from', 'in', 'is', 'like', 'not', 'nulls']);

function checkFunction(name: Token): void {
  if (!isRefusedFunction(name.word)) return;
  const message = `The function ${name.text} does more than to compute a value.`;
  throw denied(message, 'Write the SQL without it.', name.start);
}

function checkName(name: Token, previous: Token | undefined, next: Token | undefined): void {
  checkSelfNaming(REFUSED_NAMES, name, previous);
  if (name.kind !== 'name') return;
  const endsQuery = ENDINGS.has(name.word) && next?.kind === 'name' && !AFTER_COLUMN.has(next.word);
  if (name.word === 'into' || endsQuery) {
    const message = `${name.text.toUpperCase()} is not supported: it tells the engine where or how to write.`;
    throw denied(message, `If it is a name, write "${name.text}".`, name.start);
  }
}

/** Functions of known engines that read files, run code, show the server or wait. */
const NAMES = new Set(
  wordsIn(`addressToLine addressToLineWithInlines addressToSymbol demangle benchmark catboostEvaluate connection_id
    currentDatabase currentProfiles currentRoles currentUser current_setting current_user current_role current_database
    current_catalog current_schema current_schemas database defaultProfiles defaultRoles delta deltaLake displayName
    enabledProfiles enabledRoles evalMLMethod executable file fileCluster files filesystemAvailable filesystemCapacity
    filesystemUnreserved fqdn from_avro fuse getClientHTTPHeader getMacro getOSKernelVersion getServerPort getServerSetting
    getSetting getSettingOrDefault getenv getvariable glob hasColumnInTable hdfs hostName hostname http http_get http_post
    hudi iceberg input input_file_name java_method jdbc joinGet joinGetOrNull json_execute_serialized_sql lastval loadFile
    load_file lo_export lo_import logTrace mongodb mysql nextval currval odbc parquet_scan postgresql prometheusQuery query
    query_table read_blob redis reflect remote remoteSecure s3 s3Cluster serverUUID session_user setseed setval shardNum
    sleep sleepEachRow sqlite sqlite_scan sql_exec stats system_user tcpPort tid try_reflect uptime url urlCluster user
    user_defined version which_secret write_log xmlparse xml_parse ymysql zookeeperSessionUptime`).map((name) =>
    name.toLowerCase(),
  ),
);

/** Families of such functions. */
const FAMILIES =
  /^(?:dict|duckdb_|ducklake_|executable|file|filesystem|get_?macro|get_?server|get_?setting|hdfs|iceberg|lo_|local_?file|merge_?tree|parquet_|pg_|postgres_|pragma_|read_|remote|s3|scan_|shell|sniff_|sys_?|system|url_?cluster|xp_)|sleep|(?:_scan|_exec|_attach|_cluster)$/;

/** Harmless functions whose names look like those of a family. */
const HARMLESS = new Set(wordsIn('sysdate sysdatetime systimestamp'));

/** True if an engine is known to do more in a function of this name than to compute a value. */
function isRefusedFunction(name: string): boolean {
  return !HARMLESS.has(name) && (NAMES.has(name) || FAMILIES.test(name));
}

const STRING = /'[^']*'/y;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const PREFIXED = /[A-Za-z0-9_]+['"]/y;
const SYMBOL = /<=>|==|<>|!=|<=|>=|<<|>>|\|\||::|->>|->|=>|[-(),.[\]=<>+*/%~&|^;]/y;

const readQuotes = quotedNameReader('"', '"');

const readQuotedName: TokenReader = (sql, at) => {
  const found = readQuotes(sql, at);
  const backslash = found === undefined ? -1 : sql.slice(at, found.end).indexOf('\\');
  if (backslash >= 0) throw unreadable('A name contains a backslash.', 'Remove it.', at + backslash);
  return found;
};

/** A quote in a string is doubled; one after a backslash is its end in some engines only. */
function checkBackslash(sql: string, end: number): void {
  if (sql[end - 2] !== '\\') return;
  const hint = "Write a quote in a string as ''. Use a parameter for a text that ends with a backslash.";
  throw unreadable('A string has a backslash before a quote.', hint, end - 2);
}

const readNumber = numberReader(
  NUMBER,
  'A name cannot start with a digit, and a number has no suffix.',
  'Put the name into "…".',
);

/** Refuses what some engines read as a comment, a string or a variable, and others do not. */
const readAmbiguous: TokenReader = (sql, at) => {
  const next = sql.slice(at, at + 3);
  if (next.startsWith('--') && !/^--(?:\s|$)/.test(next)) {
    throw unreadable('A comment needs a space after --.', 'Write -- and a space; or - - for two signs.', at);
  }
  if (/^\/\*[!+]/.test(next)) throw denied('Comments with instructions are not supported.', 'Remove it.', at);
  if (next.startsWith('//')) throw unreadable('// is a comment in some engines.', 'Use floor(a / b).', at);
  if (endOf(PREFIXED, sql, at) !== undefined) {
    throw unreadable('A string cannot have a prefix.', 'Put a space before the quote.', at);
  }
  return undefined;
};

/** Standard SQL, for engines of Flight SQL. Their functions are many, so this refuses known dangers. */
export const STANDARD: Dialect = {
  readers: readersOf({
    special: [readAmbiguous],
    strings: [stringReader("'", STRING, checkBackslash)],
    quotedName: readQuotedName,
    number: readNumber,
    symbol: SYMBOL,
  }),
  queryStarts: new Set(['from', 'select', 'values', 'with']),
  tableFunctions: new Set(['generate_series', 'range', 'unnest']),
  wordsBeforeParenthesis: new Set([...WORDS_BEFORE_PARENTHESIS, 'interval']),
  keywords: new Set([...STRUCTURE_WORDS, ...COMMAND_WORDS]),
  readsTablesAfterIn: true,
  checkFunction,
  checkName,
  checkAlias: checkFunction,
  quote: (name) => `"${name}"`,
};
