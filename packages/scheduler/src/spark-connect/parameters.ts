import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { SqlValue } from '@svc/frames';
import type { Partially, sparkConnect } from '@svc/proto';

type Expression = Partially<sparkConnect.Expression>;
type Literal = Partially<sparkConnect.ExpressionLiteral>;

/** Returns the literal of a parameter's value. */
export function literalOf(value: SqlValue): Expression {
  return { literal: plainLiteral(value) };
}

function plainLiteral(value: SqlValue): Literal {
  if (value === null) return { null: { null: {} } };
  if (typeof value === 'boolean') return { boolean: value };
  if (typeof value === 'bigint') return wholeNumber(value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? wholeNumber(BigInt(value)) : { double: value };
  // Half a character has no UTF-8, and the server would not read the message: it becomes U+FFFD.
  if (typeof value === 'string') return { string: Buffer.from(value).toString() };
  if (value instanceof Uint8Array) return { binary: value };
  return typedLiteral(value);
}

interface TypedText {
  readonly type: string;
  readonly text: string;
}

/** Spark takes only literals, so that a text is converted here. */
function typedLiteral({ type, text }: TypedText): Literal {
  const [, name = '', precision, scale] =
    /^([A-Z_ ]+?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?$/.exec(type.trim().toUpperCase()) ?? [];
  const read = READERS.get(name);
  if (read === undefined) {
    throw new ServiceError(
      'invalid_argument',
      `A parameter of the type ${quoted(type)} cannot be sent to the scheduler.`,
      {
        hint: 'Bind it as a text, and cast it in the SQL.',
      },
    );
  }
  const literal = read(
    text.trim(),
    precision === undefined ? DEFAULT_DECIMAL : [Number(precision), Number(scale ?? 0)],
  );
  if (literal === undefined) {
    throw new ServiceError('invalid_sql', `The parameter ${quoted(text)} is not a value of the type ${type}.`);
  }
  return literal;
}

type DecimalType = readonly [precision: number, scale: number];
type Reader = (text: string, decimal: DecimalType) => Literal | undefined;

const DEFAULT_DECIMAL: DecimalType = [18, 3];
const MAX_PRECISION = 38;
const MAX_DECIMAL = 10n ** BigInt(MAX_PRECISION);

/** The readers of texts, by the name of the type. */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ...named(['BOOLEAN', 'BOOL'], readBoolean),
  ...named(['TINYINT', 'SMALLINT', 'INTEGER', 'INT', 'BIGINT', 'LONG', 'HUGEINT'], readWhole),
  ...named(['UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'UHUGEINT'], readWhole),
  ...named(['DOUBLE', 'FLOAT', 'REAL'], readDouble),
  ...named(['DECIMAL', 'NUMERIC'], readDecimal),
  ...named(['VARCHAR', 'TEXT', 'STRING', 'CHAR', 'UUID'], (text) => ({ string: text })),
  ...named(['DATE'], readDate),
  ...named(['TIMESTAMP', 'TIMESTAMP_NTZ', 'TIMESTAMP_NS', 'DATETIME'], (text) => readTimestamp(text, 'timestampNtz')),
  ...named(['TIMESTAMPTZ', 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMP_LTZ'], (text) => readTimestamp(text, 'timestamp')),
]);

function named(names: readonly string[], reader: Reader): [string, Reader][] {
  return names.map((name) => [name, reader]);
}

/** Returns the literal in the smallest type that fits, as SQL does: LIMIT takes no BIGINT. */
function wholeNumber(value: bigint): Literal {
  if (BigInt.asIntN(32, value) === value) return { integer: Number(value) };
  if (BigInt.asIntN(64, value) === value) return { long: value };
  // Sail would move the decimal point.
  if (value >= MAX_DECIMAL || value <= -MAX_DECIMAL) {
    throw new ServiceError('invalid_argument', `The parameter ${value} has more than ${MAX_PRECISION} digits.`, {
      hint: 'Send it as a text.',
    });
  }
  return { decimal: { value: String(value), precision: MAX_PRECISION, scale: 0 } };
}

function readBoolean(text: string): Literal | undefined {
  const lower = text.toLowerCase();
  return lower === 'true' || lower === 'false' ? { boolean: lower === 'true' } : undefined;
}

function readWhole(text: string): Literal | undefined {
  return /^[+-]?\d{1,38}$/.test(text) ? wholeNumber(BigInt(text.replace('+', ''))) : undefined;
}

const SPECIAL_DOUBLES: ReadonlyMap<string, number> = new Map([
  ['nan', NaN],
  ['inf', Infinity],
  ['infinity', Infinity],
  ['-inf', -Infinity],
  ['-infinity', -Infinity],
]);

function readDouble(text: string): Literal | undefined {
  const special = SPECIAL_DOUBLES.get(text.toLowerCase());
  if (special !== undefined) return { double: special };
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? { double: Number(text) } : undefined;
}

/** Digits that do not fit the scale are an error: rounding is left to the SQL. */
function readDecimal(text: string, [precision, scale]: DecimalType): Literal | undefined {
  const [, sign, whole = '', fraction = ''] = /^([+-]?)(\d*)(?:\.(\d*))?$/.exec(text) ?? [];
  const digits = fraction.replace(/0+$/, '');
  const isNumber = sign !== undefined && whole.length + fraction.length > 0;
  if (!isNumber || digits.length > scale || precision > MAX_PRECISION) return undefined;
  const significant = whole.replace(/^0+/, '');
  if (significant.length > precision - scale) return undefined;
  const value = `${sign === '-' ? '-' : ''}${significant || '0'}${scale > 0 ? `.${digits.padEnd(scale, '0')}` : ''}`;
  return { decimal: { value, precision, scale } };
}

const DAY_MS = 86_400_000;

function readDate(text: string): Literal | undefined {
  const day = dayOf(/^(\d{4})-(\d{2})-(\d{2})$/.exec(text));
  return day === undefined ? undefined : { date: day };
}

/** Returns the days since 1970 of a year, a month and a day that exist. */
function dayOf(match: RegExpExecArray | null): number | undefined {
  if (match === null) return undefined;
  const [year, month, date] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, date);
  const isReal = at.getUTCMonth() === month - 1 && at.getUTCDate() === date;
  return isReal ? at.getTime() / DAY_MS : undefined;
}

const TIMESTAMP =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

function readTimestamp(text: string, kind: 'timestamp' | 'timestampNtz'): Literal | undefined {
  const match = TIMESTAMP.exec(text);
  const day = dayOf(match);
  if (match === null || day === undefined) return undefined;
  const [hours, minutes, seconds] = [Number(match[4] ?? 0), Number(match[5] ?? 0), Number(match[6] ?? 0)];
  const nanos = (match[7] ?? '').padEnd(9, '0');
  // Spark keeps microseconds.
  if (hours > 23 || minutes > 59 || seconds > 59 || !nanos.endsWith('000')) return undefined;
  const offset = offsetMinutes(match[8]);
  const wholeSeconds = day * 86_400 + hours * 3600 + (minutes - offset) * 60 + seconds;
  return { [kind]: BigInt(wholeSeconds) * 1_000_000n + BigInt(nanos.slice(0, 6)) };
}

function offsetMinutes(zone: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone ?? '') ?? [];
  const size = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  return sign === '-' ? -size : size;
}
