import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '@svc/config';
import { schedulerCluster } from '@svc/config/internal';
import type { Engine, PinnableFrames } from '@svc/frames';
import { createService, type Observer, type ServiceOptions } from '@svc/service';
import { eventSource } from '@svc/service/internal';
import { createTsdbProxy, type TsdbProxy } from '@svc/tsdb-proxy';
import type { OpenedStore } from './open-store.ts';
import type { Traces } from '../traces/open-traces.ts';

/** The parts of a service, opened before it. */
export interface OpenedParts extends OpenedStore, Pick<ServiceOptions, 'authenticator' | 'tls'> {
  readonly observe: Observer;
  /** Undefined: no spans. */
  readonly traces: Traces | undefined;
}

/** Creates the service of a configuration, over a store. Metrics need the number of `tsdbConnections`. */
export async function createConfiguredService(config: Config, opened: OpenedParts, version: string) {
  const { http } = config;
  const proxy = createConfiguredProxy(config);
  const { observe, traces, frames, frameCache: _frameCache, local, ...parts } = opened;
  const scheduler = await openScheduler(config, frames, observe);
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

/** Creates the engine of `scheduler.url` over the frames of the store; undefined if none is configured. */
async function openScheduler(config: Config, frames: PinnableFrames, observe: Observer): Promise<Engine | undefined> {
  const { frames_url: framesUrl, read_file: readFile, ...limits } = config.scheduler;
  const cluster = schedulerCluster(config.scheduler);
  if (cluster === undefined) return undefined;
  const { parquet_path: directory = '' } = config.storage;
  // Imported lazily: most servers have no cluster.
  const { createSchedulerEngine } = await import('@svc/scheduler');
  return createSchedulerEngine({
    cluster,
    frames,
    locate: createLocate(directory, framesUrl),
    readFile,
    timeoutMs: limits.timeout_ms,
    maxConcurrent: limits.max_concurrent,
    hasTenants: config.auth.mode === 'required',
    maxQueued: limits.max_queued,
    onNotStopping: (call) => observe({ kind: 'scheduler_not_stopping', ...eventSource(call) }),
  });
}

/** Maps the paths of a file in the directory of the frames to its name on the cluster. A bucket has only what is stored. */
function createLocate(
  directory: string,
  url = pathToFileURL(directory).href,
): (path: string, storedPath: string) => string | undefined {
  return (path, storedPath) => {
    const inside = relative(directory, url.startsWith('file:') ? path : storedPath);
    if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`)) return undefined;
    return [url, ...inside.split(sep)].join('/');
  };
}
