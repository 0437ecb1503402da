import * as v from 'valibot';

/** Where a listener binds. */
export interface Address {
  /** A host name or an IP address; IPv6 without brackets. */
  readonly host: string;
  /** 0 lets the system pick a free port. */
  readonly port: number;
}

/** Every value a setting can have. */
export type SettingValue = string | number | boolean | readonly string[] | Address;

/** How the values of a setting are written, checked and shown. */
export interface ValueType<T extends SettingValue> {
  /** The placeholder in the help: `port` in `--grpc-port <port>`. */
  readonly placeholder: string;
  /** The valid values, as the end of a sentence: "a whole number from 0 to 65535". */
  readonly expected: string;
  /** Checks a TOML value; the message of each issue names the valid values. */
  readonly schema: v.GenericSchema<unknown, T>;
  /** Converts the text of a flag or variable to a TOML value; invalid text stays text, and the schema refuses it. */
  fromText(text: string): unknown;
  /** Formats the value for a flag or variable. */
  toText(value: T): string;
  /** Formats the value for a TOML file. */
  toToml(value: T): string;
  /** Hides the credentials in a refused value. */
  redact?(shown: string): string;
}

/** Inclusive bounds of a number. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** A whole number. */
export function integer({ min, max }: Bounds, placeholder = 'n'): ValueType<number> {
  const expected = `a whole number from ${min} to ${max}`;
  return {
    placeholder,
    expected,
    schema: v.pipe(v.number(expected), v.integer(expected), v.minValue(min, expected), v.maxValue(max, expected)),
    fromText: (text) => (/^[+-]?\d+$/.test(text.trim()) ? Number(text) : text),
    toText: String,
    toToml: String,
  };
}

/** The longest delay of a Node timer: about 24 days. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** A timer delay in milliseconds. */
export const timerMs: ValueType<number> = integer({ min: 1, max: MAX_TIMER_MS }, 'ms');

/** A number of bytes, at least one. */
export const byteCount: ValueType<number> = integer({ min: 1, max: Number.MAX_SAFE_INTEGER }, 'bytes');

/** A number of bytes that may be 0. */
export const bytesOrNone: ValueType<number> = integer({ min: 0, max: Number.MAX_SAFE_INTEGER }, 'bytes');

/** A positive number, fractions allowed. */
export function decimal({ max, unit }: { max: number; unit: string }): ValueType<number> {
  const expected = `a number of ${unit} above 0, at most ${max}`;
  return {
    placeholder: unit,
    expected,
    schema: v.pipe(v.number(expected), v.gtValue(0, expected), v.maxValue(max, expected)),
    fromText: (text) => (/^[+-]?(\d+\.?\d*|\.\d+)$/.test(text.trim()) ? Number(text) : text),
    toText: decimalText,
    toToml: decimalText,
  };
}

/** A number from 0 to 1. */
export const fraction: ValueType<number> = {
  ...decimal({ max: 1, unit: 'fraction' }),
  placeholder: 'fraction',
  expected: 'a number from 0 to 1',
  schema: v.pipe(
    v.number('a number from 0 to 1'),
    v.minValue(0, 'a number from 0 to 1'),
    v.maxValue(1, 'a number from 0 to 1'),
  ),
};

function decimalText(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

const BOOLEAN_WORDS: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on'].map((word): [string, boolean] => [word, true]),
  ...['false', '0', 'no', 'off'].map((word): [string, boolean] => [word, false]),
]);

/** A switch: `true` or `false` in TOML, also 1/0, yes/no and on/off in a variable. */
export function boolean(): ValueType<boolean> {
  const expected = 'true or false';
  return {
    placeholder: 'true|false',
    expected,
    schema: v.boolean(expected),
    fromText: (text) => BOOLEAN_WORDS.get(text.trim().toLowerCase()) ?? text,
    toText: String,
    toToml: String,
  };
}

/** One of a few words, in any letter case; an alias maps to one of them. */
export function choice<const T extends string>(
  words: readonly T[],
  aliases: Readonly<Record<string, T>> = {},
): ValueType<T> {
  const expected = words.length === 1 ? `"${words.join()}"` : `one of ${words.join(', ')}`;
  const meaningOf = new Map<string, T>([...words.map((word): [string, T] => [word, word]), ...Object.entries(aliases)]);
  return plainText(
    words.join('|'),
    expected,
    v.pipe(
      v.string(expected),
      v.transform((word) => meaningOf.get(word.trim().toLowerCase()) ?? word),
      v.picklist(words, expected),
    ),
  );
}

/** Text that matches a pattern. */
export function matchingText(placeholder: string, expected: string, pattern: RegExp): ValueType<string> {
  return plainText(placeholder, expected, v.pipe(v.string(expected), v.regex(pattern, expected)));
}

/** A path in the file system. A leading `~` is refused: it would silently name a directory called `~`. */
export function path(placeholder: 'directory' | 'file'): ValueType<string> {
  const expected = `the path of a ${placeholder}`;
  return plainText(
    placeholder,
    expected,
    v.pipe(
      v.string(expected),
      v.regex(/\S/, expected),
      v.regex(/^[^\p{Cc}\p{Cs}]*$/u, `${expected} without control characters`),
      v.regex(/^(?!~(?:[/\\]|$))/, `${expected} with the home directory written out (~ is not expanded)`),
    ),
  );
}

/**
 * A value that is text in every source. The schema must exclude control characters and lone surrogates: without them a
 * JSON string is also a TOML string.
 */
export function plainText<T extends string>(
  placeholder: string,
  expected: string,
  schema: v.GenericSchema<unknown, T>,
): ValueType<T> {
  return {
    placeholder,
    expected,
    schema,
    fromText: (text) => text,
    toText: (value) => value,
    toToml: (value) => JSON.stringify(value),
  };
}
