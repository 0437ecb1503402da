import { CSV_ENCODINGS, ENCODINGS, type FrameFileFormat, type ResultFormat, UPLOAD_FORMATS } from '@svc/frames';
import { LINE_PRECISIONS } from '@svc/frames/lines';
import { HANDLE_PATTERN } from '@svc/frames/store';
import { MAX_TTL_SECONDS, SQL_TARGETS } from '@svc/service';
import type { ParameterTable } from './endpoint-table.ts';

const TEXT = { type: 'string' } as const;
const NOT_EMPTY = { type: 'string', minLength: 1 } as const;
const FLAG = { type: 'boolean' } as const;
const COUNT = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;

/** A value in JSON without arrays and objects. */
const JSON_SCALAR =
  '^(null|true|false|-?(0|[1-9][0-9]{0,99})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?|"([^"\\\\\\u0000-\\u001f]|\\\\["\\\\/bfnrt])*")$';

/** The formats of `/exp`. */
export const EXPORT_FORMATS = ['csv', 'ndjson', 'arrow', 'parquet'] as const satisfies readonly ResultFormat[];

/** The content type of each format of `/files`; `/exp` sends Arrow as a stream. */
export const FILE_TYPES = {
  parquet: ENCODINGS.parquet.out.contentType,
  arrow: 'application/vnd.apache.arrow.file',
  csv: ENCODINGS.csv.out.contentType,
  ndjson: ENCODINGS.ndjson.out.contentType,
} as const satisfies Readonly<Record<FrameFileFormat, string>>;

const SOURCE_PARAMS = {
  handle: {
    rule: 'The frame to read. If it does not exist or is not a valid handle: 404 `handle_not_found`. Exactly one of `handle` and `query` must be given.',
    schema: { ...NOT_EMPTY, examples: ['trades'] },
  },
  query: {
    rule: 'The SQL. For `engine=local` and `engine=scheduler`, one statement that reads: `SELECT`, `WITH`, `VALUES`, `FROM`, `PIVOT`, `SHOW TABLES`, `DESCRIBE`, `SUMMARIZE`, `EXPLAIN`.',
    schema: TEXT,
  },
} as const satisfies ParameterTable;

const ENGINE_PARAMS = {
  engine: {
    rule: 'Who runs the SQL: `local` (this server, over its frames), `scheduler` (a cluster, over the same frames) or `tsdb` (the time-series database). The default is `tsdb`, or what `sql.default_engine` says.',
    schema: { enum: SQL_TARGETS, examples: ['local'] },
  },
} as const satisfies ParameterTable;

/** Where the rows come from: a frame, or SQL at an engine. */
export const TARGET_PARAMS = { ...SOURCE_PARAMS, ...ENGINE_PARAMS } as const satisfies ParameterTable;

const TABLE_PARAMS = {
  limit: {
    rule: '`n`: the first n rows. `lo,hi`: rows lo to hi, counted from 1, both included; `0,hi` is `1,hi`. `lo,`: from row lo to the end. Digits only, at most 2^53−1. Asking for more than `http.max_rows` is 400: rows are never dropped silently.',
    // A range that ends before it begins is refused, too; a pattern cannot say it.
    schema: {
      type: 'string',
      pattern: '^([0-9]{1,15}|0,[1-9][0-9]{0,14}|[1-9][0-9]{0,14},([1-9][0-9]{0,14})?)$',
      examples: ['100', '11,20', '11,'],
    },
    isForwarded: true,
  },
  cols: {
    rule: 'Columns to return, in this order, separated by commas. Put a name with a comma or a quote in double quotes, and write a quote in it as `""`. Unknown column, or one named twice: 400.',
    schema: NOT_EMPTY,
    isForwarded: true,
  },
  quoteLargeNum: {
    rule: '`true`: LONG, ULONG and LONG128 values as strings, for clients that read JSON numbers as doubles. `false` is the default, unless `src=con`.',
    schema: FLAG,
    isForwarded: true,
  },
} as const satisfies ParameterTable;

const SQL_PARAMS = {
  param: {
    rule: 'A value for `?` or `$1` in the SQL, as JSON: `param=42`, `param="a text"`, `param=null`. Repeat it for each value, in order; integers are exact.',
    schema: { ...NOT_EMPTY, pattern: JSON_SCALAR, examples: ['42', '"a text"'] },
    isRepeatable: true,
  },
} as const satisfies ParameterTable;

