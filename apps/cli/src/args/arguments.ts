import { type FlagSpec, type FlagToken, parseFlags } from '@svc/config';
import { nearestName } from '@svc/errors';
import { CliError } from '../errors/cli-error.ts';
import type { Arguments, Command, Program } from './command.ts';
import { formatUsage } from './help.ts';

/** Parses the words after a command. Undefined: they ask for its help. */
export function parseArguments(command: Command, argv: readonly string[]): Arguments | undefined {
  const given = new Map<string, readonly string[]>();
  const words: string[] = [];
  for (const token of parseFlags(argv, flagsOf(command))) {
    if (token.kind === 'switch' && token.name === 'help') return undefined;
    if (token.kind === 'argument') words.push(token.value);
    else if (token.kind === 'switch') given.set(token.name, []);
    else if (token.kind === 'value') given.set(token.name, [...(given.get(token.name) ?? []), token.value]);
    else if (token.kind !== 'terminator') throw flagError(command, token);
  }
  const hasDirectory = words.length > 0 && command.takesDirectory?.(words) === true;
  const positionals = hasDirectory ? words.slice(1) : words;
  checkPositionals(command, positionals);
  return {
    positionals,
    directory: hasDirectory ? words[0] : undefined,
    text: (flag) => given.get(flag)?.[0],
    texts: (flag) => given.get(flag) ?? [],
    has: (flag) => given.has(flag),
  };
}

/** The flags of a command, as the parser needs them. */
export function flagsOf({ options }: Command | Program): ReadonlyMap<string, FlagSpec> {
  const flags = Object.entries(options).map(([name, { value, short, isRepeatable }]): [string, FlagSpec] => [
    name,
    { takesValue: value !== undefined, short, isRepeatable },
  ]);
  return new Map([...flags, ['help', { takesValue: false, short: 'h' }]]);
}

type FaultyFlag = Extract<FlagToken, { kind: 'unknown' | 'missing_value' | 'unwanted_value' | 'repeated' }>;

function flagError(command: Command, token: FaultyFlag): CliError {
  const { rawName } = token;
  if (token.kind === 'unknown') return unknownFlag(command, rawName);
  if (token.kind === 'repeated') {
    return new CliError('usage', `${rawName} is given more than once.`, { hint: 'Give it once.' });
  }
  const value = command.options[token.name]?.value;
  return token.kind === 'missing_value'
    ? new CliError('usage', `${rawName} needs a value.`, { hint: `Write ${rawName} ${value}.` })
    : new CliError('usage', `${rawName} takes no value.`, { hint: `Write ${rawName} alone.` });
}

function unknownFlag(command: Command, rawName: string): CliError {
  const flags = [...Object.keys(command.options), 'help'].map((name) => `--${name}`);
  const nearest = nearestName(rawName, new Map(flags.map((flag) => [flag, flag])));
  return new CliError('usage', `svc ${command.name} has no flag ${JSON.stringify(rawName)}.`, {
    hint:
      nearest === undefined
        ? `svc ${command.name} --help lists its flags; put -- before an argument that begins with a dash.`
        : `Did you mean ${nearest}?`,
  });
}

function checkPositionals(command: Command, positionals: readonly string[]): void {
  const hint = `Usage: ${formatUsage(command)}`;
  // Arguments in brackets may be left out, also before others: svc put [handle] <file|->.
  const missing = command.usage.filter((word) => word.startsWith('<'))[positionals.length];
  if (missing !== undefined) throw new CliError('usage', `svc ${command.name} needs ${missing}.`, { hint });
  const extra = positionals[command.usage.length];
  if (extra === undefined || command.usage.at(-1)?.endsWith('...')) return;
  throw new CliError('usage', `svc ${command.name} does not take the argument ${JSON.stringify(extra)}.`, {
    hint: `${hint} (quote an argument that has spaces)`,
  });
}
