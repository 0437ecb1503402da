import { ServiceError } from '@svc/errors';
import { counted, quoted } from '@svc/errors/internal';
import type { ResultFormat, SqlValue } from '@svc/frames';
import { type EngineName, SQL_TARGETS, type SqlTarget } from '@svc/service';
import { engineNotConfigured } from '@svc/service/internal';
import {
  EXEC_PARAMS,
  EXPORT_FORMATS,
  type ParameterName,
  parameterNames,
  TARGET_PARAMS,
} from '../endpoints/parameters.ts';
import { parseColumns, parseFlag, parseLimit, parseSqlValue, type RowRange } from './exec-params.ts';
import { type FullStatement, fullStatement } from './short-statement.ts';
import { all, givenTwice, mapGiven, type Params, single } from './query-string.ts';

/** The requested part of a table, and its format. */
export interface TableRequest {
  readonly format: ResultFormat;
  readonly rows: RowRange;
  readonly columns: readonly string[] | undefined;
  readonly quoteLargeNum: boolean;
  /** True if `count` is the number of all rows, not only those of `limit`. */
  readonly countsAll: boolean;
  /** True to write the query and columns of a JSON table, or the header of CSV. */
  readonly hasMetadata: boolean;
  readonly timings: boolean;
}

/** A request for the rows of a frame. */
export interface HandleRequest extends TableRequest {
  readonly kind: 'handle';
  readonly handle: string;
}

/** A request to run SQL over frames. */
export interface SqlRequest extends TableRequest {
  readonly kind: 'sql';
  readonly engine: EngineName;
  readonly sql: string;
  readonly params: readonly SqlValue[];
  /** The statement to run, if `sql` is a short form of it. */
  readonly full?: FullStatement;
}

/** A request to the time-series database. */
export interface ForwardRequest {
  readonly kind: 'forward';
  /** The parameters to forward, in this order. */
  readonly params: Params;
}

/** A validated request to `/exec` or `/exp`. */
export type ExecRequest = HandleRequest | SqlRequest | ForwardRequest;

/** The configuration of the server, as far as `/exec` and `/exp` depend on it. */
export interface ExecRules {
  /** True if there is a database to forward SQL to. */
  readonly hasTsdb: boolean;
  /** The configured engines for SQL over frames. */
  readonly engines: readonly EngineName[];
  /** The engine of SQL without `engine`; undefined: the database. */
  readonly defaultEngine?: SqlTarget | undefined;
  /** True if the server can write Parquet files. */
  readonly hasParquet?: boolean | undefined;
  /** The value of a missing `fmt`; undefined: a missing `fmt` is an error. */
  readonly defaultFmt?: string | undefined;
  /** The most rows a request may ask for; undefined: no limit. */
  readonly maxRows?: number | undefined;
}

const DEFAULT_LIMIT = 1000;
/** The parameters to forward unchanged, besides `query` and `fmt`. */
const FORWARDED = parameterNames(EXEC_PARAMS, ({ isForwarded = false }) => isForwarded);
const TARGETS = parameterNames(TARGET_PARAMS);
/** The parameters of `/exec` and `/exp` to give at most once. */
const KNOWN = parameterNames(EXEC_PARAMS, ({ isRepeatable = false }) => !isRepeatable);

/** Throws `permission_denied` if the caller may not read frames or run SQL at a target. */
export type AuthorizeTarget = (target: 'handle' | SqlTarget) => void;

const ALLOW: AuthorizeTarget = () => {};

/** Parses the parameters of `/exec`. The order of the checks decides the first error. */
export function parseExecRequest(params: Params, rules: ExecRules, authorize: AuthorizeTarget = ALLOW): ExecRequest {
  const given = collect(params, KNOWN);
  const target = parseTarget(given, rules, authorize);
  const fmt = given.get('fmt') ?? rules.defaultFmt;
  checkFmt(fmt, rules);
  if (target.kind === 'forward') {
    const others = params.filter(([name]) => FORWARDED.has(name));
    return { kind: 'forward', params: [['query', target.query], ['fmt', fmt], ...others] };
  }
  const defaultLimit = target.kind === 'handle' ? { defaultLimit: DEFAULT_LIMIT } : {};
  const table = tableRequest(given, fmt, rowRange(given.get('limit'), { ...defaultLimit, maxRows: rules.maxRows }));
  const timings = mapGiven(given.get('timings'), (text) => parseFlag('timings', text)) ?? false;
  return readRequest(target, { ...table, timings }, params, rules);
}

