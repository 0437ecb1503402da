import { createRequire } from 'node:module';
import type * as NodeApi from '@duckdb/node-api';

// As an ES module its exports would be looked for in each of its many files first, which doubles what it takes to load.
const nodeApi: typeof NodeApi = createRequire(import.meta.url)('@duckdb/node-api');

/** DuckDB's library, of which the child uses these. What it has no word for is done with `@duckdb/node-bindings`. */
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

/** Types that their names alone say. */
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
