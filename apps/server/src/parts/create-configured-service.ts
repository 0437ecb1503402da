import { readFileSync } from 'node:fs';
import type { Config } from '@svc/config';
import { createService, type Observer, type Service, type ServiceOptions } from '@svc/service';
import { createTsdbProxy, type TsdbProxy } from '@svc/tsdb-proxy';
import type { Traces } from '../traces/open-traces.ts';
import type { OpenScheduler } from './open-scheduler.ts';
import type { OpenedStore } from './open-store.ts';

/** The parts of a service that are opened before it. */
export interface OpenedParts extends OpenedStore, Pick<ServiceOptions, 'authenticator' | 'tls'> {
  readonly observe: Observer;
  /** Undefined: no spans. */
  readonly traces: Traces | undefined;
  readonly openScheduler: OpenScheduler | undefined;
}

/** A service, and the state of its parts that only metrics need. */
export interface ConfiguredService {
  readonly service: Service;
  /** The number of open connections to the time-series database. */
  readonly tsdbConnections: () => number;
}

/** Creates the service of a configuration, over a store. */
export function createConfiguredService(config: Config, opened: OpenedParts, version: string): ConfiguredService {
  const { http } = config;
  const proxy = createConfiguredProxy(config);
  const { observe, traces, openScheduler, frames, frameCache: _frameCache, local, ...parts } = opened;
  const scheduler = openScheduler?.(config, frames, observe);
  const service = createService({
    ...parts,
    engines: { local, ...(scheduler && { scheduler }) },
    ...(proxy && { tsdb: proxy }),
    maxUploadBytes: http.max_upload_bytes,
    maxLinesBytes: http.max_lines_bytes,
    maxInFlight: http.max_in_flight,
    idleTimeoutMs: http.idle_timeout_ms,
    maxResultMs: config.sql.max_result_ms,
    maxResultBytes: config.sql.max_result_bytes,
    observe,
    ...(traces && { startTrace: traces.startTrace }),
    minFreeBytes: config.storage.min_free_bytes,
    version,
  });
  return { service, tsdbConnections: () => proxy?.connections ?? 0 };
}

function createConfiguredProxy({ tsdb }: Config): TsdbProxy | undefined {
  const { http_url: url, user, password, token, ca_file: caFile } = tsdb;
  if (url === undefined) return undefined;
  return createTsdbProxy({
    url,
    user,
    password,
    token,
    ...(caFile !== undefined && { ca: readFileSync(caFile, 'utf8') }),
    connectTimeoutMs: tsdb.connect_timeout_ms,
    timeoutMs: tsdb.timeout_ms,
    idleTimeoutMs: tsdb.idle_timeout_ms,
  });
}
