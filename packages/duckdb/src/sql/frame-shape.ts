import { columnInfo } from '@svc/frames';
import { childrenOf, keyAndValueOf, sqlNames, TYPE_METADATA_KEY, typeOf } from '@svc/frames/internal';
import { DataType, type Field, TimeUnit } from 'apache-arrow';
import type { CatalogueFrame } from '../wire/sql-requests.ts';
import type { DescribedFrame } from '../store/sql-frames.ts';
import { foreignColumn } from '../types/duckdb-types.ts';
import { NO_COLUMNS_NAME, sqlName } from '../wire/sql-names.ts';
import { storedColumn } from '../types/stored-types.ts';

/** Returns a frame as the catalogue shows it: with the columns and types of `frameViewSql`. */
export function frameShape({ handle, info }: DescribedFrame): CatalogueFrame {
  const { fields } = info.schema;
  const names = sqlNames(fields.map(({ name }) => name));
  const columns = fields.map((field, i) => ({
    name: names[i] ?? '',
    type: columnInfo(field).type,
    sqlType: sqlTypeOf(field),
  }));
  return { name: handle, rows: info.rows, columns: columns.length === 0 ? [NO_COLUMN] : columns };
}

/** DuckDB has no tables without columns: the placeholder. */
const NO_COLUMN = { name: NO_COLUMNS_NAME, type: 'BOOLEAN', sqlType: 'BOOLEAN' };

function sqlTypeOf(field: Field): string {
  const { metadata } = field;
  const type = typeOf(field);
  if (metadata.get(TYPE_METADATA_KEY) === 'LONG128') return 'HUGEINT';
  if (DataType.isInterval(type) || DataType.isDuration(type)) return 'INTERVAL';
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) return 'TIME_NS';
  const { get } = storedColumn(field);
  if (get.kind === 'digits') return 'VARCHAR';
  if (get.kind === 'empty_struct') return 'BOOLEAN';
  const [child] = childrenOf(field);
  if (child === undefined) return foreignColumn(field).sqlType;
  if (DataType.isMap(type)) {
    const [key, value] = keyAndValueOf(field).map(sqlTypeOf);
    return `MAP(${key}, ${value})`;
  }
  if (!DataType.isStruct(type)) return `${sqlTypeOf(child)}[]`;
  const names = sqlNames(type.children.map(({ name }) => name));
  return `STRUCT(${type.children.map((member, i) => `${sqlName(names[i] ?? '')} ${sqlTypeOf(member)}`).join(', ')})`;
}
