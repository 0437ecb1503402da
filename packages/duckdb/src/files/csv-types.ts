// The types of the columns of a CSV file: those that a client declares are checked here. DuckDB detects the others when
// `describe-source.ts` asks it.
import { quoted, ServiceError } from '@svc/errors';

/** The types that a client can declare for a column of a CSV file, and DuckDB's names for them. */
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

const MAX_PRECISION = 38;

/** Returns DuckDB's name for a declared type, or throws `invalid_argument`. */
export function duckdbTypeOf(name: string, type: string): string {
  const known = CSV_TYPES[type.toUpperCase()];
  if (known !== undefined) return known;
  const [, precision, scale] = /^DECIMAL\((\d{1,2}), ?(\d{1,2})\)$/i.exec(type) ?? [];
  const isDecimal = Number(precision) >= 1 && Number(precision) <= MAX_PRECISION && Number(scale) <= Number(precision);
  if (isDecimal) return `DECIMAL(${precision},${scale})`;
  throw new ServiceError(
    'invalid_argument',
    `Column ${quoted(name)} cannot have the type ${quoted(type)} in a CSV file.`,
    {
      hint: `Use one of: ${Object.keys(CSV_TYPES).join(', ')}, DECIMAL(p,s).`,
    },
  );
}
