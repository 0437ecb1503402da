import { nearestName } from '@svc/errors';
import type { ServiceNames } from './service-names.ts';
import { SETTING_ROWS } from './setting-rows.ts';
import type { Finding, Given } from './source.ts';

/** What the command line says. */
export interface Flags {
  /** By path of the setting. */
  readonly given: ReadonlyMap<string, Given>;
  /** The file named by `--config`. */
  readonly file: string | undefined;
  /** Flags that ask for something else than a running server. */
  readonly asked: ReadonlySet<Switch>;
  readonly problems: readonly Finding[];
}

type Switch = 'help' | 'version' | 'print-config';

const SWITCHES: ReadonlyMap<string, Switch> = new Map([
  ['--help', 'help'],
  ['-h', 'help'],
  ['--version', 'version'],
  ['-V', 'version'],
  ['--print-config', 'print-config'],
]);

/** Flag → path of its setting; the configuration file has no path. */
const VALUE_FLAGS: ReadonlyMap<string, string | undefined> = new Map([
  ['--config', undefined],
  ...SETTING_ROWS.filter(({ setting }) => setting.flag !== undefined).map(({ path, setting }): [string, string] => [
    `--${setting.flag}`,
    path,
  ]),
]);

/** Reads `--flag value` and `--flag=value`; what is wrong becomes a problem, and reading goes on behind it. */
export function readFlags(argv: readonly string[], names: ServiceNames): Flags {
  const values = new Map<string, string>();
  const asked = new Set<Switch>();
  const problems: Finding[] = [];
  const words = [...argv];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '--') {
      problems.push(...words.splice(0).map(unwantedArgument));
    } else if (!word.startsWith('-') || word === '-') {
      problems.push(unwantedArgument(word));
    } else {
      const [name, inline] = splitFlag(word);
      const asks = SWITCHES.get(name);
      if (asks !== undefined && inline === undefined) {
        asked.add(asks);
      } else if (asks !== undefined) {
        problems.push(flagProblem(name, `${name} takes no value.`, `Write ${name} alone.`));
      } else {
        const value = inline ?? takeValue(words);
        if (!VALUE_FLAGS.has(name)) problems.push(unknownFlag(name, names));
        else if (value === undefined) problems.push(missingValue(name));
        else if (values.has(name)) problems.push(repeatedFlag(name));
        else values.set(name, value);
      }
    }
  }
  return { given: givenOf(values), file: values.get('--config'), asked, problems };
}

function splitFlag(word: string): [name: string, value: string | undefined] {
  const at = word.indexOf('=');
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** The next word, unless it is a flag; a negative number is a value, so that the answer to it can be about the number. */
function takeValue(words: string[]): string | undefined {
  const [next] = words;
  return next === undefined || /^-(?!\.?\d)/.test(next) ? undefined : words.shift();
}

function givenOf(values: ReadonlyMap<string, string>): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>();
  for (const [name, text] of values) {
    const path = VALUE_FLAGS.get(name);
    if (path !== undefined) given.set(path, { source: { kind: 'flag', name }, text });
  }
  return given;
}

function flagProblem(name: string, message: string, hint: string): Finding {
  return { source: { kind: 'flag', name }, message, hint };
}

function missingValue(name: string): Finding {
  return flagProblem(name, `${name} needs a value.`, `Write ${name} <value> or ${name}=<value>.`);
}

function repeatedFlag(name: string): Finding {
  return flagProblem(name, `${name} is given more than once.`, 'Give it once.');
}

function unwantedArgument(value: string): Finding {
  return {
    source: { kind: 'argument', value },
    value,
    message: `The argument ${JSON.stringify(value)} belongs to no flag.`,
    hint: 'All settings are flags, variables or keys of the configuration file; --help lists them.',
  };
}

function unknownFlag(name: string, names: ServiceNames): Finding {
  const nearest = nearestName(name, suggestions(names));
  const hint = nearest === undefined ? '--help lists the flags there are.' : `Did you mean ${nearest}?`;
  return flagProblem(name, `There is no flag ${JSON.stringify(name)}.`, hint);
}

/** All flags, and for `--section-key` of any setting the name that works. */
function suggestions(names: ServiceNames): ReadonlyMap<string, string> {
  const flags = [...SWITCHES.keys(), ...VALUE_FLAGS.keys()].map((name): [string, string] => [name, name]);
  const paths = SETTING_ROWS.map((row): [string, string] => [
    `--${row.path.replaceAll(/[._]/g, '-')}`,
    row.setting.flag === undefined
      ? `the variable ${names.variablesOf(row)[0]?.name} (${row.path} has no flag)`
      : `--${row.setting.flag}`,
  ]);
  return new Map([...paths, ...flags]);
}
