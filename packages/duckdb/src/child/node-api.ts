import { createRequire } from 'node:module';
import type * as NodeApi from '@duckdb/node-api';

// An ES import would scan each of its many files for exports first, which doubles the load time.
const nodeApi: unknown = createRequire(import.meta.url)('@duckdb/node-api');
if (!isNodeApi(nodeApi)) throw new Error('The package @duckdb/node-api has no DuckDBInstance.');

function isNodeApi(value: unknown): value is typeof NodeApi {
  return typeof value === 'object' && value !== null && 'DuckDBInstance' in value;
}

/**
 * The parts of DuckDB's library that the child uses. It calls `@duckdb/node-bindings` for what the library does not
 * offer.
 */
export const {
  DuckDBDecimalType,
  DuckDBInstance,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  DuckDBTableFunction,
  DuckDBTypeId,
  StatementType,
} = nodeApi;

/** Types without parameters, by name. */
export const PLAIN_TYPES = {
  BOOLEAN: nodeApi.BOOLEAN,
  TINYINT: nodeApi.TINYINT,
  SMALLINT: nodeApi.SMALLINT,
  INTEGER: nodeApi.INTEGER,
  BIGINT: nodeApi.BIGINT,
  UTINYINT: nodeApi.UTINYINT,
  USMALLINT: nodeApi.USMALLINT,
  UINTEGER: nodeApi.UINTEGER,
  UBIGINT: nodeApi.UBIGINT,
  FLOAT: nodeApi.FLOAT,
  DOUBLE: nodeApi.DOUBLE,
  DATE: nodeApi.DATE,
  TIME: nodeApi.TIME,
  TIMESTAMP: nodeApi.TIMESTAMP,
  TIMESTAMP_TZ: nodeApi.TIMESTAMPTZ,
  TIMESTAMP_NS: nodeApi.TIMESTAMP_NS,
  VARCHAR: nodeApi.VARCHAR,
  BLOB: nodeApi.BLOB,
  UUID: nodeApi.UUID,
} as const;
