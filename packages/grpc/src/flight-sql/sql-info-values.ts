import { CATALOG, SCHEMA } from '@svc/frames/statements';
import { PATTERN_ESCAPE } from './like-pattern.ts';
import { STATEMENT_LIFE_MS } from './prepared-statements.ts';

/** A value of GetSqlInfo: a plain value, an enum value or a bit set. */
export type SqlInfoValue =
  | string
  | boolean
  | bigint
  | { readonly choice: number }
  | { readonly texts: readonly string[] }
  | { readonly conversions: ReadonlyMap<number, readonly number[]> };

/** The input of `sqlInfoValues`. */
export interface SqlInfoOptions {
  /** The version of the server. */
  readonly version: string;
  /** The product that runs the SQL, and its version. Default: not known. */
  readonly sqlProduct?: string | undefined;
}

const NOT_KNOWN = 0n;
const CASE_INSENSITIVE = { choice: 1 };
const NULLS_AT_END = { choice: 3 };
const NONE = { choice: 0 };
const words = (text: string) => ({ texts: text.trim().split(/\s+/) });

/** Returns the info values by their numbers in Flight SQL. */
export function sqlInfoValues({ version, sqlProduct }: SqlInfoOptions): ReadonlyMap<number, SqlInfoValue> {
  const [name] = sqlProduct?.split(' ') ?? [];
  const within = (text: string, engine: string | undefined): string => (engine ? `${text} (${engine})` : text);
  return new Map([[0, within('Data-frame server', name)], [1, within(version, sqlProduct)], ...FACTS]);
}

/** Words that the engine reserves in addition to SQL:2003. */
const KEYWORDS = `analyse analyze asc asymmetric collate deferrable desc describe do initially lambda limit offset pivot
  pivot_longer pivot_wider placing qualify returning show summarize symmetric unpivot variadic`;
const NUMERIC_FUNCTIONS = `ABS ACOS ASIN ATAN ATAN2 CEILING COS COT DEGREES EXP FLOOR LOG LOG10 MOD PI POWER RADIANS
  ROUND SIGN SIN SQRT TAN`;
const TEXT_FUNCTIONS = `ASCII CHAR_LENGTH CHARACTER_LENGTH CONCAT LCASE LEFT LENGTH LTRIM OCTET_LENGTH POSITION REPEAT
  REPLACE RIGHT RTRIM SUBSTRING UCASE`;
const TIME_FUNCTIONS = `CURRENT_DATE DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR EXTRACT HOUR MINUTE MONTH MONTHNAME NOW QUARTER
  SECOND WEEK YEAR`;

// The numbers of the CONVERT types in Flight SQL.
const NUMBERS = [0, 2, 5, 6, 7, 12, 13, 14, 17];
const TEXTS = [3, 11, 19];
const BYTES = [1, 10, 18];
const [DATE, TIME, TIMESTAMP] = [4, 15, 16];
const INTERVALS = [8, 9];

/** Which types can be cast to which. */
const CONVERSIONS: ReadonlyMap<number, readonly number[]> = new Map([
  ...NUMBERS.map((type) => [type, [...NUMBERS, ...TEXTS]] as const),
  ...TEXTS.map((type) => [type, [...NUMBERS, ...TEXTS, ...BYTES, DATE, TIME, TIMESTAMP, ...INTERVALS]] as const),
  ...BYTES.map((type) => [type, [...BYTES, ...TEXTS]] as const),
  ...INTERVALS.map((type) => [type, [...INTERVALS, ...TEXTS]] as const),
  [DATE, [DATE, TIMESTAMP, ...TEXTS]],
  [TIME, [TIME, ...TEXTS]],
  [TIMESTAMP, [TIMESTAMP, DATE, TIME, ...TEXTS]],
]);