const forDatabase = (rule: string) =>
  ({ rule: `${rule} Only for the time-series database.`, schema: TEXT, isForwarded: true }) as const;

/** Parameters of the time-series database, passed on unchanged and unchecked; some also apply to frames. */
const DATABASE_PARAMS = {
  count: {
    rule: '`true`: `count` is the number of all rows, not only those of `limit`. All rows of a statement are then computed. `false` is the default.',
    schema: FLAG,
    isForwarded: true,
  },
  nm: {
    rule: '`true`: leave out `query` and `columns`, or the header of CSV. `false` is the default.',
    schema: FLAG,
    isForwarded: true,
  },
  explain: forDatabase('`true`: add the query plan.'),
  src: {
    rule: 'The name of the client. `con`, the web console of QuestDB, gets large numbers as strings.',
    schema: TEXT,
    isForwarded: true,
  },
  version: forDatabase('The version of the JSON format.'),
} as const satisfies ParameterTable;

/** The parameters of `/exec` with the SQL as the body. */
export const EXEC_BODY_PARAMS = {
  ...ENGINE_PARAMS,
  fmt: {
    rule: 'Must be `json`; other formats come from `/exp`. If missing: 400, unless `http.default_fmt` sets a default.',
    schema: { enum: ['json'] },
    isRequired: true,
  },
  ...TABLE_PARAMS,
  limit: {
    ...TABLE_PARAMS.limit,
    rule: `${TABLE_PARAMS.limit.rule} The default for a frame is 1000, or \`http.max_rows\` if that is less. SQL has no default; with \`http.max_rows\` it needs a limit.`,
  },
  timings: {
    rule: '`true` adds the key `timings`: nanoseconds of the steps `open` or `execute` (to the first rows of SQL), and `encode`. Such a response has no etag.',
    schema: FLAG,
    isForwarded: true,
  },
  ...SQL_PARAMS,
  ...DATABASE_PARAMS,
} as const satisfies ParameterTable;

/** The parameters of `/exec`. */
export const EXEC_PARAMS = { ...SOURCE_PARAMS, ...EXEC_BODY_PARAMS } as const satisfies ParameterTable;

/** The parameters of `/exp` with the SQL as the body. */
export const EXP_BODY_PARAMS = {
  ...ENGINE_PARAMS,
  fmt: { rule: 'The format of the export. Default `csv`.', schema: { enum: EXPORT_FORMATS } },
  ...TABLE_PARAMS,
  limit: { ...TABLE_PARAMS.limit, rule: `${TABLE_PARAMS.limit.rule} Without it, everything is exported.` },
  ...SQL_PARAMS,
  timings: forDatabase('`true` adds timings.'),
  ...DATABASE_PARAMS,
} as const satisfies ParameterTable;

/** The parameters of `/exp`. */
export const EXP_PARAMS = { ...SOURCE_PARAMS, ...EXP_BODY_PARAMS } as const satisfies ParameterTable;

/** The parameters of `/chk`. */
export const CHK_PARAMS = {
  engine: {
    rule: 'Who answers: `tsdb`, the default, or `local` if that is `sql.default_engine`, and then the default.',
    schema: { enum: ['tsdb', 'local'] },
  },
  f: { rule: 'The format of the response: `json`, else text.', schema: TEXT },
  j: { rule: 'The name of the frame or table.', schema: NOT_EMPTY },
  version: DATABASE_PARAMS.version,
} as const satisfies ParameterTable;

/** The parameters of a list of frames. */
export const LIST_PARAMS = {
  prefix: { rule: 'Only handles that begin with it.', schema: TEXT },
  after: { rule: 'Only handles that sort after this one: the last handle of the page before.', schema: TEXT },
  limit: { rule: 'The most frames to return. Default: all.', schema: COUNT },
  columns: { rule: '`false` leaves out the columns of each frame. Default `true`.', schema: FLAG },
} as const satisfies ParameterTable;

