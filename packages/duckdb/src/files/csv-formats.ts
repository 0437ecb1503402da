import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { CsvOptions } from '@svc/frames';
import { sqlText } from '../wire/sql-names.ts';
import type { CsvType } from './csv-types.ts';

/** The formats of dates and times that a client gave. */
export type CsvFormats = Pick<CsvOptions, 'dateFormat' | 'timestampFormat'>;

/** The types that columns in these formats get if none is declared. */
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

/** The specifiers of `strftime` that a format may have, by what they write. */
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

/** Returns what is wrong with a format: it must say which day or time a text means. */
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
