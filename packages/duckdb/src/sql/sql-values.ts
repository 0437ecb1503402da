import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { SqlValue } from '@svc/frames';
import type { SqlParam } from '../wire/sql-requests.ts';

/** The types of parameters that are given as text. */
const TYPES = new Set(
  `BIGINT BIGNUM BIT BLOB BOOLEAN DATE DOUBLE FLOAT HUGEINT INTEGER INTERVAL JSON SMALLINT TIME TIMESTAMP TIMESTAMPTZ
   TIMESTAMP_MS TIMESTAMP_NS TIMESTAMP_S TIMETZ TINYINT UBIGINT UHUGEINT UINTEGER USMALLINT UTINYINT UUID VARCHAR`.split(
    /\s+/,
  ),
);
const DECIMAL = /^DECIMAL\(\d{1,2},\s*\d{1,2}\)$/;
/** The end of the type of a list. */
const LISTS = /(?:\[\]){1,8}$/;
const MAX_INTEGER = 2 ** 31;
const MAX_BIGINT = 2n ** 63n;

/** Returns the value of a parameter in the form that the child expects. */
export function sqlParam(value: SqlValue): SqlParam {
  if (value === null) return { type: 'VARCHAR', text: null };
  if (typeof value === 'boolean') return { type: 'BOOLEAN', text: String(value) };
  if (typeof value === 'string') return { type: 'VARCHAR', text: value };
  if (typeof value === 'bigint') return { type: bigintType(value), text: String(value) };
  if (typeof value === 'number') return { type: numberType(value), text: numberText(value) };
  if (value instanceof Uint8Array) return { type: 'BASE64', text: Buffer.from(value).toString('base64') };
  const type = value.type.trim().toUpperCase();
  const element = type.replace(LISTS, '');
  if (!TYPES.has(element) && !DECIMAL.test(element)) {
    throw new ServiceError('invalid_argument', `A parameter has the unknown type ${quoted(value.type)}.`, {
      hint: `Use one of: ${[...TYPES].join(', ')}, DECIMAL(precision, scale), or a list of one of them: INTEGER[].`,
    });
  }
  return { type, text: value.text };
}

/** INTEGER if the value fits, like a literal in SQL: DuckDB cannot add a BIGINT to a date. */
function numberType(value: number): string {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) return 'DOUBLE';
  return value >= -MAX_INTEGER && value < MAX_INTEGER ? 'INTEGER' : 'BIGINT';
}

function numberText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  return String(value).replace('Infinity', 'inf');
}

function bigintType(value: bigint): string {
  return value >= -MAX_BIGINT && value < MAX_BIGINT ? 'BIGINT' : 'HUGEINT';
}