function exportFormats({ hasParquet = false }: ExecRules): readonly (typeof EXPORT_FORMATS)[number][] {
  return EXPORT_FORMATS.filter((format) => format !== 'parquet' || hasParquet);
}

/** Reads the parameters of `/exp`: as `/exec`, in the other formats, and whole unless there is a limit. */
export function parseExpRequest(params: Params, rules: ExecRules, authorize: AuthorizeTarget = ALLOW): ExecRequest {
  const target = parseTarget(collect(params, TARGETS), rules, authorize);
  if (target.kind === 'forward') return { kind: 'forward', params: withoutEngine(params) };
  const given = collect(params, KNOWN);
  const fmt = given.get('fmt') ?? 'csv';
  const formats = exportFormats(rules);
  const format = formats.find((name) => name === fmt);
  if (format === undefined) {
    const others = fmt === 'json' ? ', or ask /exec for JSON' : '';
    throw new ServiceError('invalid_argument', `fmt=${quoted(fmt)} is not a format of /exp.`, {
      hint: `Send one of fmt=${formats.join(', fmt=')}${others}.`,
    });
  }
  const table = tableRequest(given, format, rowRange(given.get('limit'), { maxRows: rules.maxRows }));
  return readRequest(target, table, params, rules);
}

/** A request to look for a frame. */
export interface ExistsRequest {
  readonly kind: 'exists';
  readonly handle: string;
  readonly isJson: boolean;
}

/** Parses the parameters of `/chk`: about a frame if SQL runs over frames by default, else for the database. */
export function parseChkRequest(params: Params, rules: ExecRules): ForwardRequest | ExistsRequest {
  const engine = checkEngineName(single(params, 'engine') ?? chkTarget([], rules) ?? 'tsdb');
  if (engine !== 'local' || rules.defaultEngine !== 'local') {
    checkConfigured(engine, rules);
    if (engine === 'tsdb') return { kind: 'forward', params: withoutEngine(params) };
    throw new ServiceError('invalid_argument', `engine=${quoted(engine)} is not supported for /chk.`, {
      hint: 'Leave engine out: the time-series database answers /chk, or this server if sql.default_engine is local.',
    });
  }
  const handle = single(params, 'j');
  if (handle === undefined) {
    throw new ServiceError('invalid_argument', 'The parameter j is missing.', { hint: 'Send j=<handle>.' });
  }
  return { kind: 'exists', handle, isJson: single(params, 'f') === 'json' };
}

/** Returns who answers `/chk`, for the permission; undefined if the request is not valid. */
export function chkTarget(params: Params, { defaultEngine }: ExecRules): SqlTarget | undefined {
  return sqlTarget(params, { defaultEngine: defaultEngine === 'local' ? 'local' : 'tsdb' });
}

function withoutEngine(params: Params): Params {
  return params.filter(([name]) => name !== 'engine');
}

/** The target of a request: a frame, the database, or an engine. */
type Target =
  | { readonly kind: 'handle'; readonly handle: string }
  | { readonly kind: 'forward'; readonly query: string }
  | { readonly kind: 'sql'; readonly engine: EngineName; readonly sql: string };

/**
 * Checks that exactly one of `handle` and `query` is given, that the caller may use the target, and that it is
 * configured.
 */
function parseTarget(given: ReadonlyMap<string, string>, rules: ExecRules, authorize: AuthorizeTarget): Target {
  const query = given.get('query');
  const handle = given.get('handle');
  if ((handle === undefined) === (query === undefined)) {
    throw new ServiceError(
      'invalid_argument',
      query === undefined ? 'Neither handle nor query is given.' : 'Both handle and query are given.',
      { hint: 'Send handle=<handle> to read a frame, or query=<sql> to run SQL.' },
    );
  }
  if (query === undefined) {
    checkEngineName(given.get('engine') ?? 'tsdb');
    authorize('handle');
    return { kind: 'handle', handle: handle ?? '' };
  }
  const engine = checkEngineName(given.get('engine') ?? rules.defaultEngine ?? 'tsdb');
  authorize(engine);
  checkConfigured(engine, rules);
  return engine === 'tsdb' ? { kind: 'forward', query } : { kind: 'sql', engine, sql: query };
}

