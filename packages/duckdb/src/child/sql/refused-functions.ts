/** Why functions are refused, and what to do instead. */
interface Refusal {
  /** Completes "the function f …". */
  readonly reason: string;
  readonly hint: string;
  /** Scalar and aggregate functions. */
  readonly values?: string;
  /** Table functions. */
  readonly tables?: string;
}

const FRAMES_HINT = 'Store the data as a frame, and use its handle as a table.';
/** The hint for SQL on the catalogue of the engine. */
export const CATALOGUE_HINT = 'SHOW ALL TABLES and information_schema.columns show the frames and their columns.';
const WITHOUT_HINT = 'Write the SQL without it.';

const REFUSALS: readonly Refusal[] = [
  {
    reason: 'reads files, but SQL can read only frames',
    hint: FRAMES_HINT,
    tables: `arrow_scan arrow_scan_dumb glob parquet_bloom_probe parquet_file_metadata parquet_full_metadata
      parquet_kv_metadata parquet_metadata parquet_scan parquet_schema read_blob read_csv read_csv_auto read_duckdb read_json
      read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects read_parquet
      read_text seq_scan sniff_csv`,
  },
  {
    reason: 'shows more than the frames of the caller',
    hint: CATALOGUE_HINT,
    values: `current_connection_id current_query current_query_id current_transaction_id get_block_size in_search_path
      pg_conf_load_time pg_get_constraintdef pg_get_expr pg_get_viewdef pg_postmaster_start_time stats txid_current
      vector_type`,
    tables: `duckdb_approx_database_count duckdb_connection_count duckdb_coordinate_systems duckdb_extensions
      duckdb_external_file_cache duckdb_memory duckdb_optimizers duckdb_prepared_statements duckdb_table_sample
      duckdb_temporary_files pragma_collations pragma_database_size pragma_metadata_info pragma_platform pragma_show
      pragma_storage_info pragma_table_info pragma_user_agent pragma_version sql_auto_complete`,
  },
  {
    reason: 'shows or changes settings of the engine',
    hint: WITHOUT_HINT,
    values: 'current_setting getvariable setseed',
    tables: `check_peg_parser disable_peg_parser disable_profiling duckdb_profiling_settings duckdb_secret_types
      duckdb_secrets duckdb_settings duckdb_variables enable_peg_parser enable_profiling which_secret`,
  },
  {
    reason: 'reads or writes the log of the engine',
    hint: WITHOUT_HINT,
    values: 'parse_duckdb_log_message write_log',
    tables: `disable_logging duckdb_log_contexts duckdb_logs duckdb_logs_parsed enable_logging truncate_duckdb_logs`,
  },
  {
    reason: 'runs or shows SQL that is passed in its arguments',
    hint: 'Write that SQL directly, as a subquery.',
    values: 'json_deserialize_sql json_serialize_plan json_serialize_sql',
    tables: 'histogram histogram_values json_execute_serialized_sql query query_table',
  },
  {
    reason: 'has side effects',
    hint: WITHOUT_HINT,
    values: 'currval nextval pg_sleep sleep_ms',
    tables: 'checkpoint force_checkpoint',
  },
  {
    reason: 'is internal to the engine',
    hint: WITHOUT_HINT,
    values: `__internal_compress_integral_ubigint __internal_compress_integral_uinteger
      __internal_compress_integral_usmallint __internal_compress_integral_utinyint __internal_compress_string_hugeint
      __internal_compress_string_ubigint __internal_compress_string_uhugeint __internal_compress_string_uinteger
      __internal_compress_string_usmallint __internal_compress_string_utinyint __internal_decompress_integral_bigint
      __internal_decompress_integral_hugeint __internal_decompress_integral_integer
      __internal_decompress_integral_smallint __internal_decompress_integral_ubigint
      __internal_decompress_integral_uhugeint __internal_decompress_integral_uinteger
      __internal_decompress_integral_usmallint __internal_decompress_string combine constant_or_null create_sort_key
      finalize make_type remap_struct replace_type timetz_byte_comparable variant_bytes_to_variant
      variant_to_parquet_variant`,
    tables: 'summary test_vector_types',
  },
];

/** The position of a function in SQL: in an expression, or after FROM. */
export type FunctionPlace = 'values' | 'tables';

/**
 * The functions of DuckDB forbidden in client SQL, by name. The allowed ones are in
 * `generated/allowed-functions.ts`.
 */
export const REFUSED_FUNCTIONS: Readonly<Record<FunctionPlace, ReadonlyMap<string, Refusal>>> = {
  values: refusedIn('values'),
  tables: refusedIn('tables'),
};

function refusedIn(place: FunctionPlace): ReadonlyMap<string, Refusal> {
  return new Map(REFUSALS.flatMap((refusal) => namesIn(refusal[place]).map((name) => [name, refusal] as const)));
}

/** Splits a text into names. */
export function namesIn(text = ''): string[] {
  return text.split(/\s+/).filter((name) => name !== '');
}
