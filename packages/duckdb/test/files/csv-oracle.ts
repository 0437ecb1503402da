// The types and values of CSV columns, as docs/http-api.md states them. Written without the SQL of the implementation.

/** The type of a column, and a form of each value that is equal for equal values. */
export interface OracleColumn {
  readonly type: string;
  readonly values: readonly (string | null)[];
}

type Reading = (text: string) => string | undefined;

interface OracleType {
  readonly type: string;
  /** Returns the comparable form of a text of the type, else undefined. */
  readonly read: Reading;
}

function whole(from: bigint, to: bigint): Reading {
  return (text) => {
    if (!/^-?\d+$/.test(text)) return undefined;
    const value = BigInt(text);
    return String(value) === text && value >= from && value <= to ? text : undefined;
  };
}

const readLong128 = whole(-(2n ** 127n), 2n ** 127n - 1n);

/** The comparable form of a double: its digits, with the sign of zero. */
export function doubleForm(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

function readDouble(text: string): string | undefined {
  const match = /^-?(\d*)(?:(\.)(\d*))?(?:[eE][-+]?\d+)?$/.exec(text);
  if (match === null) return undefined;
  const [, before = '', point, after = ''] = match;
  if (before + after === '' || (before.length > 1 && before.startsWith('0'))) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value) || (value === 0 && /[1-9]/.test(before + after))) return undefined;
  const isWhole = point === undefined && !/[eE]/.test(text);
  const isExact = text === '-0' || (readLong128(text) !== undefined && BigInt(value) === BigInt(text));
  return isWhole && !isExact ? undefined : doubleForm(value);
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || text < '0001') return false;
  const days = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(days) && new Date(days).toISOString().startsWith(text);
}

interface Instant {
  readonly zone: string | undefined;
  readonly digits: number;
  readonly nanos: bigint;
}

/** The instant of an ISO 8601 text: a date, minutes, or seconds with a zone or without. */
function readInstant(text: string): Instant | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?(Z|[-+]\d\d(?::?\d\d)?)?)?)?$/.exec(
    text,
  );
  const [, day = '', hour = '0', minute = '0', second = '0', fraction = '', zone] = match ?? [];
  if (match === null || !isDay(day) || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59)
    return undefined;
  const [, sign, hours = '0', minutes = '0'] = /^([-+])(\d\d):?(\d\d)?$/.exec(zone ?? '') ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  const seconds =
    Date.parse(`${day}T${hour.padStart(2, '0')}:${minute.padStart(2, '0')}:${second.padStart(2, '0')}Z`) / 1000;
  const nanos = BigInt(seconds - offset * 60) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
  return { zone, digits: fraction.length, nanos };
}

function time(digits: number, isWanted: (instant: Instant) => boolean): Reading {
  return (text) => {
    const instant = readInstant(text);
    return instant !== undefined && instant.digits <= digits && isWanted(instant) ? String(instant.nanos) : undefined;
  };
}

const isUtc = ({ zone }: Instant): boolean => zone === undefined || zone === 'Z';
const isZoned = ({ zone }: Instant): boolean => zone !== undefined;
const isInNanoRange = ({ nanos }: Instant): boolean => nanos > -(2n ** 63n) && nanos < 2n ** 63n - 1n;

const TYPES: readonly OracleType[] = [
  { type: 'BOOLEAN', read: (text) => (/^(true|false)$/i.test(text) ? text.toLowerCase() : undefined) },
  { type: 'LONG', read: whole(-(2n ** 63n), 2n ** 63n - 1n) },
  { type: 'ULONG', read: whole(0n, 2n ** 64n - 1n) },
  { type: 'LONG128', read: readLong128 },
  { type: 'DOUBLE', read: readDouble },
  { type: 'DATE', read: (text) => (isDay(text) ? text : undefined) },
  { type: 'TIMESTAMP', read: time(6, isZoned) },
  { type: 'TIMESTAMP', read: time(6, isUtc) },
  { type: 'TIMESTAMP_NS', read: time(9, (instant) => isUtc(instant) && isInNanoRange(instant)) },
  { type: 'TIMESTAMP_NS', read: time(9, (instant) => isZoned(instant) && isInNanoRange(instant)) },
];

/** What a column of these texts must be. An empty text that is not quoted is null. */
export function expectedColumn(texts: readonly (string | null)[]): OracleColumn {
  const given = [...new Set(texts.filter((text) => text !== null))];
  const found =
    given.length === 0 ? undefined : TYPES.find(({ read }) => given.every((text) => read(text) !== undefined));
  if (found === undefined) return { type: 'STRING', values: texts };
  return { type: found.type, values: texts.map((text) => (text === null ? null : (found.read(text) ?? ''))) };
}

/** The comparable form of a value as JSON writes it: the raw text of a number, and strings with their quotes. */
export function comparable(type: string, json: string): string | null {
  if (json === 'null') return null;
  const text = json.startsWith('"') ? String(JSON.parse(json)) : json;
  if (type === 'DOUBLE') return doubleForm(Number(text));
  if (type === 'DATE') return text.slice(0, 10);
  return type.startsWith('TIMESTAMP') ? String(readInstant(text)?.nanos) : text;
}

/** Splits a line of NDJSON into the raw texts of its values. */
export function rawValues(line: string): readonly string[] {
  const tokens = line.match(/"(?:[^"\\]|\\.)*"|[^\s",:{}]+/g) ?? [];
  return tokens.filter((_, i) => i % 2 === 1);
}
