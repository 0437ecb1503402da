import { quoted } from '@svc/errors/internal';
import { type LineKind } from './line-column.ts';
import { LineError } from './line-error.ts';
import { MAX_NUMBER_LENGTH, NUMBER } from './line-numbers.ts';

interface Range {
  readonly form: RegExp;
  readonly kind: LineKind;
  readonly hint: string;
}

/** The numbers of each form, for a value that has a form and still no type. */
const RANGES: readonly Range[] = [
  {
    form: /^[+-]?\d+i$/,
    kind: 'LONG',
    hint: 'A LONG is between -9223372036854775808 and 9223372036854775807. Send a larger number without i, as a DOUBLE, or as a text in quotes.',
  },
  {
    form: /^-?\d+u$/,
    kind: 'ULONG',
    hint: 'A ULONG is between 0 and 18446744073709551615. Send a negative number with i, as a LONG, and a larger one as a text in quotes.',
  },
  {
    form: /^[+-]?\d+t$/,
    kind: 'TIMESTAMP',
    hint: 'The time is in microseconds, between -9223372036854775808 and 9223372036854775807.',
  },
  {
    form: /^-?\d+n$/,
    kind: 'TIMESTAMP_NS',
    hint: 'The time is in nanoseconds, between the years 1677 and 2262.',
  },
  {
    form: NUMBER,
    kind: 'DOUBLE',
    hint: 'The size of a DOUBLE is 0, or between 5e-324 and 1.7976931348623157e308. Send another number as a text in quotes.',
  },
];

/** The error of a field whose value is not in quotes and has no type. */
export function invalidValue(line: number, name: string, value: string): LineError {
  const field = `the field ${quoted(name)}`;
  if (value.startsWith('=')) {
    return new LineError(
      line,
      `${field} is in the binary form of protocol version 2.`,
      'Set protocol_version=1 in the client.',
    );
  }
  const range = value.length > MAX_NUMBER_LENGTH ? undefined : RANGES.find(({ form }) => form.test(value));
  if (range) {
    const { kind, hint } = range;
    return new LineError(line, `${field} has the value ${quoted(value)}, which is out of range for a ${kind}.`, hint);
  }
  return new LineError(
    line,
    value === '' ? `${field} has no value.` : `${field} has the value ${quoted(value)}, which has no type.`,
    'A value is a number (1.5), a whole number (42i, or 42u without a sign), a text in quotes, t or f, or a time in microseconds (1700000000000000t).',
  );
}

/** The error of a time that is not a whole number, or beyond 64 bits. */
export function invalidTime(line: number, text: string): LineError {
  return new LineError(
    line,
    /^-?\d+[tn]?$/.test(text) ? `the time ${quoted(text)} is out of range.` : `${quoted(text)} is not a valid time.`,
    'The time is a whole number in the unit of the parameter precision (default ns), between the years 1677 and 2262.',
  );
}
