import type { FrameStream } from '@svc/frames';
import { MAX_COLUMNS } from '@svc/frames/columns';
import { CATALOG, SCHEMA } from '@svc/frames/statements';
import type { Service } from '@svc/service';
import {
  Bool,
  DenseUnion,
  Field,
  Int32,
  Int64,
  List,
  makeData,
  Map_ as ArrowMap,
  Schema,
  Struct,
  Uint32,
  Utf8,
} from 'apache-arrow';
import { PATTERN_ESCAPE } from './like-pattern.ts';
import { STATEMENT_LIFE_MS } from './prepared-statements.ts';
import { columnOf, streamOfColumns } from './small-table.ts';

/** A value of GetSqlInfo: a plain value, an enum value or a bit set. */
type SqlInfoValue =
  | string
  | boolean
  | bigint
  | { readonly choice: number }
  | { readonly texts: readonly string[] }
  | { readonly conversions: ReadonlyMap<number, readonly number[]> };

const CASE_INSENSITIVE = { choice: 1 };
const NULLS_AT_END = { choice: 3 };
const NONE = { choice: 0 };
const words = (text: string) => ({ texts: text.trim().split(/\s+/) });

/** Returns the info values by their numbers in Flight SQL. */
function sqlInfoValues({
  version,
  sqlProduct,
}: Pick<Service, 'sqlProduct' | 'version'>): ReadonlyMap<number, SqlInfoValue> {
  const [name] = sqlProduct?.split(' ') ?? [];
  const within = (text: string, engine: string | undefined): string => (engine ? `${text} (${engine})` : text);
  const values: readonly (readonly [number, SqlInfoValue])[] = [
    [0, within('Data-frame server', name)],
    [1, within(version, sqlProduct)],
    ...FACTS,
    ...UNKNOWN_LIMITS.map((number) => [number, 0n] as const),
  ];
  return new Map(values.toSorted(([a], [b]) => a - b));
}

/** Words reserved by the engine beyond SQL:2003. */
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

/** The targets of casts, by type. */
const CONVERSIONS: ReadonlyMap<number, readonly number[]> = new Map([
  ...NUMBERS.map((type) => [type, [...NUMBERS, ...TEXTS]] as const),
  ...TEXTS.map((type) => [type, [...NUMBERS, ...TEXTS, ...BYTES, DATE, TIME, TIMESTAMP, ...INTERVALS]] as const),
  ...BYTES.map((type) => [type, [...BYTES, ...TEXTS]] as const),
  ...INTERVALS.map((type) => [type, [...INTERVALS, ...TEXTS]] as const),
  [DATE, [DATE, TIMESTAMP, ...TEXTS]],
  [TIME, [TIME, ...TEXTS]],
  [TIMESTAMP, [TIMESTAMP, DATE, TIME, ...TEXTS]],
]);

/** Limits of literals, clauses, cursors, rows and statements, as 0: there is none, or it is unknown. */
const UNKNOWN_LIMITS: readonly number[] = [541, 542, 544, 545, 546, 547, 549, 550, 551, 553, 555, 557, 558, 560, 561];

/** The constant values, by number. */
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
  [543, 1024n], // length of a column's name
  [548, BigInt(MAX_COLUMNS)], // columns of a table
  [552, BigInt(SCHEMA.length)], // length of the schema's name
  [554, BigInt(CATALOG.length)], // length of the catalogue's name
  [556, true], // long values included
  [559, 128n], // length of a table's name
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

const ENTRIES = new Struct<{ key: Int32; value: List<Int32> }>([
  new Field('key', new Int32(), false),
  new Field('value', new List(new Field('item', new Int32(), true)), true),
]);

/** The kinds of values; the index of each is its type id in the union. */
const KINDS = [
  new Field('string_value', new Utf8(), false),
  new Field('bool_value', new Bool(), false),
  new Field('bigint_value', new Int64(), false),
  new Field('int32_bitmask', new Int32(), false),
  new Field('string_list', new List(new Field('item', new Utf8(), true)), false),
  new Field('int32_to_int32_list_map', new ArrowMap(new Field('entries', ENTRIES, false)), false),
];
const UNION = new DenseUnion(
  KINDS.map((_, i) => i),
  KINDS,
);

/** The schema of CommandGetSqlInfo. */
export const SQL_INFO_SCHEMA: Schema = new Schema([
  new Field('info_name', new Uint32(), false),
  new Field('value', UNION, false),
]);

/** Returns the info values of a service with these numbers, or all; unknown numbers are omitted. */
export function sqlInfo(numbers: readonly number[], service: Pick<Service, 'sqlProduct' | 'version'>): FrameStream {
  const all = sqlInfoValues(service);
  const asked = new Set(numbers);
  const wanted = [...all].filter(([number]) => asked.size === 0 || asked.has(number));
  const places = wanted.map(([, value]) => contentOf(value));
  const contents = KINDS.map((_, kind) => places.filter((place) => place.kind === kind));
  const union = makeData({
    type: UNION,
    length: wanted.length,
    nullCount: 0,
    typeIds: Int8Array.from(places, ({ kind }) => kind),
    valueOffsets: Int32Array.from(places, (place) => contents[place.kind]?.indexOf(place) ?? 0),
    children: KINDS.map((field, kind) => columnOf(field, contents[kind]?.map(({ content }) => content) ?? [])),
  });
  const names = makeData({ type: new Uint32(), data: Uint32Array.from(wanted, ([number]) => number) });
  return streamOfColumns(SQL_INFO_SCHEMA, wanted.length, [names, union]);
}

function contentOf(value: SqlInfoValue): { readonly kind: number; readonly content: unknown } {
  if (typeof value === 'string') return { kind: 0, content: value };
  if (typeof value === 'boolean') return { kind: 1, content: value };
  if (typeof value === 'bigint') return { kind: 2, content: value };
  if ('choice' in value) return { kind: 3, content: value.choice };
  return 'texts' in value ? { kind: 4, content: value.texts } : { kind: 5, content: value.conversions };
}