/** Returns where the SQL of a POST runs, by its URL; undefined if the URL is not valid. */
export function sqlTarget(
  params: Params,
  { defaultEngine = 'tsdb' }: Pick<ExecRules, 'defaultEngine'>,
): SqlTarget | undefined {
  const given = params.filter(([name]) => name === 'engine').map(([, value]) => value);
  return given.length === 0 ? defaultEngine : SQL_TARGETS.find((engine) => engine === given[0]);
}

function readRequest(
  target: Exclude<Target, { kind: 'forward' }>,
  table: TableRequest,
  params: Params,
  { maxRows, defaultEngine }: ExecRules,
): HandleRequest | SqlRequest {
  if (target.kind === 'handle') return { ...table, kind: 'handle', handle: target.handle };
  if (maxRows !== undefined && table.rows.limit === undefined) {
    throw new ServiceError(
      'invalid_argument',
      `This server sends at most ${counted(maxRows, 'row')}, and the request has no limit.`,
      {
        hint: `Send limit=${maxRows} or less with the query.`,
      },
    );
  }
  const values = all(params, 'param').map(parseSqlValue);
  // The tools of QuestDB run their SQL at the default engine.
  const full = defaultEngine === 'local' && target.engine === 'local' ? fullStatement(target.sql) : undefined;
  return { ...target, ...table, params: values, ...(full && { full }) };
}

function tableRequest(given: ReadonlyMap<string, string>, format: ResultFormat, rows: RowRange): TableRequest {
  const isTrue = (name: ParameterName): boolean => mapGiven(given.get(name), (text) => parseFlag(name, text)) ?? false;
  return {
    format,
    rows,
    columns: mapGiven(given.get('cols'), parseColumns),
    // As in QuestDB, whose console shows numbers as they are in JSON.
    quoteLargeNum: isTrue('quoteLargeNum') || given.get('src') === 'con',
    countsAll: isTrue('count'),
    hasMetadata: !isTrue('nm'),
    timings: false,
  };
}

/** Returns the parameters with these names. Throws if one is given twice. */
function collect(params: Params, names: ReadonlySet<string>): ReadonlyMap<string, string> {
  const given = new Map<string, string>();
  for (const [name, value] of params) {
    if (!names.has(name)) continue;
    if (given.has(name)) throw givenTwice(name);
    given.set(name, value);
  }
  return given;
}

function checkEngineName(name: string): SqlTarget {
  const known = SQL_TARGETS.find((engine) => engine === name);
  if (known !== undefined) return known;
  throw new ServiceError('invalid_argument', `There is no engine ${quoted(name)}.`, {
    hint: 'Send engine=local to query the frames of this server, engine=scheduler to do so on a cluster, engine=tsdb for the time-series database.',
  });
}

/** Throws if an engine is not configured. */
function checkConfigured(engine: SqlTarget, { hasTsdb, engines }: ExecRules): void {
  const isThere = engine === 'tsdb' ? hasTsdb : engines.includes(engine);
  if (!isThere) throw engineNotConfigured(engine, engines);
}

function checkFmt(fmt: string | undefined, rules: ExecRules): asserts fmt is 'json' {
  if (fmt === 'json') return;
  const hint = `Send fmt=json; ${exportFormats(rules).join(', ')} come from /exp.`;
  if (fmt === undefined) {
    throw new ServiceError('invalid_argument', 'The parameter fmt is missing.', {
      hint: `${hint} For tools that never send it, the operator can set http.default_fmt.`,
    });
  }
  throw new ServiceError('invalid_argument', `fmt=${quoted(fmt)} is not supported.`, { hint });
}

function rowRange(
  limit: string | undefined,
  { defaultLimit, maxRows = Infinity }: { defaultLimit?: number; maxRows: number | undefined },
): RowRange {
  if (limit === undefined) {
    return defaultLimit === undefined ? { offset: 0 } : { offset: 0, limit: Math.min(defaultLimit, maxRows) };
  }
  const rows = parseLimit(limit);
  if (rows.limit !== undefined) checkMaxRows(rows.limit, maxRows);
  return rows;
}

/** Refuses more than `maxRows` rows instead of silently truncating. */
export function checkMaxRows(rows: number, maxRows = Infinity): void {
  if (rows <= maxRows) return;
  throw new ServiceError(
    'invalid_argument',
    `The request asks for ${counted(rows, 'row')}, and this server sends at most ${maxRows}.`,
    {
      hint: `Page with limit=1,${maxRows} and so on, or raise http.max_rows.`,
    },
  );
}
