import { onAbort, ServiceError } from '@svc/errors';
import type { Call, QueryResult } from '@svc/frames';
import type { Service } from '@svc/service';
import type { Schema } from 'apache-arrow';
import type { BoundStatement } from './flight-source.ts';
import { CANCELLED } from './running-flights.ts';
import { ticketKey } from './tickets.ts';

/** A query that runs, and whose answer nobody reads yet. */
export interface PendingQuery {
  readonly answer: Promise<QueryResult>;
  /** Ends it, wherever it is. */
  end(reason: unknown): void;
}

/**
 * Queries that were begun when their tickets were issued: a client that comes with the ticket at once, as they do, gets
 * the answer without the query being checked and planned a second time.
 */
export interface PendingQueries {
  /** Begins a query that ends with the call, and says what it answers. */
  begin(call: Call, statement: BoundStatement): Promise<{ readonly query: PendingQuery; readonly schema: Schema }>;
  /** Keeps a query for who comes with the ticket, for a short time: after that it is ended. */
  keep(call: Call, ticket: Uint8Array, query: PendingQuery): void;
  /** The answer of the query of a ticket, which ends with the call from now on; undefined where none is kept. */
  take(call: Call, ticket: Uint8Array): Promise<QueryResult> | undefined;
  /** Ends the query of a ticket; false where none is kept. */
  cancel(call: Call, ticket: Uint8Array): boolean;
}

/** How long, and how many. */
export interface PendingQueriesOptions {
  readonly service: Service;
  /** How long a query waits for its reader: it may hold an engine meanwhile. Default 1000. */
  readonly keepMs?: number;
  /** So many wait at the most, of all clients together; then the oldest is ended. Default 16. */
  readonly maxKept?: number;
  /** How long the first rows may take before a statement is described beside its query. Default 50. */
  readonly describeAfterMs?: number;
}

/** No query was begun yet. */
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
      const letRunOn = endWith(call, query);
      try {
        return { query, schema: await schemaOf(service, call, { statement, query, describeAfterMs }) };
      } catch (error) {
        query.end(error);
        throw error;
      } finally {
        letRunOn();
      }
    },
    keep(call, ticket, query) {
      const key = ticketKey(call, ticket);
      // A server that is ready to end does not wait for it.
      kept.set(key, { query, timer: setTimeout(() => end(key, NOT_READ), keepMs).unref() });
      const [oldest] = kept.keys();
      if (oldest !== undefined && kept.size > maxKept) end(oldest, NOT_READ);
    },
    take(call, ticket) {
      const query = remove(ticketKey(call, ticket));
      if (query === undefined) return undefined;
      endWith(call, query);
      return query.answer;
    },
    cancel: (call, ticket) => end(ticketKey(call, ticket), CANCELLED),
  };
}

const NOT_READ = new ServiceError('cancelled', 'Nobody came to read the answer.');

function beginQuery(service: Service, call: Call, { sql, params }: BoundStatement): PendingQuery {
  const controller = new AbortController();
  const answer = service.query({ ...call, signal: controller.signal }, sql, { params });
  // Whoever reads it hears of the failure.
  answer.catch(() => undefined);
  return {
    answer,
    end(reason) {
      controller.abort(reason);
      void answer.then(
        (given) => given.close(),
        () => undefined,
      );
    },
  };
}

/** Ends a query when a call is cancelled, until the function that it returns is called. */
function endWith({ signal }: Call, query: PendingQuery): () => void {
  return onAbort(signal, () => query.end(signal.reason));
}

/** The schema of an answer: from its first rows or, if these take long, from a description of the statement. */
async function schemaOf(
  service: Service,
  call: Call,
  {
    statement,
    query,
    describeAfterMs,
  }: { readonly statement: BoundStatement; readonly query: PendingQuery; readonly describeAfterMs: number },
): Promise<Schema> {
  // A description knows nothing of the values that are bound, and the columns may have their types.
  if (statement.params.length > 0) return (await query.answer).schema;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), describeAfterMs);
  });
  const quick = await Promise.race([query.answer, late]).finally(() => clearTimeout(timer));
  if (quick !== undefined) return quick.schema;
  const describing = new AbortController();
  const aside = { ...call, signal: AbortSignal.any([call.signal, describing.signal]) };
  // Where nobody has the time to describe it, the query itself says it in the end.
  const described = service.describeQuery(aside, statement.sql).catch(() => query.answer);
  try {
    return (await Promise.race([query.answer, described])).schema;
  } finally {
    describing.abort(new ServiceError('cancelled', 'The query was described by itself.'));
  }
}
