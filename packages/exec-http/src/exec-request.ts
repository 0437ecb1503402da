import { quoted, ServiceError } from '@svc/errors';
import { tsdbNotConfigured } from '@svc/service';
import { parseColumns, parseFlag, parseLimit, type RowRange } from './exec-params.ts';
import { mapGiven, type Params, single } from './query-string.ts';

/** A request to `/exec`, read and checked. */
export type ExecRequest =
  | {
      readonly kind: 'handle';
      readonly handle: string;
      readonly rows: RowRange;
      readonly columns: readonly string[] | undefined;
      readonly quoteLargeNum: boolean;
      readonly timings: boolean;
    }
  | {
      readonly kind: 'query';
      /** What the database gets, in this order. */
      readonly params: Params;
    };

/** What the rules of `/exec` depend on. */
export interface ExecRules {
  /** Whether there is a database to forward SQL to. */
  readonly hasTsdb: boolean;
  /** What a missing `fmt` means; undefined: it is an error. */
  readonly defaultFmt?: string | undefined;
  /** The most rows a request may ask for; undefined: any number. */
  readonly maxRows?: number | undefined;
}

const DEFAULT_LIMIT = 1000;
/** What the database gets as the client sent it, beside `query` and `fmt`. */
const FORWARDED = new Set(['limit', 'count', 'nm', 'timings', 'explain', 'quoteLargeNum', 'cols', 'src', 'version']);
const KNOWN = new Set([...FORWARDED, 'handle', 'query', 'fmt', 'engine']);

/** Reads the parameters of `/exec`. The order of the checks decides which error a client sees first. */
export function parseExecRequest(params: Params, rules: ExecRules): ExecRequest {
  const given = collect(params);
  const handle = given.get('handle');
  const query = given.get('query');
  if ((handle === undefined) === (query === undefined)) {
    throw new ServiceError(
      'invalid_argument',
      handle === undefined ? 'Neither handle nor query is given.' : 'Both handle and query are given.',
      { hint: 'Send handle=<handle> to read a frame, or query=<sql> to run SQL.' },
    );
  }
  checkEngine(given.get('engine'));
  if (query !== undefined && !rules.hasTsdb) throw tsdbNotConfigured();
  const fmt = given.get('fmt') ?? rules.defaultFmt;
  checkFmt(fmt);
  if (query !== undefined) {
    const others = params.filter(([name]) => FORWARDED.has(name));
    return { kind: 'query', params: [['query', query], ['fmt', fmt], ...others] };
  }
  return {
    kind: 'handle',
    handle: handle ?? '',
    rows: rowRange(given.get('limit'), rules.maxRows),
    columns: mapGiven(given.get('cols'), parseColumns),
    quoteLargeNum: mapGiven(given.get('quoteLargeNum'), (text) => parseFlag('quoteLargeNum', text)) ?? false,
    timings: mapGiven(given.get('timings'), (text) => parseFlag('timings', text)) ?? false,
  };
}

function collect(params: Params): ReadonlyMap<string, string> {
  return new Map(
    [...KNOWN].flatMap((name) => {
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
    { hint: 'Send fmt=json, the only format of /exec.' },
  );
}

function rowRange(limit: string | undefined, maxRows = Infinity): RowRange {
  if (limit === undefined) return { offset: 0, limit: Math.min(DEFAULT_LIMIT, maxRows) };
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