/** The constant values. A limit of 0 means that there is no limit or that it is unknown. */
const FACTS: readonly (readonly [number, SqlInfoValue])[] = [
  [2, '1.5'], // the version of the Arrow format
  [3, false], // read-only
  [4, true], // takes SQL
  [5, false], // takes Substrait plans
  [8, NONE], // transactions
  [9, true], // cancels queries
  [10, true], // takes bulk data
  [11, false], // takes bulk data in transactions
  [100, { choice: STATEMENT_LIFE_MS }],
  [101, NONE], // how long a transaction lives
  [500, false], // makes and drops catalogues
  [501, false], // makes and drops schemas
  [502, true], // makes and drops tables
  [503, CASE_INSENSITIVE],
  [504, '"'],
  [505, CASE_INSENSITIVE],
  [506, true], // all tables can be read
  [507, NULLS_AT_END],
  [508, words(KEYWORDS)],
  [509, words(NUMERIC_FUNCTIONS)],
  [510, words(TEXT_FUNCTIONS)],
  [511, { texts: [] }], // system functions
  [512, words(TIME_FUNCTIONS)],
  [513, PATTERN_ESCAPE],
  [514, '$'], // further characters of bare names
  [515, true], // names for columns
  [516, true], // null and something is null
  [517, { conversions: CONVERSIONS }],
  [518, true], // names for tables
  [519, false], // that differ from those of the tables
  [520, true], // expressions in ORDER BY
  [521, true], // ORDER BY what is not selected
  [522, { choice: 3 }], // GROUP BY
  [523, true], // LIKE … ESCAPE
  [524, true], // columns that hold no nulls
  [525, { choice: 3 }], // the grammar of ODBC: minimum and core
  [526, { choice: 1 }], // SQL-92: entry level
  [527, false], // constraints
  [528, { choice: 2 }], // outer joins: all
  [529, 'schema'],
  [530, ''], // procedures
  [531, 'catalog'],
  [532, true], // the catalogue comes first
  [533, NONE], // where schemas can be named beside queries
  [534, NONE], // where catalogues can be named beside queries
  [535, NONE], // changes at a cursor
  [536, false], // SELECT FOR UPDATE
  [537, false], // stored procedures
  [538, { choice: 15 }], // subqueries: in all places
  [539, true], // subqueries that refer to the query around them
  [540, { choice: 3 }], // UNION, UNION ALL
  [541, NOT_KNOWN], // lengths of literals
  [542, NOT_KNOWN],
  [543, 1024n], // length of a column's name
  [544, NOT_KNOWN], // columns of clauses
  [545, NOT_KNOWN],
  [546, NOT_KNOWN],
  [547, NOT_KNOWN],
  [548, 10_000n], // columns of a table
  [549, NOT_KNOWN], // connections, cursors, indexes
  [550, NOT_KNOWN],
  [551, NOT_KNOWN],
  [552, BigInt(SCHEMA.length)], // length of the schema's name
  [553, NOT_KNOWN], // length of a procedure's name
  [554, BigInt(CATALOG.length)], // length of the catalogue's name
  [555, NOT_KNOWN], // bytes of a row
  [556, true], // long values included
  [557, NOT_KNOWN], // length of a statement
  [558, NOT_KNOWN], // statements at once
  [559, 128n], // length of a table's name
  [560, NOT_KNOWN], // tables of a query
  [561, NOT_KNOWN], // length of a user's name
  [562, 0n], // isolation: none. An int32 in the protocol, but the JDBC driver fails if it is not an int64
  [563, false], // transactions
  [564, { choice: 1 }], // isolation levels: none
  [565, false], // tables in transactions
  [566, false], // tables in transactions, ignored
  [567, { choice: 2 }], // answers are read forward
  [568, NONE], // how answers of each kind can be changed
  [569, { choice: 2 }], // not at all: they are read-only
  [570, NONE],
  [571, NONE],
  [572, false], // updates in batches
  [573, false], // savepoints
  [574, false], // parameters of procedures by name
  [575, false], // changes to large values
  [576, false], // functions called as procedures
];
