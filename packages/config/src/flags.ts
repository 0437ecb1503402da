import { nearestName } from '@svc/errors';
import { type FlagSpec, type FlagToken, parseFlags } from './parse-flags.ts';
import type { ServiceNames } from './service-names.ts';
import { SETTING_ROWS } from './setting-rows.ts';
import type { Finding, Given } from './source.ts';

/** The settings on the command line. */
export interface Flags {
  /** By path of the setting. */
  readonly given: ReadonlyMap<string, Given>;
  /** The file named by `--config`. */
  readonly file: string | undefined;
  /** Flags that ask for something other than a running server. */
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

/** All flags; also `--section-key` of each setting, with the name that works. */
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
