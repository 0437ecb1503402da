import { createRequire } from 'node:module';
import type * as NodeApi from '@duckdb/node-api';
import type { DuckDBType } from '@duckdb/node-api';
import type { DuckType } from '../wire/column-plans.ts';

// An ES import would scan each of its many files for exports first: twice the load time.
const nodeApi: unknown = createRequire(import.meta.url)('@duckdb/node-api');
if (!isNodeApi(nodeApi)) throw new Error('The package @duckdb/node-api has no DuckDBInstance.');

function isNodeApi(value: unknown): value is typeof NodeApi {
  return typeof value === 'object' && value !== null && 'DuckDBInstance' in value;
}

/**
 * The parts of DuckDB's library used by the child. For the rest, it calls `@duckdb/node-bindings`.
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

/** Returns a DuckDB type as plain data. */
export function duckTypeOf(type: DuckDBType): DuckType {
  const { DECIMAL, LIST, ARRAY, MAP, STRUCT } = DuckDBTypeId;
  if (type.typeId === DECIMAL) return { name: 'DECIMAL', precision: type.width, scale: type.scale };
  if (type.typeId === LIST) return { name: 'LIST', item: duckTypeOf(type.valueType) };
  if (type.typeId === ARRAY) return { name: 'ARRAY', item: duckTypeOf(type.valueType) };
  if (type.typeId === MAP) return { name: 'MAP', key: duckTypeOf(type.keyType), value: duckTypeOf(type.valueType) };
  if (type.typeId !== STRUCT) return { name: DuckDBTypeId[type.typeId] };
  return {
    name: 'STRUCT',
    fields: type.entryTypes.map((entry, i) => ({ name: type.entryNames[i] ?? '', type: duckTypeOf(entry) })),
  };
}
