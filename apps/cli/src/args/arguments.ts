import { parseArgs } from 'node:util';
import { nearestName } from '@svc/errors';
import { CliError } from '../errors/cli-error.ts';
import type { Command } from './command.ts';
import { formatUsage } from './help.ts';

/** What the words behind a command say. */
export interface Arguments {
  /** The arguments in their order. */
  readonly positionals: readonly string[];
  /** The directory of frames that stands before them. */
  readonly directory: string | undefined;
  /** The value of a flag. */
  text(flag: string): string | undefined;
  /** All values of a flag that may be given several times. */
  texts(flag: string): readonly string[];
  /** Whether a switch is given. */
  has(flag: string): boolean;
}

/** Reads the words behind a command. Undefined: they ask for its help. */
export function parseArguments(command: Command, argv: readonly string[]): Arguments | undefined {
  const { tokens } = parseArgs({
    args: [...argv],
    strict: false,
    tokens: true,
    options: {
      help: { type: 'boolean', short: 'h' },
      ...Object.fromEntries(
        Object.entries(command.options).map(([name, { value, short }]) => [
          name,
          { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short && { short }) },
        ]),
      ),
    },
  });
  const given = new Map<string, readonly string[]>();
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    if (name === 'help' && value === undefined) return undefined;
    checkFlag(command, { name, rawName, value, isInline: inlineValue === true });
    const before = given.get(name) ?? [];
    if (before.length > 0 && command.options[name]?.isRepeatable !== true) {
      throw new CliError('usage', `${rawName} is given more than once.`, { hint: 'Give it once.' });
    }
    given.set(name, [...before, value ?? '']);
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

interface Flag {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly isInline: boolean;
}

function checkFlag(command: Command, { name, rawName, value, isInline }: Flag): void {
  const option = Object.hasOwn(command.options, name) ? command.options[name] : undefined;
  if (option === undefined) throw unknownFlag(command, rawName);
  if (option.value === undefined && value !== undefined) {
    throw new CliError('usage', `${rawName} takes no value.`, { hint: `Write ${rawName} alone.` });
  }
  // A flag behind a flag is no value, but a negative number is one: the answer to it can be about the number.
  const isMissing = value === undefined || (!isInline && /^-(?!\.?\d|$)/.test(value));
  if (option.value !== undefined && isMissing) {
    throw new CliError('usage', `${rawName} needs a value.`, { hint: `Write ${rawName} ${option.value}.` });
  }
}

function unknownFlag(command: Command, rawName: string): CliError {
  const flags = [...Object.keys(command.options), 'help'].map((name) => `--${name}`);
  const nearest = nearestName(rawName, new Map(flags.map((flag) => [flag, flag])));
  return new CliError('usage', `svc ${command.name} has no flag ${JSON.stringify(rawName)}.`, {
    hint:
      nearest === undefined
        ? `svc ${command.name} --help lists its flags; an argument that begins with a dash goes behind --.`
        : `Did you mean ${nearest}?`,
  });
}

function checkPositionals(command: Command, positionals: readonly string[]): void {
  const hint = `Usage: ${formatUsage(command)}`;
  const missing = command.usage.slice(positionals.length).find((word) => word.startsWith('<'));
  if (missing !== undefined) throw new CliError('usage', `svc ${command.name} needs ${missing}.`, { hint });
  const extra = positionals[command.usage.length];
  if (extra === undefined || command.usage.at(-1)?.endsWith('...')) return;
  throw new CliError('usage', `svc ${command.name} has no place for the argument ${JSON.stringify(extra)}.`, {
    hint: `${hint} (an argument with spaces goes in quotes)`,
  });
}
