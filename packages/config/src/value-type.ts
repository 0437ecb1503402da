import { BlockList, isIP, isIPv6 } from 'node:net';
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
interface Bounds {
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

/** A number of bytes, or 0. */
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

/** Text matching a pattern. */
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
 * A value written as text in every source. The schema must exclude control characters and lone surrogates: without them a
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

type ParseItem = (text: string) => string | undefined;

/** A list of texts, or `*` alone for any; comma-separated in a variable. `parse` returns undefined if an item is invalid. */
function textListOrAny(placeholder: string, expected: string, parse: ParseItem): ValueType<readonly string[]> {
  return listOf(placeholder, expected, (texts) =>
    texts.length === 1 && texts[0] === '*' ? texts : texts.map((text) => parse(text)),
  );
}

/** A list of texts; comma-separated in a variable. `parse` returns undefined if an item is invalid. */
export function textList(placeholder: string, expected: string, parse: ParseItem): ValueType<readonly string[]> {
  return listOf(placeholder, expected, (texts) => texts.map((text) => parse(text)));
}

function listOf(
  placeholder: string,
  expected: string,
  parse: (texts: readonly string[]) => readonly (string | undefined)[],
): ValueType<readonly string[]> {
  return {
    placeholder,
    expected,
    schema: v.pipe(
      v.array(v.string(expected), expected),
      v.rawTransform(({ dataset, addIssue, NEVER }) => {
        const texts = dataset.value.map((text) => text.trim());
        const list = parse(texts).filter((item) => item !== undefined);
        if (list.length === texts.length) return list;
        addIssue({ message: expected });
        return NEVER;
      }),
    ),
    fromText: (text) => text.split(',').map((item) => item.trim()),
    toText: (value) => value.join(','),
    toToml: (value) => `[${value.map((item) => JSON.stringify(item)).join(', ')}]`,
  };
}

/** Every IPv4 interface: the host of `:9000`. */
export const ANY_HOST = '0.0.0.0';

/** Formats an address: `127.0.0.1:9000`, `[::1]:9000`. */
export function formatAddress({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function hostFromText(text: string): string | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  if (isIP(bare) !== 0) return bare === text || isIPv6(bare) ? bare : undefined;
  // Digits and dots alone are a mistyped IPv4 address, not a name.
  const isName = /^(?![\d.]+$)(?=.{1,253}$)\w(?:[\w-]*\w)?(?:\.\w(?:[\w-]*\w)?)*\.?$/.test(text);
  return isName ? text : undefined;
}

function addressFromText(text: string): Address | undefined {
  const match = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/.exec(text.trim());
  if (match === null) return undefined;
  const [, hostText = '', portText = ''] = match;
  const host = hostText === '' ? ANY_HOST : hostFromText(hostText);
  const port = Number(portText);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

/** A valibot schema from a parser. It returns undefined for invalid text. */
function parsed<T>(parse: (text: string) => T | undefined, expected: string): v.GenericSchema<unknown, T> {
  return v.pipe(
    v.string(expected),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const value = parse(dataset.value);
      if (value !== undefined) return value;
      addIssue({ message: expected });
      return NEVER;
    }),
  );
}

/** `host:port`, `:port` or `[IPv6]:port`. */
export function address(): ValueType<Address> {
  const expected = 'host:port, :port or [IPv6]:port, with a port from 0 to 65535';
  return {
    placeholder: 'host:port',
    expected,
    schema: parsed(addressFromText, expected),
    fromText: (text) => text,
    toText: formatAddress,
    toToml: (value) => JSON.stringify(formatAddress(value)),
  };
}

/** A host name or IP address, without a port. */
export function hostName(): ValueType<string> {
  const expected = 'a host name or an IP address, without a port';
  return plainText(
    'host',
    expected,
    parsed((text) => hostFromText(text.trim()), expected),
  );
}

/** Host names and IP addresses without ports, or `*` alone. */
export function hostNames(): ValueType<readonly string[]> {
  return textListOrAny('hosts', 'a list of host names or IP addresses without ports, or * alone', hostFromText);
}

type TextCheck = readonly [isRight: (text: string) => boolean, expected: string];

/** What users get wrong in a base URL. */
interface BaseUrlMistakes {
  /** Where credentials belong instead. */
  readonly credentials: string;
  /** A path outside of the base URL, and the sentence about it. */
  readonly ending: readonly [path: RegExp, expected: string];
}

/** In this order: the error names the first failed check. */
function urlChecks(expected: string, { credentials, ending }: BaseUrlMistakes): readonly TextCheck[] {
  return [
    [(text) => !/^[^/]*\/\/[^/?#\\]*@/.test(text), `a URL without credentials (${credentials})`],
    // The URL parser tolerates a missing slash, blanks and backslashes; the host may then differ from the text.
    [(text) => /^https?:\/\/[^/\\\s][^\\\s]*$/i.test(text) && URL.canParse(text), expected],
    [(text) => !/[?#]/.test(text), 'a URL without a query or fragment'],
    [(text) => new URL(text).port !== '0', 'a URL with a port from 1 to 65535'],
    [(text) => !ending[0].test(new URL(text).pathname), ending[1]],
  ];
}

/** The base URL of the time-series database. */
export function httpUrl(): ValueType<string> {
  return baseUrl('an http:// or https:// URL such as http://tsdb.example.com:9000', {
    credentials: 'set tsdb.user and tsdb.password, or tsdb.token, instead',
    ending: [/\/exec\/*$/, 'the base URL, without /exec at its end (the server adds it)'],
  });
}

/** The base URL of an HTTP server, without a slash at its end; a base path is kept. */
export function baseUrl(expected: string, mistakes: BaseUrlMistakes): ValueType<string> {
  const checks = urlChecks(expected, mistakes);
  const schema = v.pipe(
    v.string(expected),
    v.trim(),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const failed = checks.find(([isRight]) => !isRight(dataset.value));
      if (failed !== undefined) addIssue({ message: failed[1] });
    }),
    v.transform((text) => new URL(text).href.replace(/\/+$/, '')),
  );
  return {
    ...plainText('url', expected, schema),
    redact: (shown) => shown.replace(/^("?).*@/s, '$1***@'),
  };
}

const ORIGINS_EXPECTED = 'a list of origins such as https://app.example.com (no path, no slash at the end), or * alone';

function originFromText(text: string): string | undefined {
  const trimmed = text.toLowerCase();
  if (!/^[a-z][a-z\d+.-]*:\/\/[\w.:[\]-]+$/.test(trimmed) || !URL.canParse(trimmed)) return undefined;
  // The parser knows the origin of http and https URLs only.
  return /^https?:/.test(trimmed) ? new URL(trimmed).origin : trimmed;
}

/** Web origins, as browsers send them in `Origin`. */
export function origins(): ValueType<readonly string[]> {
  return textListOrAny('origins', ORIGINS_EXPECTED, originFromText);
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** True if only this machine can reach a listener on the host. */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? host === 'localhost' : LOOPBACK.check(host, version === 6 ? 'ipv6' : 'ipv4');
}

/** Returns the names in `Host` accepted by default: on loopback the listener's own, to stop DNS rebinding, else any. */
export function defaultHosts(host: string): readonly string[] | undefined {
  return isLoopback(host) ? [...new Set(['localhost', '127.0.0.1', '::1', host])] : undefined;
}

/** The log levels, from the most verbose to silent. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'off'] as const;

/** How much is logged. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A log level by its name or one of the names other loggers use for it. */
export const logLevel = choice(LOG_LEVELS, { warning: 'warn', fatal: 'error', silent: 'off' });

/**
 * Returns the global level of a filter such as `info,h2=warn`; undefined if it has none. A bare word that is not a level
 * names a module: the filter is meant for another program. If there are several levels, the last wins, as in Rust.
 */
export function levelFromRustLog(filter: string): string | undefined {
  const [directives = ''] = filter.split('/', 1);
  return directives
    .split(',')
    .map((directive) => directive.trim())
    .findLast((directive) => v.is(logLevel.schema, directive));
}
