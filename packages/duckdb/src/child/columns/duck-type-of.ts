import type { DuckDBType } from '@duckdb/node-api';
import { DuckDBTypeId } from '../node-api.ts';
import type { DuckType } from '../../wire/duck-type.ts';

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
