import type { Engine } from '@svc/frames';
import type { Cluster } from './cluster.ts';
import { createDriverEngine, type EngineOptions } from './driver-engine.ts';
import { createFlightDriver } from './flight-sql/create-flight-driver.ts';
import { createSparkDriver } from './spark-connect/create-spark-driver.ts';

/** Options of `createSchedulerEngine`. */
export interface SchedulerOptions extends EngineOptions {
  readonly cluster: Cluster;
  /**
   * How an engine that speaks Flight SQL reads a file, such as `read_parquet('{uri}')`. Default: it reads none, and the
   * tables are its own.
   */
  readonly readFile?: string | undefined;
}

/** Creates an engine that runs SQL on a cluster, over the caller's frames as files that the cluster can read. */
export function createSchedulerEngine({ cluster, readFile, ...options }: SchedulerOptions): Engine {
  switch (cluster.protocol) {
    case 'spark-connect':
      return createDriverEngine({ driver: createSparkDriver(cluster), dialect: 'spark', readsFiles: true }, options);
    case 'flight-sql': {
      const driver = createFlightDriver(cluster, { readFile });
      return createDriverEngine({ driver, dialect: 'standard', readsFiles: readFile !== undefined }, options);
    }
    default:
      return cluster.protocol satisfies never;
  }
}
