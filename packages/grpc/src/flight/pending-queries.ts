import { onAbort, ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { EngineName, Service, SqlResult } from '@svc/service';
import type { Schema } from 'apache-arrow';
import type { BoundStatement } from './flight-source.ts';
import { CANCELLED } from './running-flights.ts';
import { ticketKey } from './tickets.ts';

/** A running query whose result has not been fetched yet. */
export interface PendingQuery {
  readonly engine: EngineName;
  readonly result: Promise<SqlResult>;
  /** Cancels the query, or closes its result. */
  end(reason: unknown): void;
}

/**
 * Queries that were started when their tickets were issued. Clients usually redeem a ticket at once and then get the result
 * without a second planning of the query.
 */
export interface PendingQueries {
  /** Starts a query, which is cancelled with the call, and returns its schema. */
  begin(call: Call, statement: BoundStatement): Promise<{ readonly query: PendingQuery; readonly schema: Schema }>;
  /** Keeps a query for its ticket for a short time, then cancels it. */
  keep(call: Call, ticket: Uint8Array, query: PendingQuery): void;
  /** Returns the result for a ticket, which is cancelled with the call from now on; undefined if there is none. */
  take(call: Call, ticket: Uint8Array): Promise<SqlResult> | undefined;
  /** Cancels the query of a ticket. Returns false if there is none. */
  cancel(call: Call, ticket: Uint8Array): boolean;
}

/** Options of `createPendingQueries`. */
export interface PendingQueriesOptions {
  readonly service: Service;
  /** How long a query is kept, in milliseconds; it may occupy an engine during that time. Default 1000. */
  readonly keepMs?: number;
  /** The most pending queries of all clients; beyond it the oldest one is cancelled. Default 16. */
  readonly maxKept?: number;
  /** How long to wait for the first rows before the statement is described in parallel. Default 50. */
  readonly describeAfterMs?: number;
}

/** Creates an empty set of pending queries. */
export function createPendingQueries(options: PendingQueriesOptions): PendingQueries {
  const { service, keepMs = 1000, maxKept = 16, describeAfterMs = 50 } = options;
  const kept = new Map<string, { readonly query: PendingQuery; readonly timer: NodeJS.Timeout }>();

  function remove(key: string): PendingQuery | undefined {
    const found = kept.get(key);
    clearTimeout(found?.timer);
    kept.delete(key);
    return found?.query;
  }

  function end(key: string, reason: ServiceError): boolean {
    const query = remove(key);
    query?.end(reason);
    return query !== undefined;
  }

  return {
    async begin(call, statement) {
      const query = beginQuery(service, call, statement);
      const detach = endWith(call, query);
      try {
        return { query, schema: await schemaOf(service, call, { statement, query, describeAfterMs }) };
      } catch (error) {
        query.end(error);
        throw error;
      } finally {
        detach();
      }
    },
    keep(call, ticket, query) {
      const key = ticketKey(call, ticket);
      // The timer does not keep the process alive.
      kept.set(key, { query, timer: setTimeout(() => end(key, NOT_READ), keepMs).unref() });
      const [oldest] = kept.keys();
      if (oldest !== undefined && kept.size > maxKept) end(oldest, NOT_READ);
    },
    take(call, ticket) {
      const key = ticketKey(call, ticket);
      // The ticket may come from another caller of the tenant, who may read.
      const found = kept.get(key);
      if (found !== undefined) service.authorize(call, 'query', found.query.engine);
      const query = remove(key);
      if (query === undefined) return undefined;
      endWith(call, query);
      return query.result;
    },
    cancel: (call, ticket) => end(ticketKey(call, ticket), CANCELLED),
  };
}

const NOT_READ = new ServiceError('cancelled', 'The query result was never fetched.');

function beginQuery(service: Service, call: Call, { sql, params, engine }: BoundStatement): PendingQuery {
  const controller = new AbortController();
  const result = service.query({ ...call, signal: controller.signal }, sql, { params, engine });
  // Avoid an unhandled rejection; the reader awaits `result` itself.
  result.catch(() => undefined);
  return {
    engine,
    result,
    end(reason) {
      controller.abort(reason);
      void result.then(
        (opened) => opened.close(),
        () => undefined,
      );
    },
  };
}

/** Cancels a query with a call, until the returned function is called. */
function endWith({ signal }: Call, query: PendingQuery): () => void {
  return onAbort(signal, () => query.end(signal.reason));
}

/** Returns the schema of a result: from its first rows or, if these take long, from a description of the statement. */
async function schemaOf(
  service: Service,
  call: Call,
  {
    statement,
    query,
    describeAfterMs,
  }: { readonly statement: BoundStatement; readonly query: PendingQuery; readonly describeAfterMs: number },
): Promise<Schema> {
  // A description does not know the bound values, on which the types of the columns may depend.
  if (statement.params.length > 0) return (await query.result).schema;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), describeAfterMs);
  });
  const quick = await Promise.race([query.result, late]).finally(() => clearTimeout(timer));
  if (quick !== undefined) return quick.schema;
  const describing = new AbortController();
  const aside = { ...call, signal: AbortSignal.any([call.signal, describing.signal]) };
  // If the description fails, because every engine is busy for example, wait for the query itself.
  const described = service.describeQuery(aside, statement.sql, statement.engine).catch(() => query.result);
  try {
    return (await Promise.race([query.result, described])).schema;
  } finally {
    describing.abort(new ServiceError('cancelled', 'The schema is known already.'));
  }
}
