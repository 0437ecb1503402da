import duckdb, { type LogicalType } from '@duckdb/node-bindings';
import type { DuckType } from './requests.ts';

/** A type of DuckDB as plain data. */
export function duckTypeOf(type: LogicalType): DuckType {
  const id = duckdb.get_type_id(type);
  const { DECIMAL, LIST, ARRAY, MAP, STRUCT } = duckdb.Type;
  if (id === DECIMAL) {
    return { name: 'DECIMAL', precision: duckdb.decimal_width(type), scale: duckdb.decimal_scale(type) };
  }
  if (id === LIST) return { name: 'LIST', item: duckTypeOf(duckdb.list_type_child_type(type)) };
  if (id === ARRAY) return { name: 'ARRAY', item: duckTypeOf(duckdb.array_type_child_type(type)) };
  if (id === MAP) {
    const key = duckTypeOf(duckdb.map_type_key_type(type));
    return { name: 'MAP', key, value: duckTypeOf(duckdb.map_type_value_type(type)) };
  }
  if (id !== STRUCT) return { name: duckdb.Type[id] };
  return {
    name: 'STRUCT',
    fields: Array.from({ length: duckdb.struct_type_child_count(type) }, (_, i) => ({
      name: duckdb.struct_type_child_name(type, i),
      type: duckTypeOf(duckdb.struct_type_child_type(type, i)),
    })),
  };
}
