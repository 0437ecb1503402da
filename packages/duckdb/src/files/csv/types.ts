import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { CsvOptions } from '@svc/frames';
import { sqlText } from '../../wire/sql-names.ts';

// SQL to convert the texts of a CSV file to values without changing one. DuckDB's casts round `1.5` to a LONG, cut the
// time from a DATE, and take `1_000`, `0x1F`, `epoch` and zone names, so every value is checked against its text.

/** What a check of floats lets pass. */
export interface FloatChecks {
  /** True if a -0 is exact. A file with dictionaries would lose its sign. */
  readonly allowNegativeZero: boolean;
}

/** How texts become values of a type. The functions return SQL, and `text` and `value` are SQL, too. */
export interface CsvType {
  /** DuckDB's name of the type. */
  readonly sqlType: string;
  /** True if a text may be exact; cheap. A failing cast takes far longer than a successful one. */
  readonly mayFit: (text: string) => string;
  /** The value of a text; any value or null if the text is not exact. */
  readonly valueOf: (text: string) => string;
  /** True if `value` (`valueOf(text)`) is exactly what the text says; false or null if not. */
  readonly isExact: (text: string, value: string, checks: FloatChecks) => string;
}

/** Texts of any form. */
export const TEXT: CsvType = {
  sqlType: 'VARCHAR',
  mayFit: () => 'true',
  valueOf: (text) => text,
  isExact: () => 'true',
};

/** No values, only nulls. */
export const NULLS: CsvType = { ...TEXT, isExact: () => 'false' };

/** Matches a whole text against a pattern of RE2. */
function matches(text: string, pattern: string): string {
  return `regexp_full_match(${text}, '${pattern}')`;
}

function cast(sqlType: string): CsvType['valueOf'] {
  return (text) => `TRY_CAST(${text} AS ${sqlType})`;
}

const IS_DAY = `LIKE '____-__-__%'`;

function mayBeNumber(text: string): string {
  return `(${text} >= '-' AND ${text} < ':' AND NOT ${text} ${IS_DAY})`;
}

function mayBeTime(text: string): string {
  return `${text} ${IS_DAY}`;
}

/** Exact are digits as DuckDB writes them: without a plus sign, leading zeros or a negative zero. */
function wholeNumber(sqlType: string): CsvType {
  return {
    sqlType,
    mayFit: mayBeNumber,
    valueOf: cast(sqlType),
    isExact: (text, value) => `${value}::VARCHAR = ${text}`,
  };
}

/** Whole numbers, decimal and exponent notation. Leading zeros and plus signs are refused as for whole numbers. */
const NUMBER = String.raw`-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?`;
const WHOLE_NUMBER = '-?[0-9]+';
/** The least HUGEINT, -2^127. Floats hold it exactly, but DuckDB does not cast it from one. */
const LEAST_HUGEINT = String(-(2n ** 127n));

/**
 * The nearest float in the range of the type; whole numbers must be exact. Those of at most `anyDigits` characters always
 * are. With a declared type, a whole number may also be the shortest text of its float, as exports write it: the FLOAT
 * `22867038000` is 22867038208.
 */
function float(sqlType: string, anyDigits: number, special?: string): CsvType {
  return {
    sqlType,
    mayFit: mayBeNumber,
    valueOf: cast(sqlType),
    isExact(text, value, { allowNegativeZero }) {
      const zero = `${allowNegativeZero ? '-?' : ''}[0.]*(?:[eE].*)?`;
      const isEqual = (number: string): string =>
        `coalesce(TRY_CAST(${text} AS HUGEINT) = TRY_CAST(${number} AS HUGEINT), ${text} = '${LEAST_HUGEINT}')`;
      const isSame = special === undefined ? isEqual(value) : `(${isEqual(value)} OR ${isEqual(`${value}::VARCHAR`)})`;
      const isNumber = `${matches(text, NUMBER)} AND isfinite(${value})
        AND CASE WHEN ${value} <> 0 THEN true ELSE ${matches(text, zero)} END
        AND CASE WHEN strlen(${text}) <= ${anyDigits} THEN true
          WHEN ${matches(text, WHOLE_NUMBER)} THEN ${isSame} ELSE true END`;
      return special === undefined ? `(${isNumber})` : `(${isNumber} OR ${matches(text, special)})`;
    },
  };
}

const DOUBLE_DIGITS = 15;
const FLOAT_DIGITS = 7;
/**
 * As they are written to CSV, here and by numpy, pandas and pyarrow. In a column without a declared type they are texts. A
 * pattern: DuckDB would turn an IN of five or more constants into a join, and a file of 100 such columns takes all memory.
 */
const SPECIAL_FLOATS = 'NaN|nan|-?(?:Infinity|inf)';

