export type { Cluster } from './cluster.ts';
export type { BoundFrame, BoundStatement, Driver, DriverResult } from './driver.ts';
export { createFlightDriver, type FlightDriverOptions } from './flight-sql/create-flight-driver.ts';
