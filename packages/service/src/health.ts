import type { Engine, Store, StoreFault } from '@svc/frames';
import type { TsdbProxy } from '@svc/tsdb-proxy';
import type { EngineName, SqlTarget } from './engines.ts';
import type { Health, QueryInfo, Service, StoreHealth, TargetHealth, TlsHealth } from './service.ts';

/** The parts whose health is reported; the comments are in `ServiceOptions`. */
interface StateParts {
  readonly store: Store;
  readonly engines?: Readonly<Partial<Record<EngineName, Engine>>>;
  readonly tsdb?: TsdbProxy;
  readonly tls?: (() => TlsHealth) | undefined;
  readonly minFreeBytes?: number;
  readonly version: string;
  /** Returns the waiting and running statements. */
  readonly queries: () => readonly Pick<QueryInfo, 'engine' | 'state'>[];
  /** Returns how the last request to the database ended. */
  readonly lastOutcome: () => TargetHealth['lastOutcome'];
}

/** The state of a service: it works, drains or stops; and the health of its parts. */
interface ServiceState extends Pick<Service, 'drain' | 'health' | 'stop'> {
  readonly isStopping: boolean;
}

/** Creates the state of a working service. */
export function createServiceState(parts: StateParts): ServiceState {
  const { store, engines = {}, tsdb, tls, minFreeBytes = 0, version } = parts;
  const startedAt = performance.now();
  let phase: 'working' | 'draining' | 'stopping' = 'working';
  return {
    get isStopping() {
      return phase === 'stopping';
    },
    async health(): Promise<Health> {
      const storeHealth = await healthOf(store, minFreeBytes);
      const queries = parts.queries();
      return {
        status: phase === 'working' ? storeHealth.status : phase,
        version,
        uptimeSeconds: Math.floor((performance.now() - startedAt) / 1000),
        parts: {
          store: storeHealth,
          local: targetHealth(queries, 'local', engines.local),
          scheduler: targetHealth(queries, 'scheduler', engines.scheduler),
          tsdb: targetHealth(queries, 'tsdb', tsdb, parts.lastOutcome()),
          ...(tls && { tls: tls() }),
        },
      };
    },
    drain() {
      if (phase === 'working') phase = 'draining';
    },
    stop() {
      phase = 'stopping';
    },
  };
}

/** Asks no part: a probe must not make work. */
function targetHealth(
  queries: ReturnType<StateParts['queries']>,
  target: SqlTarget,
  part: Engine | TsdbProxy | undefined,
  lastOutcome?: TargetHealth['lastOutcome'],
): TargetHealth {
  if (part === undefined) return { status: 'not_configured' };
  const own = queries.filter(({ engine }) => engine === target);
  const queued = own.filter(({ state }) => state === 'queued').length;
  const processes = 'processes' in part ? part.processes?.() : undefined;
  return {
    status: 'configured',
    running: own.length - queued,
    queued,
    ...(processes !== undefined && { processes }),
    ...(lastOutcome && { lastOutcome }),
  };
}

async function healthOf(store: Store, minFreeBytes: number): Promise<StoreHealth> {
  const [usage, found] = await Promise.all([store.usage(), store.faults()]);
  const faults = usage.freeBytes < minFreeBytes ? [...found, lowSpace(minFreeBytes)] : found;
  if (faults.length === 0) return { status: 'ok', ...usage };
  const status = faults.every(({ kind }) => kind === 'damaged_frame') ? 'degraded' : 'failing';
  return { status, faults, ...usage };
}

/** Without the figure: anyone may ask for the readiness. */
function lowSpace(minFreeBytes: number): StoreFault {
  const message = `The store has less free space than storage.min_free_bytes (${minFreeBytes}).`;
  return { kind: 'low_space', message };
}

/** True if clients should send requests: the service works, perhaps without some of its frames. */
export function isServing({ status }: Pick<Health, 'status'>): boolean {
  return status === 'ok' || status === 'degraded';
}
