import { nearestName } from '@svc/errors';
import type { ServiceNames } from './environment.ts';
import { SETTING_ROWS } from './settings.ts';
import type { Finding, Given } from './source.ts';

/** The settings on the command line. */
interface Flags {
  /** By path of the setting. */
  readonly given: ReadonlyMap<string, Given>;
  /** The file named by `--config`. */
  readonly file: string | undefined;
  /** Flags for something other than a running server. */
  readonly asked: ReadonlySet<Switch>;
  readonly problems: readonly Finding[];
}

type Switch = 'help' | 'version' | 'print-config';

const SWITCHES: ReadonlyMap<Switch, { readonly short?: string }> = new Map([
  ['help', { short: 'h' }],
  ['version', { short: 'V' }],
  ['print-config', {}],
]);

/** Flag → path of its setting; the configuration file has no path. */
const VALUE_FLAGS: ReadonlyMap<string, string | undefined> = new Map([
  ['config', undefined],
  ...SETTING_ROWS.flatMap(({ path, setting: { flag } }): [string, string][] =>
    flag === undefined ? [] : [[flag, path]],
  ),
]);

const FLAGS: ReadonlyMap<string, FlagSpec> = new Map<string, FlagSpec>([
  ...[...SWITCHES].map(([name, { short }]): [string, FlagSpec] => [
    name,
    { takesValue: false, short, isRepeatable: true },
  ]),
  ...[...VALUE_FLAGS.keys()].map((name): [string, FlagSpec] => [name, { takesValue: true }]),
]);

/** Reads the command line. A faulty flag becomes a problem, and reading continues after it. */
export function readFlags(argv: readonly string[], names: ServiceNames): Flags {
  const tokens = parseFlags(argv, FLAGS);
  const values = new Map(
    tokens.flatMap((token) => (token.kind === 'value' ? [[token.name, token.value] as const] : [])),
  );
  const switches = new Set(tokens.flatMap((token) => (token.kind === 'switch' ? [token.name] : [])));
  return {
    given: givenOf(values),
    file: values.get('config'),
    asked: new Set([...SWITCHES.keys()].filter((name) => switches.has(name))),
    problems: tokens.flatMap((token) => problemsOf(token, names)),
  };
}

function problemsOf(token: FlagToken, names: ServiceNames): readonly Finding[] {
  switch (token.kind) {
    case 'argument':
      return [unwantedArgument(token.value)];
    case 'unknown':
      return [unknownFlag(token.rawName, names)];
    case 'missing_value':
      return [missingValue(token.rawName)];
    case 'unwanted_value':
      return [flagProblem(token.rawName, `${token.rawName} takes no value.`, `Write ${token.rawName} alone.`)];
    case 'repeated':
      return [flagProblem(token.rawName, `${token.rawName} is given more than once.`, 'Give it once.')];
    case 'switch':
    case 'terminator':
    case 'value':
      break;
  }
  return [];
}

function givenOf(values: ReadonlyMap<string, string>): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>();
  for (const [name, text] of values) {
    const path = VALUE_FLAGS.get(name);
    if (path !== undefined) given.set(path, { source: { kind: 'flag', name: `--${name}` }, text });
  }
  return given;
}

function flagProblem(name: string, message: string, hint: string): Finding {
  return { source: { kind: 'flag', name }, message, hint };
}

function missingValue(name: string): Finding {
  return flagProblem(name, `${name} needs a value.`, `Write ${name} <value> or ${name}=<value>.`);
}

function unwantedArgument(value: string): Finding {
  return {
    source: { kind: 'argument', value },
    value,
    message: `The argument ${JSON.stringify(value)} belongs to no flag.`,
    hint: 'Settings are flags, variables or keys of the configuration file; --help lists them.',
  };
}

function unknownFlag(name: string, names: ServiceNames): Finding {
  const nearest = nearestName(name, suggestions(names));
  const hint = nearest === undefined ? '--help lists the flags.' : `Did you mean ${nearest}?`;
  return flagProblem(name, `There is no flag ${JSON.stringify(name)}.`, hint);
}

/** All flags; also `--section-key` of each setting, with its real name. */
function suggestions(names: ServiceNames): ReadonlyMap<string, string> {
  const spellings = [...FLAGS].flatMap(([name, { short }]) => [
    `--${name}`,
    ...(short === undefined ? [] : [`-${short}`]),
  ]);
  const flags = spellings.map((spelling): [string, string] => [spelling, spelling]);
  const paths = SETTING_ROWS.map((row): [string, string] => [
    `--${row.path.replaceAll(/[._]/g, '-')}`,
    row.setting.flag === undefined
      ? `the variable ${names.variablesOf(row)[0]?.name} (${row.path} has no flag)`
      : `--${row.setting.flag}`,
  ]);
  return new Map([...paths, ...flags]);
}

