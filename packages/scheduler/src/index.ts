/**
 * SQL over frames on a cluster: Spark Connect, or an engine of Flight SQL.
 *
 * ```ts
 * import { createDurableStore, createFrameFiles } from '@svc/duckdb';
 * import { createSchedulerEngine } from '@svc/scheduler';
 *
 * const files = createFrameFiles({ tempDirectory: '/tmp' });
 * const store = await createDurableStore({ directory: '/srv/frames', files });
 * const engine = createSchedulerEngine({
 *   cluster: { protocol: 'spark-connect', host: '127.0.0.1', port: 15002, hasTls: false },
 *   frames: store,
 *   locate: (path) => `file://${path}`,
 * });
 * const call = { tenant: 'default', requestId: 'r-1', signal: AbortSignal.timeout(60_000) };
 * const result = await engine.query(call, 'SELECT count(*) FROM trades');
 * ```
 */
export type { Cluster } from './driver.ts';
export { createSchedulerEngine, type EngineOptions, type SchedulerOptions } from './scheduler-engine.ts';
