import { inspect } from 'node:util';
import type { Authenticator, TenantLimits } from '@svc/auth';
import { ServiceError } from '@svc/errors';
import {
  type Call,
  continueTrace,
  createDecoders,
  type Engine,
  type ParquetEncoder,
  type StartTrace,
  type Store,
} from '@svc/frames';
import { isCancelled } from '@svc/frames/async';
import type { TsdbProxy } from '@svc/tsdb-proxy';
import { createAudit } from './audit.ts';
import { type EngineName, namesOf, type SqlTarget } from './engines.ts';
import type { Observer } from './events.ts';
import { createForward } from './forward-operation.ts';
import { createFrameOperations } from './frame-operations.ts';
import { createServiceState } from './health.ts';
import { createTenantLimiter } from './limits.ts';
import { createLinesOperation } from './lines-operation.ts';
import { createAuthentication } from './permissions.ts';
import { createInsertOperations, createQueryOperations } from './query-operations.ts';
import { createRegistryOperations, createRunningQueries } from './running-queries.ts';
import type { OperationName, Service, TlsHealth } from './service.ts';

/** The parts a service is made of. */
export interface ServiceOptions {
  /** Stores the frames. The service closes it. */
  readonly store: Store;
  /** The engines for SQL over frames. The service closes them. Default: none. */
  readonly engines?: Readonly<Partial<Record<EngineName, Engine>>>;
  /** Writes frames as Parquet files. Default: Parquet is not offered. */
  readonly encodeParquet?: ParquetEncoder;
  /**
   * Finds the callers of requests. The service closes it. Default: none, and authentication is off: a call without a
   * `caller` may do everything.
   */
  readonly authenticator?: Authenticator | undefined;
  /** The external time-series database. Default: none, and SQL for it fails with `tsdb_not_configured`. */
  readonly tsdb?: TsdbProxy;
  /** The longest upload, in bytes. Default 10 GiB. */
  readonly maxUploadBytes?: number;
  /** The longest request of line protocol, in bytes; all such requests together use up to 4 times as much memory. Default 100 MiB. */
  readonly maxLinesBytes?: number;
  /** The most requests in flight of all tenants; one may have three quarters. Default: any number. */
  readonly maxInFlight?: number;
  /** Memory for decoding uploads, in bytes, in addition to the memory of the store. Default 1 GiB. */
  readonly maxDecodeBytes?: number;
  /** How long the reader of a query result may pause before the result is closed, in milliseconds. Default 60 000. */
  readonly idleTimeoutMs?: number;
  /** How long a query result may be read, from its first rows, in milliseconds; a tenant's limit replaces it. Default: any time. */
  readonly maxResultMs?: number | undefined;
  /** The longest query result, in bytes; a tenant's limit replaces it. Default: any length. */
  readonly maxResultBytes?: number | undefined;
  /** Called with every event. Default: a warning of the process with the cause of an `internal` error, once for each. */
  readonly observe?: Observer;
  /**
   * Finds the place of a request in a distributed trace, such as below the active span of the host. Default: that of its
   * client, from the header or metadata `traceparent`.
   */
  readonly startTrace?: StartTrace;
  /** The free space of the store below which `health` is `failing`, in bytes. Default 0. */
  readonly minFreeBytes?: number;
  /** Returns the state of the certificate, for `health`. Default: the server has none. */
  readonly tls?: (() => TlsHealth) | undefined;
  /** The version, for `health`. Default `unknown`. */
  readonly version?: string;
}

/** Creates the service from its parts. */
export function createService(options: ServiceOptions): Service {
  const { store, engines = {}, tsdb, maxUploadBytes = 10 * 1024 ** 3, observe = warnOfFailures() } = options;
  const maxLinesBytes = Math.min(options.maxLinesBytes ?? 100 * 1024 ** 2, maxUploadBytes);
  const { version = 'unknown', encodeParquet, idleTimeoutMs = 60_000, authenticator } = options;
  const { authenticate, authorize } = createAuthentication(authenticator, observe);
  const audit = createAudit(observe);
  const limitsOf = (tenant: string): TenantLimits | undefined => authenticator?.limitsOf?.(tenant);
  const limiter = createTenantLimiter({ limitsOf, maxInFlight: options.maxInFlight });
  const decoders = createDecoders({ maxBytes: options.maxDecodeBytes ?? 1024 ** 3 });
  const state = createServiceState({
    ...options,
    version,
    queries: () => running.list(),
    lastOutcome: () => forward.lastOutcome(),
  });

  function begin(call: Call, operation: OperationName, target?: SqlTarget): void {
    if (isCancelled(call)) call.signal.throwIfAborted();
    authorize(call, operation, target);
    if (state.isStopping) throw new ServiceError('unavailable', 'The server is stopping.');
  }

  const running = createRunningQueries(observe, limiter.startQuery, (tenant) => {
    const { maxResultMs = options.maxResultMs, maxResultBytes = options.maxResultBytes } = limitsOf(tenant) ?? {};
    return { maxResultMs, maxResultBytes };
  });
  const parts = { store, maxUploadBytes, quotaOf: limitsOf, begin, observe, audit };
  const forward = createForward(parts, running, tsdb, namesOf(engines));
  const sql = { ...parts, engines, idleTimeoutMs, running, forward };

  return {
    version,
    authenticate,
    authorize: (call, operation, target) =>
      audit.check(call, operation, target, () => authorize(call, operation, target)),
    useAdmin: (call, operation) => audit.useAdmin(call, operation),
    admit: ({ tenant }) => limiter.admit(tenant),
    startRequest: ({ tenant }) => limiter.startRequest(tenant),
    ...createFrameOperations(parts, decoders),
    ...createQueryOperations(sql),
    ...createInsertOperations(sql),
    ...createLinesOperation(parts, maxLinesBytes),
    ...createRegistryOperations(running, authorize, audit),
    sqlProduct: engines.local?.product,
    encodeParquet,

    hasTsdb: tsdb !== undefined,
    forward: forward.forward,
    forwardRead: forward.forwardRead,
    forwardChange: forward.forwardChange,

    observe,
    startTrace: options.startTrace ?? continueTrace,

    health: () => state.health(),
    drain: () => state.drain(),
    stop: () => state.stop(),

    async close() {
      state.stop();
      authenticator?.close();
      await closeAll([decoders, tsdb, engines.local, engines.scheduler], store);
    },
  };
}

/** The most printed failures: a failure with another text each time must not fill a log. */
const MAX_WARNINGS = 100;

/**
 * The observer of a host that has none. Clients get no cause of an `internal` error, and such an error is often a mistake of
 * the host itself: a function of it that throws, or a middleware that has read the body.
 */
function warnOfFailures(): Observer {
  const seen = new Set<string>();
  return (event) => {
    if (event.kind !== 'request_answered' || event.error?.code !== 'internal') return;
    const cause: unknown = event.error.cause ?? event.error;
    const detail = cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause);
    if (seen.has(detail) || seen.size >= MAX_WARNINGS) return;
    seen.add(detail);
    process.emitWarning(`${event.details.operation} failed (request id ${event.requestId}).`, {
      type: 'ServiceWarning',
      detail,
    });
  };
}

/** Closes all parts. The store is the last, even if others failed to close: it holds the lock of its directory. */
async function closeAll(
  parts: readonly ({ close(): Promise<void> } | undefined)[],
  store: Pick<Store, 'close'>,
): Promise<void> {
  const closed = await Promise.allSettled(parts.flatMap((part) => (part ? [part.close()] : [])));
  await store.close();
  for (const result of closed) if (result.status === 'rejected') throw result.reason;
}