/** A flag of a command line. Its name, without dashes, is the key of its map. */
export interface FlagSpec {
  /** True if a value follows the flag. A flag without one is a switch. */
  readonly takesValue: boolean;
  /** The letter of its short form. */
  readonly short?: string | undefined;
  /** True if the flag may be given more than once. Default: no. */
  readonly isRepeatable?: boolean | undefined;
}

/** One element of a command line. `rawName` is the flag as the user wrote it: `-o`, `--output`. */
export type FlagToken =
  | { readonly kind: 'argument'; readonly value: string }
  /** A `--`: only arguments follow. */
  | { readonly kind: 'terminator' }
  | { readonly kind: 'switch'; readonly name: string; readonly rawName: string }
  | { readonly kind: 'value'; readonly name: string; readonly rawName: string; readonly value: string }
  | { readonly kind: 'unknown'; readonly rawName: string }
  | {
      readonly kind: 'missing_value' | 'unwanted_value' | 'repeated';
      readonly name: string;
      readonly rawName: string;
    };

/**
 * Parses `--flag value`, `--flag=value`, `-f value`, `-fvalue` and groups of switches (`-ab`). A faulty flag becomes a
 * token too, and parsing continues after it. The value of an unknown flag is dropped: it may be a secret.
 */
export function parseFlags(argv: readonly string[], flags: ReadonlyMap<string, FlagSpec>): readonly FlagToken[] {
  const tokens: FlagToken[] = [];
  const seen = new Set<string>();
  const words = [...argv];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '--') {
      tokens.push({ kind: 'terminator' }, ...words.splice(0).map(toArgument));
    } else if (!word.startsWith('-') || word === '-') {
      tokens.push(toArgument(word));
    } else {
      for (const flag of splitWord(word, flags)) {
        const token = toToken(flag, flags.get(flag.name), words);
        const isRepeated = isGiven(token) && seen.has(token.name) && flags.get(token.name)?.isRepeatable !== true;
        tokens.push(isRepeated ? { kind: 'repeated', name: token.name, rawName: token.rawName } : token);
        if (isGiven(token)) seen.add(token.name);
      }
    }
  }
  return tokens;
}

function toArgument(value: string): FlagToken {
  return { kind: 'argument', value };
}

function isGiven(token: FlagToken): token is FlagToken & { readonly kind: 'switch' | 'value' } {
  return token.kind === 'switch' || token.kind === 'value';
}

/** Takes the value of the flag from the words after it if it is not inline. */
function toToken({ name, rawName, inline }: SplitFlag, flag: FlagSpec | undefined, words: string[]): FlagToken {
  if (flag?.takesValue === false) {
    return inline === undefined ? { kind: 'switch', name, rawName } : { kind: 'unwanted_value', name, rawName };
  }
  const value = inline ?? takeValue(words);
  if (flag === undefined) return { kind: 'unknown', rawName };
  return value === undefined ? { kind: 'missing_value', name, rawName } : { kind: 'value', name, rawName, value };
}

interface SplitFlag {
  readonly name: string;
  readonly rawName: string;
  /** The value in the same word. */
  readonly inline?: string;
}

function splitWord(word: string, flags: ReadonlyMap<string, FlagSpec>): readonly SplitFlag[] {
  const [rawName, inline] = splitAtEquals(word);
  const whole = { rawName, ...(inline !== undefined && { inline }) };
  if (word.startsWith('--')) return [{ name: rawName.slice(2), ...whole }];
  const group: SplitFlag[] = [];
  for (let at = 1; at < word.length; at += 1) {
    const letter = word.charAt(at);
    const [name, flag] = [...flags].find(([, { short }]) => short === letter) ?? [];
    // One unknown letter makes the word unknown: -port is a mistyped --port and not -p, -o, -r, -t.
    if (name === undefined || flag === undefined) return [{ name: rawName, ...whole }];
    const rest = word.slice(at + 1);
    const one = { name, rawName: `-${letter}` };
    if (flag.takesValue) return [...group, { ...one, ...(rest !== '' && { inline: rest }) }];
    if (rest.startsWith('=')) return [...group, { ...one, inline: rest.slice(1) }];
    group.push(one);
  }
  return group;
}

function splitAtEquals(word: string): readonly [name: string, value: string | undefined] {
  const at = word.indexOf('=');
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** The next word, unless it is a flag. A negative number is a value: an error can then be about the number. */
function takeValue(words: string[]): string | undefined {
  const [next] = words;
  return next === undefined || /^-(?!\.?\d|$)/.test(next) ? undefined : words.shift();
}
