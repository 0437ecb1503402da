import { ServiceError } from '@svc/errors';
import { type Call, type Caller, ENCODINGS } from '@svc/frames';
import {
  type Health,
  isServing,
  type QueryInfo,
  type Service,
  SQL_TARGETS,
  type SqlTarget,
  type StoreHealth,
} from '@svc/service';
import { parseFlag } from '../request/exec-params.ts';
import { lastSegment, mapGiven, parseQueryString, single } from '../request/query-string.ts';
import type { RequestContext } from '../request/request-context.ts';
import { jsonList, jsonResponse } from '../response/endpoint-response.ts';
import type { HandlersOf } from './add-endpoints.ts';

/** Handles `/queries`: lists the running SQL of the caller. */
export function queryListHandlers(service: Service): HandlersOf<'GET'> {
  return {
    GET: async (context) => {
      const hasSql = showsSql(context);
      const queries = await service.listQueries(context.call);
      const shown = queries.map((query) => shownQuery(query, context.call, hasSql));
      // With the SQL, each may have a megabyte.
      return {
        headers: { 'content-type': ENCODINGS.json.out.contentType, ...UNCACHED },
        body: jsonList('queries', shown),
      };
    },
  };
}

/** Handles `/queries/{id}`: shows or cancels the SQL of one request. */
export function queryHandlers(service: Service): HandlersOf<'DELETE' | 'GET'> {
  return {
    GET: async (context) => {
      const hasSql = showsSql(context);
      const query = await service.findQuery(context.call, lastSegment(context.c.req.url));
      const response = jsonResponse(shownQuery(query, context.call, hasSql));
      return { ...response, headers: { ...response.headers, ...UNCACHED } };
    },
    DELETE: async ({ c, call }) => {
      await service.cancelQuery(call, lastSegment(c.req.url));
      return { status: 204 };
    },
  };
}

function showsSql({ c }: RequestContext): boolean {
  return mapGiven(single(parseQueryString(c.req.url), 'sql'), (text) => parseFlag('sql', text)) ?? false;
}

/** Returns a query as clients see it. Without authentication all have the same tenant, and no caller. */
function shownQuery(query: QueryInfo, { caller }: Call, hasSql: boolean): object {
  const { id, tenant, engine, state, elapsedMs, queue, progress, rows, bytes, sql } = query;
  return {
    id,
    ...(caller && { tenant, caller: query.caller }),
    engine,
    state,
    elapsedMs: Math.round(elapsedMs),
    ...(queue && { queuePosition: queue.position }),
    progress: progress?.fraction ?? null,
    ...(progress && { rowsProcessed: progress.rowsProcessed, rowsTotal: progress.rowsTotal }),
    rows,
    bytes,
    ...(hasSql && { sql }),
  };
}

const UNCACHED = { 'cache-control': 'no-store' };

/** The kinds of credentials of callers. */
export type AuthenticationKind = 'token' | 'jwt' | 'certificate';

/** What the host knows about its server; `/info` reports it. */
export interface HostInfo {
  /** The kinds of credentials of requests. Default: not reported. */
  readonly authentication?: readonly AuthenticationKind[] | undefined;
  /** What the console of the server may do. Default: not reported. */
  readonly console?: { readonly keepsHistory: boolean } | undefined;
  /** The limits of the engine for SQL over frames, by their names in the response. Default: not reported. */
  readonly limits?: Readonly<Record<string, number | null>> | undefined;
}

/** What the paths about the server tell of its configuration. */
export interface ServerState {
  readonly service: Service;
  /** The engine of SQL without `engine`. Default `tsdb`. */
  readonly defaultEngine?: SqlTarget | undefined;
  /** The most rows of a response. Default: no limit. */
  readonly maxRows?: number | undefined;
  /** What the host reports of itself. */
  readonly host?: HostInfo | undefined;
  /** True if requests are authenticated: details of the health are then only for callers. Default false. */
  readonly hasCallers?: boolean;
  /** Returns true while a part of the server starts. Default: never. */
  readonly isStarting?: (() => boolean) | undefined;
}

/** Handles `/info`: what this server can do, for programs. */
export function infoHandlers(state: ServerState): HandlersOf<'GET'> {
  return { GET: ({ call }) => jsonResponse(infoOf(state, call.caller)) };
}

