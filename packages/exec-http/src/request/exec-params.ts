import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { SqlValue } from '@svc/frames';
import { MAX_COLUMNS } from '@svc/frames/columns';

/** A range of rows: at most `limit` rows from `offset` on; without `limit`, all of them. */
export interface RowRange {
  readonly offset: number;
  readonly limit?: number;
}

/** Parses a whole number in decimal digits; the error names the parameter and quotes the value. */
export function parseCount(name: string, text: string, hint: string): number {
  const n = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(n)) {
    throw new ServiceError('invalid_argument', `${name}=${quoted(text)} is not a whole number from 0 to 2^53-1.`, {
      hint,
    });
  }
  return n;
}

const LIMIT_HINT =
  'Write limit=100 for the first 100 rows, limit=11,20 for rows 11 to 20 (counted from 1), limit=11, for row 11 and all after it.';

/** Parses the three forms of `limit`: `n`, `lo,hi` and `lo,`. The tools of QuestDB write `0,hi` for the first rows. */
export function parseLimit(text: string): RowRange {
  if (!text.includes(',')) return { offset: 0, limit: parseCount('limit', text, LIMIT_HINT) };
  const [, lowText, highText] = /^([0-9]+),([0-9]*)$/.exec(text) ?? [];
  const low = Number(lowText) === 0 && highText !== '' ? 1 : Number(lowText);
  const high = highText === '' ? Infinity : Number(highText);
  const isRange = low >= 1 && high >= low && [low, high].every((n) => n === Infinity || Number.isSafeInteger(n));
  if (!isRange) {
    throw new ServiceError('invalid_argument', `limit=${quoted(text)} is not a range of rows.`, { hint: LIMIT_HINT });
  }
  return high === Infinity ? { offset: low - 1 } : { offset: low - 1, limit: high - low + 1 };
}

/** The most characters of all names in `cols`, and of one in quotes: their quotes are replaced one by one. */
const [MAX_NAMES_LENGTH, MAX_NAME_LENGTH] = [524_288, 8192];

/** Parses `cols`: comma-separated names; a name with a comma or a quote is in double quotes, with `""` for `"`. */
export function parseColumns(text: string): readonly string[] {
  if (text.length > MAX_NAMES_LENGTH) throw longColumns(text, MAX_NAMES_LENGTH);
  const names = text.includes('"') ? quotedNames(text) : text.split(',', MAX_COLUMNS + 1);
  const known = new Set<string>();
  if (names.length > MAX_COLUMNS) {
    throw new ServiceError('invalid_argument', `cols=${quoted(text)} names more than ${MAX_COLUMNS} columns.`, {
      hint: 'No frame has more. Leave cols out for all columns.',
    });
  }
  if (!text.includes('"') && names.includes('')) throw invalidColumns(text);
  for (const name of names) {
    if (known.has(name)) {
      throw new ServiceError('invalid_argument', `cols=${quoted(text)} names the column ${quoted(name)} twice.`, {
        hint: 'Name each column once.',
      });
    }
    known.add(name);
  }
  return names;
}

function quotedNames(text: string): readonly string[] {
  const names: string[] = [];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  while (pattern.lastIndex <= text.length && names.length <= MAX_COLUMNS) {
    const [, inQuotes, plain, separator] = pattern.exec(text) ?? [];
    if (inQuotes === undefined && !plain) throw invalidColumns(text);
    if (inQuotes !== undefined && inQuotes.length > MAX_NAME_LENGTH) throw longColumns(inQuotes, MAX_NAME_LENGTH);
    names.push(inQuotes?.replaceAll('""', '"') ?? plain ?? '');
    if (separator === '') break;
  }
  return names;
}

function longColumns(text: string, max: number): ServiceError {
  return new ServiceError('invalid_argument', `cols has ${quoted(text)}, which has more than ${max} characters.`, {
    hint: 'Name fewer columns, or leave cols out for all columns.',
  });
}

function invalidColumns(text: string): ServiceError {
  return new ServiceError('invalid_argument', `cols=${quoted(text)} is not a list of columns.`, {
    hint: 'Write cols=a,b; put a name with a comma or a quote in double quotes, and write "" for a quote.',
  });
}

/** Parses a parameter that is `true` or `false`. */
export function parseFlag(name: string, text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ServiceError('invalid_argument', `${name}=${quoted(text)} is neither true nor false.`, {
    hint: `Write ${name}=true, or leave it out.`,
  });
}

/** More digits than any integer type has. The time of `BigInt` grows with their square. */
const MAX_INTEGER_LENGTH = 100;

/** Parses an SQL parameter value in JSON; integers are exact. */
export function parseSqlValue(text: string): SqlValue {
  const isInteger = /^-?(0|[1-9][0-9]*)$/.test(text.trim());
  if (isInteger && text.length <= MAX_INTEGER_LENGTH) return exactInteger(text);
  const value = isInteger ? undefined : parsedJson(text);
  // A number with a decimal point or an exponent is a DOUBLE, whatever its value.
  if (typeof value === 'number' && Number.isFinite(value)) return { type: 'DOUBLE', text: String(value) };
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  throw new ServiceError('invalid_argument', `param=${quoted(text)} is not a value for SQL.`, {
    hint: 'Write it as JSON: param=42, param=1.5, param=true, param=null or param="a text" with its double quotes.',
  });
}

function exactInteger(text: string): number | bigint {
  const n = Number(text);
  return Number.isSafeInteger(n) && !Object.is(n, -0) ? n : BigInt(text);
}

/** Parses JSON; undefined if the text is not valid. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
