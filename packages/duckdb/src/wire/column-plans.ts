/**
 * What the child has to know of the types of columns, as plain data: it has no Arrow library, which keeps it small and
 * quick to start. Made by `storage-types.ts`.
 */

/** How a column of a frame is put into a column of DuckDB. */
export type PutPlan =
  | { readonly kind: 'null' }
  | { readonly kind: 'bits' }
  /** The bytes as they are. */
  | { readonly kind: 'copy'; readonly width: number; readonly type: FixedType }
  /** Integers times a factor, 64 bits wide. */
  | {
      readonly kind: 'scale';
      readonly width: 4 | 8;
      readonly factor: number;
      readonly type: 'TIMESTAMP' | 'TIMESTAMP_TZ' | 'TIME';
    }
  /** Milliseconds to days. */
  | { readonly kind: 'days' }
  | { readonly kind: 'half' }
  | { readonly kind: 'decimal'; readonly width: number; readonly precision: number; readonly scale: number }
  /** Integers of any width as text. */
  | { readonly kind: 'digits'; readonly width: number }
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

/** Types of DuckDB whose vectors are arrays of the same bytes as in Arrow. */
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

/** Of Arrow: months, days and milliseconds, or months, days and nanoseconds. */
export type IntervalUnit = 'months' | 'days_millis' | 'months_days_nanos';

/** What Parquet's deprecated timestamps of 96 bits become. */
export type Int96Unit = 'micros' | 'nanos';

/** How a column of DuckDB becomes a column of a frame. */
export type GetPlan =
  | { readonly kind: 'bits' }
  | { readonly kind: 'copy'; readonly width: number; readonly type: FixedType | 'HUGEINT' | 'TIME_NS' }
  /** To 128 bits. */
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  /** Bytes of an integer, highest first, to 256 bits. `title` is the column, for errors. */
  | { readonly kind: 'decimal_bytes'; readonly title: string }
  /** Parquet's deprecated timestamps, as the bytes they are. */
  | { readonly kind: 'int96'; readonly unit: Int96Unit; readonly title: string }
  /** Text to an integer of so many bytes. */
  | { readonly kind: 'digits'; readonly width: number }
  | { readonly kind: 'uuid' }
  /** From the struct that intervals are stored as. */
  | { readonly kind: 'interval'; readonly unit: IntervalUnit }
  /** From DuckDB's own intervals. */
  | { readonly kind: 'duckdb_interval' }
  | { readonly kind: 'bytes'; readonly isText: boolean }
  | { readonly kind: 'list'; readonly isMap: boolean; readonly item: GetPlan }
  | { readonly kind: 'struct'; readonly fields: readonly GetPlan[] }
  | { readonly kind: 'empty_struct' }
  /** The only field of a struct that is never null itself. */
  | { readonly kind: 'wrapped'; readonly item: GetPlan };
