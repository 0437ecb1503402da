/** The types of columns of a CSV file, and DuckDB's names for them. */
const CSV_TYPES: Readonly<Record<string, string>> = {
  BOOLEAN: 'BOOLEAN',
  BYTE: 'TINYINT',
  SHORT: 'SMALLINT',
  INT: 'INTEGER',
  LONG: 'BIGINT',
  ULONG: 'UBIGINT',
  LONG128: 'HUGEINT',
  FLOAT: 'FLOAT',
  DOUBLE: 'DOUBLE',
  STRING: 'VARCHAR',
  SYMBOL: 'VARCHAR',
  DATE: 'DATE',
  TIMESTAMP: 'TIMESTAMP',
  TIMESTAMP_NS: 'TIMESTAMP_NS',
  TIME: 'TIME',
  UUID: 'UUID',
};

/** Returns our name for a DuckDB type, or DuckDB's if we have none. */
export function csvTypeName(ofDuckdb: string): string {
  return Object.entries(CSV_TYPES).find(([, name]) => name === ofDuckdb)?.[0] ?? ofDuckdb;
}
