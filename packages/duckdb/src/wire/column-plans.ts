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

/** The units that Parquet's deprecated INT96 timestamps are read as. */
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
  /** Reads the struct that intervals are stored as. */
  | { readonly kind: 'interval'; readonly unit: IntervalUnit }
  /** Reads DuckDB's INTERVAL. */
  | { readonly kind: 'duckdb_interval' }
  | { readonly kind: 'bytes'; readonly isText: boolean }
  | { readonly kind: 'list'; readonly isMap: boolean; readonly item: GetPlan }
  | { readonly kind: 'struct'; readonly fields: readonly GetPlan[] }
  | { readonly kind: 'empty_struct' }
  /** Reads the only field of a struct that is never null. */
  | { readonly kind: 'wrapped'; readonly item: GetPlan };
