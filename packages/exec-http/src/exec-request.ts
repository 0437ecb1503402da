import { quoted, ServiceError } from '@svc/errors';
import type { AnswerFormat } from '@svc/frames';
import { tsdbNotConfigured } from '@svc/service';
import { parseColumns, parseFlag, parseLimit, type RowRange } from './exec-params.ts';
import { mapGiven, type Params, single } from './query-string.ts';

/** A request for the rows of a frame. */
export interface HandleRequest {
  readonly kind: 'handle';
  readonly handle: string;
  readonly format: AnswerFormat;
  readonly rows: RowRange;
  readonly columns: readonly string[] | undefined;
  readonly quoteLargeNum: boolean;
  readonly timings: boolean;
}

/** A request to run SQL. */
export interface QueryRequest {
  readonly kind: 'query';
  /** What the database gets, in this order. */
  readonly params: Params;
}

/** A request to `/exec` or `/exp`, read and checked. */
export type ExecRequest = HandleRequest | QueryRequest;

/** What the rules of `/exec` and `/exp` depend on. */
export interface ExecRules {
  /** Whether there is a database to forward SQL to. */
  readonly hasTsdb: boolean;
  /** What a missing `fmt` means; undefined: it is an error. */
  readonly defaultFmt?: string | undefined;
  /** The most rows a request may ask for; undefined: any number. */
  readonly maxRows?: number | undefined;
  /** Origins of web pages that may run SQL; undefined: none. */
  readonly allowedOrigins?: readonly string[] | undefined;
}

const DEFAULT_LIMIT = 1000;
/** What the database gets as the client sent it, beside `query` and `fmt`. */
const FORWARDED = new Set(['limit', 'count', 'nm', 'timings', 'explain', 'quoteLargeNum', 'cols', 'src', 'version']);
const KNOWN = new Set([...FORWARDED, 'handle', 'query', 'fmt', 'engine']);

/** Reads the parameters of `/exec`. The order of the checks decides which error a client sees first. */
export function parseExecRequest(params: Params, rules: ExecRules): ExecRequest {
  const given = collect(params, KNOWN);
  const query = checkMode(given, rules);
  const fmt = given.get('fmt') ?? rules.defaultFmt;
  checkFmt(fmt);
  if (query !== undefined) {
    const others = params.filter(([name]) => FORWARDED.has(name));
    return { kind: 'query', params: [['query', query], ['fmt', fmt], ...others] };
  }
  const rows = rowRange(given.get('limit'), { defaultLimit: DEFAULT_LIMIT, maxRows: rules.maxRows });
  const timings = mapGiven(given.get('timings'), (text) => parseFlag('timings', text)) ?? false;
  return { ...handleRequest(given, fmt, rows), timings };
}

const EXPORT_FORMATS = ['csv', 'ndjson', 'arrow'] as const satisfies readonly AnswerFormat[];

/** Reads the parameters of `/exp`: as `/exec`, in the other formats, and whole unless there is a limit. */
export function parseExpRequest(params: Params, rules: ExecRules): ExecRequest {
  const query = checkMode(collect(params, ['handle', 'query', 'engine']), rules);
  if (query !== undefined) return { kind: 'query', params: withoutEngine(params) };
  const given = collect(params, KNOWN);
  const fmt = given.get('fmt') ?? 'csv';
  const format = EXPORT_FORMATS.find((name) => name === fmt);
  if (format === undefined) {
    const others = fmt === 'json' ? ', or ask /exec for JSON' : '';
    throw new ServiceError('invalid_argument', `fmt=${quoted(fmt)} is not a format of /exp.`, {
      hint: `Send one of fmt=${EXPORT_FORMATS.join(', fmt=')}${others}.`,
    });
  }
  return handleRequest(given, format, rowRange(given.get('limit'), { maxRows: rules.maxRows }));
}

/** Reads the parameters of `/chk`, a question that only the database answers. */
export function parseChkRequest(params: Params, rules: ExecRules): QueryRequest {
  checkEngine(single(params, 'engine'));
  if (!rules.hasTsdb) throw tsdbNotConfigured(false);
  return { kind: 'query', params: withoutEngine(params) };
}

function withoutEngine(params: Params): Params {
  return params.filter(([name]) => name !== 'engine');
}

/** Checks that there is one of `handle` and `query`, and who would run it; returns the query if it is that. */
function checkMode(given: ReadonlyMap<string, string>, rules: ExecRules): string | undefined {
  const query = given.get('query');
  if (given.has('handle') === (query !== undefined)) {
    throw new ServiceError(
      'invalid_argument',
      query === undefined ? 'Neither handle nor query is given.' : 'Both handle and query are given.',
      { hint: 'Send handle=<handle> to read a frame, or query=<sql> to run SQL.' },
    );
  }
  checkEngine(given.get('engine'));
  if (query !== undefined && !rules.hasTsdb) throw tsdbNotConfigured(false);
  return query;
}

function handleRequest(given: ReadonlyMap<string, string>, format: AnswerFormat, rows: RowRange): HandleRequest {
  return {
    kind: 'handle',
    handle: given.get('handle') ?? '',
    format,
    rows,
    columns: mapGiven(given.get('cols'), parseColumns),
    quoteLargeNum: mapGiven(given.get('quoteLargeNum'), (text) => parseFlag('quoteLargeNum', text)) ?? false,
    timings: false,
  };
}

/** The parameters of these names, each given at most once. */
function collect(params: Params, names: Iterable<string>): ReadonlyMap<string, string> {
  return new Map(
    [...names].flatMap((name) => {
      const value = single(params, name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function checkEngine(engine: string | undefined): void {
  if (engine === undefined || engine === 'tsdb') return;
  throw new ServiceError('invalid_argument', `There is no engine ${quoted(engine)}.`, {
    hint: 'The engine is tsdb, the external time-series database; leave engine out to use it.',
  });
}

function checkFmt(fmt: string | undefined): asserts fmt is 'json' {
  if (fmt === 'json') return;
  throw new ServiceError(
    'invalid_argument',
    fmt === undefined ? 'The parameter fmt is missing.' : `fmt=${quoted(fmt)} is not supported.`,
    { hint: `Send fmt=json; ${EXPORT_FORMATS.join(', ')} come from /exp.` },
  );
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

/** Refuses more rows than `maxRows`, rather than leaving some out silently. */
export function checkMaxRows(rows: number, maxRows = Infinity): void {
  if (rows <= maxRows) return;
  throw new ServiceError(
    'invalid_argument',
    `The request asks for ${rows} rows, and this server sends at most ${maxRows}.`,
    {
      hint: `Page with limit=1,${maxRows} and so on, or raise http.max_rows.`,
    },
  );
}
