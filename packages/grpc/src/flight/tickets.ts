import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { onAbort, ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { EngineName, Service, SqlResult } from '@svc/service';
import type { Schema } from 'apache-arrow';
import type { BoundStatement } from './flight-source.ts';

/** Encrypted and authenticated tickets, bound to a tenant. */
export interface Tickets {
  /** Issues a ticket for the tenant of the call. Returns it with its expiry time. */
  issue(call: Call, content: Uint8Array): { readonly ticket: Uint8Array; readonly expires: Date };
  /** Returns the content of a ticket; `invalid_argument` if it is forged, expired or of another tenant. */
  open(call: Call, ticket: Uint8Array): Uint8Array;
}

/** Options of `createTickets`. */
interface TicketsOptions {
  /** How long a ticket is valid. Default: an hour. */
  readonly lifeMs?: number;
  /** The clock, in ms since 1970. */
  readonly now?: () => number;
}

/** Creates the tickets of one server. Their key lives as long as the server. */
export function createTickets({ lifeMs = 3_600_000, now = Date.now }: TicketsOptions = {}): Tickets {
  const key = randomBytes(32);
  return {
    issue({ tenant }, content) {
      const expires = now() + lifeMs;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(tenant));
      const time = Buffer.alloc(TIME_BYTES);
      time.writeDoubleBE(expires);
      const sealed = [nonce, cipher.update(time), cipher.update(content), cipher.final(), cipher.getAuthTag()];
      return { ticket: Buffer.concat(sealed), expires: new Date(expires) };
    },
    open({ tenant }, ticket) {
      if (ticket.length < NONCE_BYTES + TIME_BYTES + TAG_BYTES) throw refused();
      const opener = createDecipheriv(CIPHER, key, ticket.subarray(0, NONCE_BYTES)).setAAD(Buffer.from(tenant));
      opener.setAuthTag(ticket.subarray(-TAG_BYTES));
      const opened = opener.update(ticket.subarray(NONCE_BYTES, -TAG_BYTES));
      try {
        opener.final();
      } catch {
        throw refused();
      }
      if (opened.readDoubleBE() < now()) throw refused();
      return opened.subarray(TIME_BYTES);
    },
  };
}

/** Returns the map key of a ticket: its tenant, nonce and tag. Only its holder knows them, and the content may be long. */
function ticketKey({ tenant }: Call, ticket: Uint8Array): string {
  const ends = Buffer.concat([ticket.subarray(0, NONCE_BYTES), ticket.subarray(-TAG_BYTES)]);
  return `${tenant} ${ends.toString('base64')}`;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TIME_BYTES = 8;
const TAG_BYTES = 16;

function refused(): ServiceError {
  return new ServiceError('invalid_argument', 'The ticket was not issued to you by this server, or has expired.', {
    hint: 'Get a new one with GetFlightInfo.',
  });
}

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
  /** Starts a query and returns its schema. It is cancelled with the call. */
  begin(call: Call, statement: BoundStatement): Promise<{ readonly query: PendingQuery; readonly schema: Schema }>;
  /** Keeps a query for its ticket for a short time, then cancels it. */
  keep(call: Call, ticket: Uint8Array, query: PendingQuery): void;
  /** Returns the result for a ticket; undefined if there is none. From now on it is cancelled with the call. */
  take(call: Call, ticket: Uint8Array): Promise<SqlResult> | undefined;
  /** Cancels the query of a ticket. Returns false if there is none. */
  cancel(call: Call, ticket: Uint8Array): boolean;
}

/** Options of `createPendingQueries`. */
interface PendingQueriesOptions {
  readonly service: Service;
  /** How long a query is kept, in milliseconds; it may occupy an engine meanwhile. Default 1000. */
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
  // The types of the columns may depend on the bound values, but a description does not know them.
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

/** The running reads by their tickets. */
export interface RunningFlights {
  /** Registers a read. Returns its call, to be cancelled by the ticket; call `end` when the read is over. */
  begin<T extends Call>(call: T, ticket: Uint8Array): { readonly call: T; end(): void };
  /** Cancels the reads of a ticket. Returns false if there is none. */
  cancel(call: Call, ticket: Uint8Array): boolean;
}

/** Creates an empty set of running reads. */
export function createRunningFlights(): RunningFlights {
  const running = new Map<string, Set<AbortController>>();

  return {
    begin(call, ticket) {
      const key = ticketKey(call, ticket);
      const controller = new AbortController();
      const own = running.get(key) ?? new Set();
      running.set(key, own.add(controller));
      return {
        call: { ...call, signal: AbortSignal.any([call.signal, controller.signal]) },
        end() {
          own.delete(controller);
          if (own.size === 0) running.delete(key);
        },
      };
    },
    cancel(call, ticket) {
      const own = running.get(ticketKey(call, ticket)) ?? new Set();
      for (const controller of own) controller.abort(CANCELLED);
      return own.size > 0;
    },
  };
}

/** The error of a read cancelled by its client. */
const CANCELLED = new ServiceError('cancelled', 'The client cancelled the query.');