/** The parameters of running SQL. */
export const RUNNING_PARAMS = {
  sql: { rule: '`true`: also the SQL itself. Default `false`.', schema: FLAG },
} as const satisfies ParameterTable;

/** The id in the path of running SQL. */
export const QUERY_PARAMS = {
  id: { rule: 'The `x-request-id` of the request that runs it.', schema: NOT_EMPTY, isRequired: true },
} as const satisfies ParameterTable;

const CSV = ['csv'] as const;

/** The parameters of a request with rows as its body. */
export const UPLOAD_PARAMS = {
  fmt: {
    rule: 'The format of the body. It takes precedence over `Content-Type`; with neither, the first bytes tell the format.',
    schema: { enum: UPLOAD_FORMATS },
  },
  ttl: {
    rule: 'Whole seconds, 1 to 3 153 600 000 (100 years), until the frame expires. Without it: never, or for an append, as before.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_TTL_SECONDS },
  },
  header: {
    rule: 'Whether the first line has the names of the columns. Without it: detected.',
    schema: FLAG,
    formats: CSV,
  },
  delimiter: {
    rule: 'The separator. Without it: detected.',
    schema: { type: 'string', pattern: '^[^\\u0000\\r\\n"]$', examples: [';'] },
    formats: CSV,
  },
  columns: {
    rule: 'The names of all columns in order, each with a type (`id:LONG`) or without. What is not given is detected.',
    schema: NOT_EMPTY,
    formats: ['csv', 'json', 'ndjson'],
  },
  null: {
    rule: 'A text that means null, unless it is in quotes: `null=NA`. Repeatable, up to 100 times. It replaces the default, which is the empty text: send `null=NA&null=` if both mean null.',
    schema: { type: 'string', pattern: '^[^\\u0000\\r\\n",]{0,250}$' },
    isRepeatable: true,
    formats: CSV,
  },
  encoding: {
    rule: '`utf-8`, `utf-16`, `utf-16le`, `utf-16be`, `latin-1` (`iso-8859-1`) or `windows-1252` (`cp1252`). Without it, the `charset` of the content type counts. Without both, a file is UTF-16 if it begins with the byte order mark of UTF-16, else UTF-8. UTF-16 without a mark is little endian, unless its first byte is 0.',
    schema: { enum: [...CSV_ENCODINGS, 'iso-8859-1', 'cp1252'] },
    formats: CSV,
  },
  skip: {
    rule: 'The number of lines to leave out before the header: 0 or more. They need not be CSV, and empty ones count.',
    schema: COUNT,
    formats: CSV,
  },
  dateformat: {
    rule: 'How dates are written, with the specifiers of `strftime`: `%d/%m/%Y` (in a URL each `%` is `%25`).',
    schema: NOT_EMPTY,
    formats: CSV,
  },
  timestampformat: {
    rule: 'The same for timestamps, which are read as UTC: `%m/%d/%Y %I:%M %p`.',
    schema: NOT_EMPTY,
    formats: CSV,
  },
} as const satisfies ParameterTable;

const IGNORED = { rule: 'Ignored, for clients of InfluxDB.', schema: TEXT } as const;

/** The parameters of a request with lines as its body. */
export const LINE_PARAMS = {
  precision: {
    rule: 'The unit of the times: `ns` (or `n`), `us` (`u`), `ms`, `s`, `m` (minutes) or `h`. Default `ns`.',
    schema: { enum: Object.keys(LINE_PRECISIONS) },
  },
  db: IGNORED,
  rp: IGNORED,
  consistency: IGNORED,
  org: IGNORED,
  orgID: IGNORED,
  bucket: IGNORED,
} as const satisfies ParameterTable;

const NO_EFFECT = { rule: 'No effect: it is about the tables of QuestDB.', schema: TEXT } as const;

