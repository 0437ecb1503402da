export type { Cluster } from './cluster.ts';
export type { BoundFrame, BoundStatement, Driver, DriverResult } from './driver.ts';
