import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { columnTypeName } from '../../column-types.ts';
import { type ColumnTarget, type JsonColumn, type JsonSegment, TAG } from './json-column.ts';
import { jsonTextAt } from './json-text.ts';

/** A value that does not fit in its column exactly. The row is that of the innermost column. */
export class Misfit extends Error {
  readonly row: number;
  readonly value: string;
  readonly target: ColumnTarget;

  constructor(row: number, value: string, target: ColumnTarget) {
    super('A value does not fit in its column.');
    this.row = row;
    this.value = value;
    this.target = target;
  }
}

/** Returns the error of a row whose value does not fit. */
export function misfitAt(column: JsonColumn, target: ColumnTarget, segment: JsonSegment, row: number): Misfit {
  return new Misfit(row, jsonTextAt(column, segment, row), target);
}

/** Throws for the first row with a value of another kind. `kinds` has a bit for each allowed tag. */
export function requireKinds(column: JsonColumn, target: ColumnTarget, segment: JsonSegment, kinds: number): void {
  const allowed = kinds | (1 << TAG.null);
  if ((segment.kinds & ~allowed) === 0) return;
  const row = segment.tags.findIndex((tag) => ((1 << tag) & allowed) === 0);
  if (row >= 0) throw misfitAt(column, target, segment, row);
}

/** Returns the error of a misfit for clients. `row` is counted from 1. */
export function misfitError({ value, target }: Misfit, row: number, column: string): ServiceError {
  const type = columnTypeName(target.field) ?? 'value of this type';
  const what =
    value === 'null' ? 'null is not allowed here' : `${shortened(value)} is not exactly ${withArticle(type)}`;
  return new ServiceError('invalid_data', `Row ${row}, column ${quoted(column)}: ${what}.`, {
    hint: HINTS[type.replace(/\(.*/, '')] ?? `Send a value of the type ${type}, or null.`,
  });
}

function shortened(value: string): string {
  return value.length > 80 ? `${value.slice(0, 80)}…` : value;
}

function withArticle(type: string): string {
  return `${/^[AIEOU](?!LONG|UID)/.test(type) ? 'an' : 'a'} ${type}`;
}

const INTEGER_HINT = 'Send a whole number within the range of the type, as a number or a string of digits.';

const HINTS: Readonly<Record<string, string>> = {
  BOOLEAN: 'Send true or false.',
  BYTE: INTEGER_HINT,
  SHORT: INTEGER_HINT,
  INT: INTEGER_HINT,
  LONG: INTEGER_HINT,
  ULONG: INTEGER_HINT,
  LONG128: INTEGER_HINT,
  FLOAT: 'Send a number within the range of the type; a whole number must be exact as a 32-bit float.',
  DOUBLE: 'Send a number; a whole number must be exact as a double.',
  DECIMAL: 'Send a number or a string of digits, with no more digits than the type has.',
  STRING: 'Send a string, in double quotes.',
  SYMBOL: 'Send a string, in double quotes.',
  DATE: 'Send ISO 8601 text, for example "2024-01-02".',
  TIMESTAMP: 'Send ISO 8601 text with at most six decimals, for example "2024-01-02T03:04:05.678901Z".',
  TIMESTAMP_NS: 'Send ISO 8601 text with at most nine decimals, for example "2024-01-02T03:04:05.678901234Z".',
  TIME: 'Send a time of day, for example "03:04:05.678901".',
  DURATION: 'Send an ISO 8601 duration of hours, minutes and seconds, for example "PT1H2M3.5S".',
  INTERVAL: 'Send an ISO 8601 duration, for example "P1Y2M3DT4H5M6.5S".',
  BINARY: 'Send base64.',
  UUID: 'Send a UUID, for example "01234567-89ab-cdef-0123-456789abcdef".',
  ARRAY: 'Send an array.',
  STRUCT: 'Send an object.',
  MAP: 'Send an array of [key,value].',
};
