import { readFileSync } from 'node:fs';
import type { Config } from '@svc/config';
import { createService, type Observer, type Service, type ServiceOptions } from '@svc/service';
import { createTsdbProxy } from '@svc/tsdb-proxy';
import { createLogObserver } from '../observers/log-observer.ts';
import type { Log } from '../observers/log.ts';
import { createSlowQueryLog } from '../observers/slow-query-log.ts';
import type { Traces } from '../traces/open-traces.ts';
import type { OpenScheduler } from './open-scheduler.ts';
import type { OpenedStore } from './open-store.ts';

/** Creates the service of a configuration, over a store. */
export function createConfiguredService(
  config: Config,
  opened: OpenedStore &
    Pick<ServiceOptions, 'authenticator' | 'tls'> & {
      readonly audit: Observer;
      /** Undefined: no spans. */
      readonly traces: Traces | undefined;
      readonly openScheduler: OpenScheduler | undefined;
    },
  log: Log,
  version: string,
): Service {
  const { tsdb, http } = config;
  const { http_url: url, user, password, token, ca_file: caFile } = tsdb;
  const proxy =
    url &&
    createTsdbProxy({
      url,
      user,
      password,
      token,
      ...(caFile !== undefined && { ca: readFileSync(caFile, 'utf8') }),
      connectTimeoutMs: tsdb.connect_timeout_ms,
      timeoutMs: tsdb.timeout_ms,
      idleTimeoutMs: tsdb.idle_timeout_ms,
    });
  const { audit, traces, openScheduler, frames, local, ...parts } = opened;
  const observeLog = createLogObserver(log);
  const observeSlowQueries = createSlowQueryLog(log, config.logging.slow_query_ms);
  const observe: Observer = (event) => {
    // First: the time of a span is that of its event.
    traces?.observe(event);
    observeLog(event);
    observeSlowQueries(event);
    audit(event);
  };
  const scheduler = openScheduler?.(config, frames, observe);
  return createService({
    ...parts,
    engines: { local, ...(scheduler && { scheduler }) },
    ...(proxy && { tsdb: proxy }),
    maxUploadBytes: http.max_upload_bytes,
    idleTimeoutMs: http.idle_timeout_ms,
    observe,
    ...(traces && { startTrace: traces.startTrace }),
    minFreeBytes: config.storage.min_free_bytes,
    version,
  });
}
