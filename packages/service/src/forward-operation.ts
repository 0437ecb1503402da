import { cancelledError, ServiceError, toServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { isCancelled, withSpan } from '@svc/frames/internal';
import {
  createStreamedResponse,
  TsdbCredentialsError,
  type TsdbPassRequest,
  type TsdbProxy,
  type TsdbRequest,
  type TsdbResponse,
} from '@svc/tsdb-proxy';
import type { Audit } from './audit.ts';
import { engineNotConfigured } from './configured-engines.ts';
import type { EngineName } from './engine-names.ts';
import { eventSource } from './event-source.ts';
import type { Observer } from './events.ts';
import { outcomeOfStatus } from './query-outcome.ts';
import type { RunningQueries } from './running/running-queries.ts';
import type { RunningQuery } from './running/running-query.ts';
import type { OperationName, Service } from './service.ts';

/** Dependencies of `createForward`. */
export interface ForwardParts {
  /** Undefined if none is configured. */
  readonly tsdb: TsdbProxy | undefined;
  /** The configured engines, for the error if there is no database. */
  readonly engines: () => readonly EngineName[];
  readonly observe: Observer;
  /** Throws if the call is cancelled, the caller lacks the permission, or the service is stopping. */
  readonly begin: (call: Call, operation: OperationName) => void;
  readonly running: RunningQueries;
}

/** Sends requests to the time-series database. */
export interface Forward {
  /** The operations. */
  readonly forward: Service['forward'];
  readonly forwardRead: Service['forwardRead'];
  readonly forwardChange: Service['forwardChange'];
  /** Throws if there is no database. */
  readonly check: () => undefined;
  /** Returns how the last request ended; undefined before the first one. */
  readonly lastOutcome: () => ReturnType<typeof outcomeOfStatus> | undefined;
  /** Sends a request of a call that may use the database. */
  readonly send: (call: Call, request: TsdbRequest | TsdbPassRequest) => Promise<TsdbResponse>;
}

/** Creates the operation that forwards SQL to the time-series database. */
export function createForward({ tsdb, engines, begin, observe, running }: ForwardParts): Forward {
  let lastOutcome: ReturnType<Forward['lastOutcome']>;

  function configured(): TsdbProxy {
    if (tsdb === undefined) throw engineNotConfigured('tsdb', engines());
    return tsdb;
  }

  async function send(caller: Call, request: TsdbRequest | TsdbPassRequest): Promise<TsdbResponse> {
    const proxy = configured();
    const call = withSpan(caller);
    const startMs = performance.now();
    const report = (status: number | null, outcome: ReturnType<typeof outcomeOfStatus>): void => {
      const durationMs = performance.now() - startMs;
      // A client that went away says nothing about the database.
      if (outcome !== 'cancelled') lastOutcome = outcome;
      observe({ kind: 'query_forwarded', ...eventSource(call), status, outcome, durationMs });
    };
    try {
      const response = await proxy.forward(call, request);
      report(response.status, outcomeOfStatus(response.status));
      return response;
    } catch (error) {
      if (error instanceof TsdbCredentialsError) observe({ kind: 'tsdb_refused_credentials', ...eventSource(call) });
      report(null, toServiceError(error).code);
      throw error;
    }
  }

  function check(): undefined {
    configured();
  }

  const pass =
    (operation: 'forwardRead' | 'forwardChange'): Service['forwardRead'] =>
    async (call, request) => {
      begin(call, operation);
      check();
      return send(call, request);
    };

  return {
    check,
    send,
    forwardRead: pass('forwardRead'),
    forwardChange: pass('forwardChange'),
    lastOutcome: () => lastOutcome,
    async forward(call, request) {
      begin(call, 'forward');
      check();
      if (request.path === '/chk') return send(call, request);
      const query = running.begin(call, sqlOf(request), 'tsdb');
      try {
        return readToEnd(query, await send(query.call, request));
      } catch (error) {
        query.end(error);
        throw error;
      }
    },
  };
}

/** Ends a statement with its response. A response that the database refused to give is a failure of the statement. */
function readToEnd(query: RunningQuery, response: TsdbResponse): TsdbResponse {
  // A fast response may arrive before the proxy notices the end of its call.
  if (isCancelled(query.call)) throw cancelledError(query.call.signal.reason);
  const refusal = refusalOf(response.status);
  // The signal of the call closes the body.
  query.send(response.bytes === undefined ? () => undefined : undefined);
  return endWithResponse(response, {
    onBytes(count) {
      query.addBytes(count);
      query.checkBytes();
    },
    onEnd: (error) => query.end(error ?? refusal),
    onClose: () => query.end(new ServiceError('cancelled', 'The response was not read to its end.')),
  });
}

function refusalOf(status: number): ServiceError | undefined {
  const outcome = outcomeOfStatus(status);
  return outcome === 'ok' ? undefined : new ServiceError(outcome, `The time-series database answered ${status}.`);
}

function sqlOf({ params }: TsdbRequest): string {
  return params.find(([name]) => name === 'query')?.[1] ?? '';
}

/** Adds the audit to the operations. A check of an import has no SQL. */
export function audited(
  { forward, forwardRead, forwardChange }: Forward,
  audit: Audit,
): Pick<Service, 'forward' | 'forwardChange' | 'forwardRead'> {
  return {
    forward: (call, request) =>
      request.path === '/chk' ? forward(call, request) : audit.forward(call, 'forward', () => forward(call, request)),
    // A page of the database has no SQL.
    forwardRead: (call, request) =>
      /[?&]query=/.test(request.target)
        ? audit.forward(call, 'forwardRead', () => forwardRead(call, request))
        : forwardRead(call, request),
    forwardChange: (call, request) => audit.forward(call, 'forwardChange', () => forwardChange(call, request)),
  };
}

/** Called while a response is read. */
interface ResponseReader {
  /** Some bytes were read. */
  onBytes(count: number): void;
  /** The body was read to its end, at once if it has arrived whole, or failed. Undefined: it is complete. */
  onEnd(error?: unknown): void;
  /** The reader has closed the body before its end. */
  onClose(): void;
}

/** Observes how a response is read. */
function endWithResponse(response: TsdbResponse, reader: ResponseReader): TsdbResponse {
  const { status, headers, bytes } = response;
  const source = response.chunks ?? (bytes === undefined ? response.body?.values() : undefined);
  if (source === undefined) {
    reader.onBytes(bytes?.byteLength ?? 0);
    reader.onEnd();
    return response;
  }
  const chunks: AsyncIterator<Uint8Array, void> = {
    async next() {
      try {
        const next = await source.next();
        if (next.done === true) reader.onEnd();
        else reader.onBytes(next.value.byteLength);
        return next;
      } catch (error) {
        reader.onEnd(error);
        throw error;
      }
    },
    async return() {
      reader.onClose();
      return (await source.return?.()) ?? { done: true, value: undefined };
    },
  };
  return createStreamedResponse({ status, headers }, chunks);
}