function infoOf(
  { service, host = {}, defaultEngine = 'tsdb', maxRows, hasCallers }: ServerState,
  caller: Caller | undefined,
): object {
  const { version, engines, hasTsdb, uploadFormats, frameFileFormats, maxUploadBytes, encodeParquet } = service;
  return {
    version,
    engines: SQL_TARGETS.filter((name) => (name === 'tsdb' ? hasTsdb : engines.includes(name))),
    defaultEngine,
    formats: {
      in: uploadFormats,
      out: RESULT_FORMATS.filter((name) => name !== 'parquet' || encodeParquet !== undefined),
      files: frameFileFormats,
    },
    limits: { maxRows: maxRows ?? null, maxUploadBytes, ...host.limits },
    authentication: { isRequired: hasCallers === true, ...(host.authentication && { kinds: host.authentication }) },
    ...(host.console && { console: host.console }),
    ...(caller && { caller: { tenant: caller.tenant, permissions: [...caller.permissions].toSorted() } }),
  };
}

const RESULT_FORMATS = Object.entries(ENCODINGS).flatMap(([name, row]) => ('out' in row ? [name] : []));

/** The health as a caller sees it: usage and faults of the store tell about the frames of all tenants. */
export interface ShownHealth extends Partial<Omit<Health, 'parts' | 'status'>> {
  readonly status: Health['status'];
  readonly defaultEngine?: SqlTarget;
  readonly parts?: Omit<Health['parts'], 'store'> & {
    readonly store: Pick<StoreHealth, 'status'> & Partial<StoreHealth>;
  };
}

/** Handles `/health`: the state of all parts, for people and dashboards. */
export function healthHandlers({
  service,
  defaultEngine = 'tsdb',
  hasCallers = false,
}: ServerState): HandlersOf<'GET'> {
  return {
    GET: async ({ call }) => {
      const health = await service.health();
      const { parts, ...server } = hasCallers ? visibleHealth(service, health, call) : health;
      const shown: ShownHealth = parts === undefined ? server : { ...server, defaultEngine, parts };
      return jsonResponse(shown, isServing(health) ? 200 : 503);
    },
  };
}

function visibleHealth(service: Service, health: Health, call: Call): Omit<ShownHealth, 'defaultEngine'> {
  if (call.caller === undefined) return { status: health.status };
  if (service.useAdmin(call, 'health')) return health;
  const { parts } = health;
  const { store, local, scheduler, tsdb } = parts;
  const shown = {
    store: { status: store.status },
    local: { status: local.status },
    scheduler: { status: scheduler.status },
    tsdb: { status: tsdb.status },
  };
  return { ...health, parts: { ...parts, ...shown } };
}

/** Handles `/ready`, a readiness probe for load balancers. It does not check the time-series database. */
export function readyHandlers({ service, isStarting = () => false }: ServerState): HandlersOf<'GET'> {
  return {
    GET: async () => {
      const reason = isStarting() ? 'The server is starting.' : reasonOf(await service.health());
      if (reason === undefined) return jsonResponse({ status: 'ready' });
      return { error: new ServiceError('unavailable', reason, { hint: 'GET /health shows the state of each part.' }) };
    },
  };
}

/** Handles `/ping`: the listener answers. */
export const PING_HANDLERS: HandlersOf<'GET'> = {
  GET: () => ({ body: 'ok', headers: { 'content-type': 'text/plain; charset=utf-8' } }),
};

/** Handles `/livez`, a liveness probe. It ignores the store: a restart would not repair it. */
export const LIVE_HANDLERS: HandlersOf<'GET'> = { GET: () => jsonResponse({ status: 'alive' }) };

/** Returns why a service is not ready; undefined if it is. Damaged frames do not count: the others can be read. */
function reasonOf({ status, parts }: Health): string | undefined {
  if (status === 'stopping') return 'The server is stopping.';
  if (status === 'draining') return 'The server is draining: it answers requests, and stops soon.';
  if (status !== 'failing') return undefined;
  const faults = parts.store.faults?.filter(({ kind }) => kind !== 'damaged_frame') ?? [];
  return faults.map(({ message }) => message).join(' ');
}