/** The parameters of an import. */
export const IMPORT_PARAMS = {
  name: {
    rule: 'The handle of the frame. Default: the name of the file.',
    schema: { type: 'string', pattern: HANDLE_PATTERN.source },
  },
  overwrite: {
    rule: '`true`: replace the frame. `false`, the default: append to it. A frame that does not exist is created.',
    schema: FLAG,
  },
  create: { rule: '`false`: append only to a frame that exists, else 409. Default `true`.', schema: FLAG },
  delimiter: { rule: 'The separator between the values of CSV. Default: detected.', schema: TEXT },
  forceHeader: {
    rule: '`true`: the first line of CSV has the names of the columns. `false`, the default: detected.',
    schema: FLAG,
  },
  fmt: { rule: 'No effect: the response is always JSON.', schema: TEXT },
  timestamp: NO_EFFECT,
  partitionBy: NO_EFFECT,
  atomicity: { rule: 'No effect: an import is all or nothing.', schema: TEXT },
  skipLev: { rule: 'No effect: no line is left out.', schema: TEXT },
} as const satisfies ParameterTable;

/** The handle in the path of a frame. */
export const HANDLE_PARAMS = {
  handle: {
    rule: 'The name of the frame: 1 to 128 letters, digits, dots, dashes and underscores, beginning with a letter or digit.',
    schema: { type: 'string', pattern: HANDLE_PATTERN.source, examples: ['trades'] },
    isRequired: true,
  },
} as const satisfies ParameterTable;

/** The name in the path of a file. */
export const FILE_PARAMS = {
  name: {
    rule: 'The handle of a frame and the extension of a format: `.parquet`, `.arrow`, `.csv` or `.ndjson`.',
    schema: {
      type: 'string',
      pattern: `${HANDLE_PATTERN.source.replace(/\$$/, '')}\\.(${Object.keys(FILE_TYPES).join('|')})$`,
      examples: ['trades.parquet'],
    },
    isRequired: true,
  },
} as const satisfies ParameterTable;

/** The files of the page of the API. */
export const PAGE_FILES = ['docs.css', 'docs.js', 'operation.js', 'request.js'] as const;

/** The name in the path of such a file. */
export const PAGE_PARAMS = {
  file: { rule: 'The name of a file that the page loads.', schema: { enum: PAGE_FILES }, isRequired: true },
} as const satisfies ParameterTable;

/** The name of a parameter in a query string: parsers read no others. */
export type ParameterName = keyof (typeof EXEC_PARAMS &
  typeof CHK_PARAMS &
  typeof IMPORT_PARAMS &
  typeof LINE_PARAMS &
  typeof LIST_PARAMS &
  typeof RUNNING_PARAMS &
  typeof UPLOAD_PARAMS);

/** Returns the names of parameters. */
export function parameterNames(
  table: ParameterTable,
  isWanted: (row: ParameterTable[string]) => boolean = () => true,
): ReadonlySet<string> {
  return new Set(Object.entries(table).flatMap(([name, row]) => (isWanted(row) ? [name] : [])));
}

/** The request header of a read with an etag. */
export const ETAG_HEADERS = {
  'If-None-Match': {
    rule: 'Etags of versions that the client has, or `*`. If one is the current version: 304 and no body.',
    schema: TEXT,
  },
} as const satisfies ParameterTable;

/** The request headers of a read of bytes. */
export const RANGE_HEADERS = {
  ...ETAG_HEADERS,
  Range: {
    rule: 'The bytes to send: `bytes=0-1023`, `bytes=1024-`, or `bytes=-8` for the last 8. Several ranges, or a malformed header: ignored.',
    schema: TEXT,
  },
  'If-Range': {
    rule: 'The etag that `Range` belongs to. If the file is another one by now, all of it is sent.',
    schema: TEXT,
  },
  'If-Match': {
    rule: 'The etag of the file, or `*`. If the file is another one by now: 412 `precondition_failed`.',
    schema: TEXT,
  },
} as const satisfies ParameterTable;

/** The request headers of an upload. */
export const UPLOAD_HEADERS = {
  'If-None-Match': { rule: '`*`: put only if the handle is free, else 409 `handle_exists`.', schema: { enum: ['*'] } },
  'If-Match': {
    rule: 'The etag of the version to replace, or `*` for any version, else 409 `version_conflict`.',
    schema: { type: 'string', pattern: '^(\\*|(W/)?"[0-9A-Za-z-]+")$' },
  },
  'Content-Encoding': {
    rule: '`gzip` (or `x-gzip`), `zstd` or `identity`; any other, or more than one, is 415.',
    schema: { enum: ['gzip', 'x-gzip', 'zstd', 'identity'] },
  },
} as const satisfies ParameterTable;