/** A negative zero is refused: the type has none. */
function decimal(sqlType: string, scale: number): CsvType {
  const [some, more] = scale === 0 ? ['', '0+'] : [`[0-9]{0,${scale}}`, `[0-9]{1,${scale}}`];
  const form = String.raw`-?(?:(?:0|[1-9][0-9]*)(?:\.${some}0*)?|\.${more}0*)`;
  return {
    sqlType,
    mayFit: mayBeNumber,
    valueOf: cast(sqlType),
    isExact: (text, value) =>
      `(${value} IS NOT NULL AND ${matches(text, form)} AND (${value} <> 0 OR NOT starts_with(${text}, '-')))`,
  };
}

const BOOLEAN: CsvType = {
  sqlType: 'BOOLEAN',
  mayFit: () => 'true',
  valueOf: (text) => `lower(${text}) = 'true'`,
  isExact: (text) => `lower(${text}) IN ('true', 'false')`,
};

const DATE: CsvType = {
  sqlType: 'DATE',
  mayFit: mayBeTime,
  valueOf: cast('DATE'),
  isExact: (text, value) => `(strlen(${text}) = 10 AND ${value}::VARCHAR = ${text})`,
};

const UUID: CsvType = {
  sqlType: 'UUID',
  mayFit: () => 'true',
  valueOf: cast('UUID'),
  isExact: (text, value) => `${value}::VARCHAR = lower(${text})`,
};

const DAY = '[0-9]{4}-[0-9]{2}-[0-9]{2}';
/** DuckDB would take 24:00 for the next day. */
const MINUTE = '(?:[01][0-9]|2[0-3]):[0-9]{2}';
const OFFSET = '[-+](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?';
const MICROS = '[0-9]{1,6}';
const NANOS = '[0-9]{1,9}';

function second(digits: string): string {
  return String.raw`:[0-9]{2}(?:\.${digits})?`;
}

/** A date, or a time without a zone or in UTC. */
function utcForm(digits: string): string {
  return `${DAY}(?:[ T]${MINUTE}(?:${second(digits)}Z?)?)?`;
}

/** A time with a zone. */
function zonedForm(digits: string): string {
  return `${DAY}[ T]${MINUTE}${second(digits)}(?:Z|${OFFSET})`;
}

/** The first year is 0001, as for dates. */
function timestamp(sqlType: string, form: string, valueOf = cast(sqlType)): CsvType {
  return {
    sqlType,
    mayFit: mayBeTime,
    valueOf,
    isExact: (text, value) => `(${value} IS NOT NULL AND ${text} >= '0001' AND ${matches(text, form)})`,
  };
}

const TIME: CsvType = {
  sqlType: 'TIME',
  mayFit: () => 'true',
  valueOf: cast('TIME'),
  isExact: (text, value) => `(${value} IS NOT NULL AND ${matches(text, `${MINUTE}(?:${second(`${MICROS}0*`)})?`)})`,
};

/**
 * The candidates for a column without a declared type: it gets the first that fits all values, else `TEXT`. Times with a
 * zone are instants. A column where only some have a zone other than UTC is text.
 */
export const INFERRED_TYPES: readonly CsvType[] = [
  BOOLEAN,
  wholeNumber('BIGINT'),
  wholeNumber('UBIGINT'),
  wholeNumber('HUGEINT'),
  float('DOUBLE', DOUBLE_DIGITS),
  DATE,
  timestamp('TIMESTAMPTZ', zonedForm(MICROS)),
  timestamp('TIMESTAMP', utcForm(MICROS)),
  timestamp('TIMESTAMP_NS', utcForm(NANOS)),
  timestamp('TIMESTAMP_NS', zonedForm(NANOS)),
];

/** Zeros after the digits of the type change nothing. */
function declaredTimestamp(sqlType: string, digits: string): CsvType {
  const form = `(?:${utcForm(`${digits}0*`)}|${zonedForm(`${digits}0*`)})`;
  // The cast to TIMESTAMP ignores an offset.
  const valueOf = sqlType === 'TIMESTAMP' ? (text: string) => `TRY_CAST(${text} AS TIMESTAMPTZ)::TIMESTAMP` : undefined;
  return timestamp(sqlType, form, valueOf);
}

const WHOLE_NUMBERS = ['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT'];

const DECLARED_TYPES: ReadonlyMap<string, CsvType> = new Map(
  [
    TEXT,
    BOOLEAN,
    DATE,
    UUID,
    ...[...WHOLE_NUMBERS, 'HUGEINT'].map(wholeNumber),
    float('FLOAT', FLOAT_DIGITS, SPECIAL_FLOATS),
    float('DOUBLE', DOUBLE_DIGITS, SPECIAL_FLOATS),
    TIME,
    declaredTimestamp('TIMESTAMP', MICROS),
    declaredTimestamp('TIMESTAMPTZ', MICROS),
    declaredTimestamp('TIMESTAMP_NS', NANOS),
  ].map((type) => [type.sqlType, type]),
);

/** Returns the type of a column of this type of DuckDB; undefined if CSV has no form for it. */
export function declaredType(sqlType: string): CsvType | undefined {
  const [, scale] = /^DECIMAL\(\d+, ?(\d+)\)$/.exec(sqlType) ?? [];
  return scale === undefined ? DECLARED_TYPES.get(sqlType) : decimal(sqlType, Number(scale));
}

