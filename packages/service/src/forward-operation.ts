import { cancelledError, ServiceError, toServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { isCancelled, withSpan } from '@svc/frames/async';
import {
  createStreamedResponse,
  TsdbCredentialsError,
  type TsdbPassRequest,
  type TsdbProxy,
  type TsdbRequest,
  type TsdbResponse,
} from '@svc/tsdb-proxy';
import { type EngineName, engineNotConfigured } from './engines.ts';
import { eventSource, outcomeOfStatus } from './events.ts';
import type { OperationParts } from './frame-operations.ts';
import type { RunningQueries, RunningQuery } from './running-queries.ts';
import type { Service } from './service.ts';

/** Sends requests to the time-series database. */
export interface Forward {
  /** The operations, with their audit. */
  readonly forward: Service['forward'];
  readonly forwardRead: Service['forwardRead'];
  readonly forwardChange: Service['forwardChange'];
  /** Throws if there is no database. */
  readonly check: () => undefined;
  /** Returns how the last request ended; undefined before the first one. */
  readonly lastOutcome: () => ReturnType<typeof outcomeOfStatus> | undefined;
  /** Sends a request of an authorized call. */
  readonly send: (call: Call, request: TsdbRequest | TsdbPassRequest) => Promise<TsdbResponse>;
}

/**
 * Creates the operations that forward requests to the time-series database; `tsdb` is undefined if there is none. `engines`
 * are the configured ones, for that error.
 */
export function createForward(
  { begin, observe, audit }: OperationParts,
  running: RunningQueries,
  tsdb: TsdbProxy | undefined,
  engines: readonly EngineName[],
): Forward {
  let lastOutcome: ReturnType<Forward['lastOutcome']>;

  function configured(): TsdbProxy {
    if (tsdb === undefined) throw engineNotConfigured('tsdb', engines);
    return tsdb;
  }

  async function send(caller: Call, request: TsdbRequest | TsdbPassRequest): Promise<TsdbResponse> {
    const proxy = configured();
    const call = withSpan(caller);
    const startMs = performance.now();
    const report = (status: number | null, outcome: ReturnType<typeof outcomeOfStatus>): void => {
      const durationMs = performance.now() - startMs;
      // If the client left, the outcome says nothing about the database.
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
  const forwardRead = pass('forwardRead');
  const forwardChange = pass('forwardChange');

  const forward: Service['forward'] = async (call, request) => {
    begin(call, 'forward');
    check();
    if (request.path === '/chk') return send(call, request);
    const query = running.begin(call, sqlOf(request), 'tsdb');
    try {
      return await readToEnd(query, await send(query.call, request));
    } catch (error) {
      query.end(error);
      throw error;
    }
  };

  return {
    check,
    send,
    lastOutcome: () => lastOutcome,
    // A check of an import has no SQL.
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

/**
 * Ends a statement with its response. If the database refused it, the statement failed. With a limit of bytes, the response
 * begins with its first chunk: one that is too long by then is refused, not cut.
 */
async function readToEnd(query: RunningQuery, response: TsdbResponse): Promise<TsdbResponse> {
  // A fast response may arrive before the proxy notices the end of its call.
  if (isCancelled(query.call)) throw cancelledError(query.call.signal.reason);
  const refusal = refusalOf(response.status);
  // The signal of the call closes the body.
  query.send(() => undefined);
  function addBytes(count: number): void {
    query.addBytes(count);
    query.checkBytes();
  }
  const { status, headers } = response;
  const source = response.chunks ?? response.body?.values();
  if (source === undefined) {
    query.end(refusal);
    return response;
  }
  const read = async (): Promise<IteratorResult<Uint8Array, void>> => {
    try {
      const next = await source.next();
      if (next.done === true) query.end(refusal);
      else addBytes(next.value.byteLength);
      return next;
    } catch (error) {
      query.end(error);
      throw error;
    }
  };
  let first = query.isLimited ? await read() : undefined;
  const chunks: AsyncIterator<Uint8Array, void> = {
    async next() {
      const next = first ?? (await read());
      first = undefined;
      return next;
    },
    async return() {
      query.end(new ServiceError('cancelled', 'The response was not read to its end.'));
      return (await source.return?.()) ?? { done: true, value: undefined };
    },
  };
  return createStreamedResponse({ status, headers }, chunks);
}

function refusalOf(status: number): ServiceError | undefined {
  const outcome = outcomeOfStatus(status);
  return outcome === 'ok' ? undefined : new ServiceError(outcome, `The time-series database answered ${status}.`);
}

function sqlOf({ params }: TsdbRequest): string {
  return params.find(([name]) => name === 'query')?.[1] ?? '';
}
