import { type Call, ENCODINGS } from '@svc/frames';
import type { QueryInfo, Service } from '@svc/service';
import type { HandlersOf } from '../endpoint.ts';
import { parseFlag } from '../exec-params.ts';
import { jsonList, jsonResponse } from '../json-response.ts';
import { lastSegment, mapGiven, parseQueryString, single } from '../query-string.ts';
import type { RequestContext } from '../request-context.ts';

/** Handles `/queries`: lists the running SQL that the caller may see. */
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