/** True if the values may be -0. */
export function isFloat({ sqlType }: CsvType): boolean {
  return sqlType === 'DOUBLE' || sqlType === 'FLOAT';
}

/** The formats of dates and times, if a client gave any. */
export type CsvFormats = Pick<CsvOptions, 'dateFormat' | 'timestampFormat'>;

/** The types of columns in these formats without a declared type. */
export function formattedTypes(formats: CsvFormats): readonly CsvType[] {
  const hasNanos = specifiersOf(formats.timestampFormat ?? '').includes('%n');
  return ['DATE', hasNanos ? 'TIMESTAMP_NS' : 'TIMESTAMP'].flatMap((sqlType) => formattedType(sqlType, formats) ?? []);
}

/** Returns how the values of a type are read in the format given for it; undefined if none is given. */
export function formattedType(sqlType: string, { dateFormat, timestampFormat }: CsvFormats): CsvType | undefined {
  if (sqlType === 'DATE') {
    return dateFormat === undefined ? undefined : typeOfFormat(sqlType, checkedFormat('dateformat', dateFormat));
  }
  if (!sqlType.startsWith('TIMESTAMP') || timestampFormat === undefined) return undefined;
  return typeOfFormat(sqlType, checkedFormat('timestampformat', timestampFormat));
}

/**
 * DuckDB reads more than a format says: `infinity` as 1900, 24 as the year 0024, spaces. So a value must be written back
 * as the same text. Letter case and the zero before a single digit make no difference.
 */
function typeOfFormat(sqlType: string, format: string): CsvType {
  const written = sqlText(format);
  const comparable = (text: string): string => String.raw`regexp_replace(lower(${text}), '\b0([0-9])\b', '\1', 'g')`;
  return {
    sqlType,
    mayFit: () => 'true',
    valueOf: (text) => `TRY_CAST(try_strptime(${text}, ${written}) AS ${sqlType})`,
    isExact(text, value) {
      const local = sqlType === 'TIMESTAMPTZ' ? `${value}::TIMESTAMP` : value;
      return `(${comparable(`strftime(${local}, ${written})`)} = ${comparable(text)} AND year(${local}) >= 1)`;
    },
  };
}

/** The allowed specifiers of `strftime`, by what they write. */
const SPECIFIERS = {
  year: ['%Y', '%y'],
  month: ['%m', '%-m', '%b', '%B'],
  day: ['%d', '%-d'],
  dayOfYear: ['%j'],
  weekday: ['%a', '%A'],
  hour: ['%H', '%-H'],
  halfDayHour: ['%I', '%-I'],
  halfDay: ['%p'],
  minute: ['%M', '%-M'],
  second: ['%S', '%-S'],
  fraction: ['%g', '%f', '%n'],
  percent: ['%%'],
} as const satisfies Record<string, readonly string[]>;

type Part = keyof typeof SPECIFIERS;

const TIME_PARTS: readonly Part[] = ['hour', 'halfDayHour', 'halfDay', 'minute', 'second', 'fraction'];
const MAX_FORMAT_BYTES = 100;

const EXAMPLES = {
  dateformat: 'dateformat=%d/%m/%Y for 31/12/2024',
  timestampformat: 'timestampformat=%d/%m/%Y %H:%M:%S for 31/12/2024 23:59:59',
};

function specifiersOf(format: string): readonly string[] {
  return format.match(/%-?.?/gs) ?? [];
}

function checkedFormat(parameter: keyof typeof EXAMPLES, format: string): string {
  const fault = faultOf(format, parameter === 'timestampformat');
  if (fault === undefined) return format;
  const known = Object.values(SPECIFIERS).flat().join(' ');
  throw new ServiceError('invalid_argument', `${parameter}=${quoted(format)} ${fault}.`, {
    hint: `Write ${EXAMPLES[parameter]}, with each % as %25 in a URL. The specifiers are ${known}.`,
  });
}

/** Returns what is wrong with a format: it must determine the day or time of a text. */
function faultOf(format: string, isTime: boolean): string | undefined {
  if (format.includes('\0') || Buffer.byteLength(format) > MAX_FORMAT_BYTES) {
    return `has a NUL character or more than ${MAX_FORMAT_BYTES} bytes`;
  }
  const used = specifiersOf(format);
  const unknown = used.find((one) => !Object.values(SPECIFIERS).some((some: readonly string[]) => some.includes(one)));
  if (unknown !== undefined) return `has the unknown specifier ${quoted(unknown)}`;
  const has = (part: Part): boolean => SPECIFIERS[part].some((one) => used.includes(one));
  if (!has('year') || !(has('dayOfYear') || (has('month') && has('day')))) return 'does not have a year, month and day';
  if (has('halfDayHour') !== has('halfDay')) return 'must have %I and %p together';
  if (!isTime) return TIME_PARTS.some(has) ? 'has a time, which belongs in timestampformat' : undefined;
  return has('hour') || has('halfDayHour') ? undefined : 'does not have an hour';
}
