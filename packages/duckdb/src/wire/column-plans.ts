/**
 * What the child needs to know about column types, as plain data. The child does not load the Arrow library, so it stays
 * small and starts quickly. `types/stored-types.ts` makes these plans.
 */

/** How a column of a frame is written to a DuckDB vector. */
export type PutPlan =
  | { readonly kind: 'null' }
  | { readonly kind: 'bits' }
  /** Copies the bytes. */
  | { readonly kind: 'copy'; readonly width: number; readonly type: FixedType }
  /** Multiplies 64-bit integers by a factor. */
  | {
      readonly kind: 'scale';
      readonly width: 4 | 8;
      readonly factor: number;
      readonly type: 'TIMESTAMP' | 'TIMESTAMP_TZ' | 'TIME';
    }
  /** Converts milliseconds to days. */
  | { readonly kind: 'days' }
  | { readonly kind: 'half' }
  | { readonly kind: 'decimal'; readonly width: number; readonly precision: number; readonly scale: number }
  /** Writes decimals of any width as text. */
  | { readonly kind: 'digits'; readonly width: number; readonly scale: number }
  | { readonly kind: 'uuid' }
  | { readonly kind: 'interval'; readonly unit: IntervalUnit }
  | { readonly kind: 'bytes'; readonly isWide: boolean; readonly isText: boolean }
  | { readonly kind: 'views'; readonly isText: boolean }
  | { readonly kind: 'fixed_bytes'; readonly width: number }
  | { readonly kind: 'list'; readonly isWide: boolean; readonly isMap: boolean; readonly item: PutPlan }
  | { readonly kind: 'fixed_list'; readonly size: number; readonly item: PutPlan }
  | { readonly kind: 'struct'; readonly names: readonly string[]; readonly fields: readonly PutPlan[] }
  | { readonly kind: 'empty_struct' }
  | { readonly kind: 'dictionary'; readonly width: number; readonly isSigned: boolean; readonly values: PutPlan };

/** DuckDB types whose vectors have Arrow's memory layout. */
export type FixedType =
  | 'TINYINT'
  | 'SMALLINT'
  | 'INTEGER'
  | 'BIGINT'
  | 'UTINYINT'
  | 'USMALLINT'
  | 'UINTEGER'
  | 'UBIGINT'
  | 'FLOAT'
  | 'DOUBLE'
  | 'DATE'
  | 'TIME'
  | 'TIMESTAMP'
  | 'TIMESTAMP_TZ'
  | 'TIMESTAMP_NS';

/** Arrow's interval units: days and milliseconds, months, or months, days and nanoseconds. */
export type IntervalUnit = 'months' | 'days_millis' | 'months_days_nanos';

/** The units for Parquet's deprecated INT96 timestamps. */
export type Int96Unit = 'micros' | 'nanos';

/** How a DuckDB vector becomes a column of a frame. */
export type GetPlan =
  | { readonly kind: 'bits' }
  | { readonly kind: 'copy'; readonly width: number; readonly type: FixedType | 'HUGEINT' | 'TIME_NS' }
  /** Widens to 128 bits. */
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  /** Reads a big-endian integer into 256 bits. `title` names the column in errors. */
  | { readonly kind: 'decimal_bytes'; readonly title: string }
  /** Reads INT96 timestamps from their raw bytes. */
  | { readonly kind: 'int96'; readonly unit: Int96Unit; readonly title: string }
  /** Parses the text of a decimal into an unscaled integer of `width` bytes. */
  | { readonly kind: 'digits'; readonly width: number }
  | { readonly kind: 'uuid' }
  /** Reads the struct of a stored interval. */
  | { readonly kind: 'interval'; readonly unit: IntervalUnit }
  /** Reads DuckDB's INTERVAL. */
  | { readonly kind: 'duckdb_interval' }
  | { readonly kind: 'bytes'; readonly isText: boolean }
  | { readonly kind: 'list'; readonly isMap: boolean; readonly item: GetPlan }
  | { readonly kind: 'struct'; readonly fields: readonly GetPlan[] }
  | { readonly kind: 'empty_struct' }
  /** Reads the only field of a struct. The struct itself is never null. */
  | { readonly kind: 'wrapped'; readonly item: GetPlan };

/** A DuckDB column type. */
export type DuckType =
  | { readonly name: string }
  | { readonly name: 'DECIMAL'; readonly precision: number; readonly scale: number }
  | { readonly name: 'LIST' | 'ARRAY'; readonly item: DuckType }
  | { readonly name: 'MAP'; readonly key: DuckType; readonly value: DuckType }
  | { readonly name: 'STRUCT'; readonly fields: readonly { readonly name: string; readonly type: DuckType }[] };

/** True if a plan can read vectors of this type. A mismatch would misread memory. */
export function fitsPlan(type: DuckType, plan: GetPlan): boolean {
  switch (plan.kind) {
    case 'bits':
    case 'empty_struct':
      return type.name === 'BOOLEAN';
    case 'copy':
      return type.name === plan.type;
    case 'decimal':
      return 'precision' in type && type.precision === plan.precision && type.scale === plan.scale;
    case 'digits':
      return type.name === 'VARCHAR';
    case 'uuid':
      return type.name === 'UUID';
    case 'interval':
      return 'fields' in type && type.fields.map((field) => field.type.name).join() === 'INTEGER,INTEGER,BIGINT';
    case 'duckdb_interval':
      return type.name === 'INTERVAL';
    case 'decimal_bytes':
    case 'int96':
      return type.name === 'BLOB';
    case 'bytes':
      return type.name === (plan.isText ? 'VARCHAR' : 'BLOB');
    case 'list':
      return plan.isMap
        ? 'key' in type && fitsEntries([type.key, type.value], plan.item)
        : 'item' in type && type.name === 'LIST' && fitsPlan(type.item, plan.item);
    case 'struct':
      return (
        'fields' in type &&
        fitsEntries(
          type.fields.map((field) => field.type),
          plan,
        )
      );
    case 'wrapped': {
      const [field, ...others] = 'fields' in type ? type.fields : [];
      return field !== undefined && others.length === 0 && fitsPlan(field.type, plan.item);
    }
    default:
      return plan satisfies never;
  }
}

function fitsEntries(types: readonly DuckType[], plan: GetPlan): boolean {
  if (plan.kind !== 'struct' || plan.fields.length !== types.length) return false;
  return plan.fields.every((field, i) => {
    const type = types[i];
    return type !== undefined && fitsPlan(type, field);
  });
}
