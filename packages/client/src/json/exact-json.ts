/** A value of a row. An integer in a nested value is a `bigint` if a `number` cannot hold it. */
export type Value = null | boolean | number | bigint | string | readonly Value[] | { readonly [name: string]: Value };

/** How integers are returned that a `number` may not hold exactly. */
export type Longs = 'bigint' | 'string' | 'number';

/** A value cannot be returned exactly, or cannot be sent. */
export class InexactError extends Error {
  override readonly name = 'InexactError';
}

/** Converts the digits of an integer. */
export function longOf(digits: string, longs: Longs): Value {
  if (longs === 'string') return digits;
  if (longs === 'bigint') return BigInt(digits);
  const value = Number(digits);
  if (Number.isSafeInteger(value)) return value;
  throw new InexactError(`A number cannot hold ${digits} exactly.`);
}

/** Parses JSON without rounding: an integer beyond a `number` becomes what `longs` says. */
export function parseExact(text: string, longs: Longs): Value {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- JSON has no other values.
    const value = JSON.parse(text) as Value;
    return MANY_DIGITS.test(text) ? parseTokens(text, longs) : value;
  } catch (error) {
    if (error instanceof InexactError) throw error;
    throw new TableError(`${shown(text)} is not JSON`);
  }
}

const MANY_DIGITS = /\d{16}/;
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}]|[^\s[\]{}:,"]+/g;
const INTEGER = /^-?\d+$/;

/** Returns a value where JSON has only strings. */
export function textOf(value: Value): string {
  return typeof value === 'string' ? value : '';
}

/** Parses valid JSON token by token. */
function parseTokens(text: string, longs: Longs): Value {
  const tokens = text.match(TOKEN) ?? [];
  let at = 0;
  function next(): Value {
    const token = tokens[at] ?? '';
    at += 1;
    if (token === '[') {
      const list: Value[] = [];
      while (tokens[at] !== ']') list.push(next());
      at += 1;
      return list;
    }
    if (token === '{') {
      const entries: [string, Value][] = [];
      while (tokens[at] !== '}') entries.push([textOf(next()), next()]);
      at += 1;
      return Object.fromEntries(entries);
    }
    if (INTEGER.test(token) && !Number.isSafeInteger(Number(token))) return longOf(token, longs);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return JSON.parse(token) as Value;
  }
  return next();
}

/** Writes a value as JSON without rounding. Throws for infinite numbers, and for what is not a value. */
export function writeExact(given: unknown): string {
  const value = jsonOf(given);
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(`A ${typeof value} is not a value: ${shown(String(value))}.`);
  }
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new InexactError(`JSON has no number for ${value}.`);
    return Object.is(value, -0) ? '-0' : String(value);
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(writeExact).join()}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeExact(member)}`).join()}}`;
}

/** As `JSON.stringify` does, before it looks at the members. */
function jsonOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('toJSON' in value)) return value;
  return typeof value.toJSON === 'function' ? Reflect.apply(value.toJSON, value, ['']) : value;
}

/** The bytes of an answer are not a JSON table. */
export class TableError extends Error {
  override readonly name = 'TableError';
  /** What is wrong, to put into a sentence. */
  readonly detail: string;
  /** True if a row is too long to be read. */
  readonly isTooLong: boolean;

  constructor(detail: string, isTooLong = false) {
    super(`The answer is not a JSON table: ${detail}.`);
    this.detail = detail;
    this.isTooLong = isTooLong;
  }
}

/** Quotes a text of an answer; of a long one, the beginning. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
