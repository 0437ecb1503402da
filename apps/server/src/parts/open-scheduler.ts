import { relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '@svc/config';
import { schedulerCluster } from '@svc/config/internal';
import type { Engine, PinnableFrames } from '@svc/frames';
import { createSchedulerEngine } from '@svc/scheduler';
import type { Observer } from '@svc/service';
import { eventSource } from '@svc/service/internal';

/** Creates the engine of `scheduler.url` over the frames of the store; undefined if none is configured. */
export function openScheduler(config: Config, frames: PinnableFrames, observe: Observer): Engine | undefined {
  const { frames_url: framesUrl, read_file: readFile, ...limits } = config.scheduler;
  const cluster = schedulerCluster(config.scheduler);
  if (cluster === undefined) return undefined;
  const { parquet_path: directory = '' } = config.storage;
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

/** One of the functions of this module, for callers that load it only if a cluster is configured. */
export type OpenScheduler = typeof openScheduler;

/** Returns a function that maps the path of a file in the directory of the frames to its name on the cluster. */
export function createLocate(
  directory: string,
  url = pathToFileURL(directory).href,
): (path: string) => string | undefined {
  return (path) => {
    const inside = relative(directory, path);
    if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`)) return undefined;
    return [url, ...inside.split(sep)].join('/');
  };
}
