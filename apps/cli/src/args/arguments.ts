import { type FlagSpec, type FlagToken, formatHelp, parseFlags } from '@svc/config';
import { nearestName } from '@svc/errors';
import type { Arguments, Command, Program } from './command.ts';
import { describeInputFormats, OUTPUT_FORMATS, outputExtension } from './formats.ts';
import { CSV_ENCODING_NAMES, CSV_OPTIONS } from './input-options.ts';
import { SERVICE_NAME } from './server-config.ts';
import { CliError, EXIT } from '../errors.ts';

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

/** The topics of `svc help`, besides the commands. */
export const HELP_TOPICS = [
  ['server', 'The address of the server, tokens and tenants.'],
  ['formats', 'The formats of files, and their extensions.'],
  ['csv', 'The flags for files in CSV.'],
  ['exit-codes', 'What each exit code means.'],
  ['settings', 'The settings of the server, one by one.'],
] as const;

/** Formats the usage of a command, on one line. */
function formatUsage(command: Command | Program): string {
  const directory = command.takesDirectory === undefined ? [] : ['[directory]'];
  return ['svc', command.name, ...directory, ...command.usage, '[flags]'].join(' ');
}

/** Formats the text of `svc <command> --help`. */
export function formatCommandHelp(command: Command | Program): string {
  const options: Command['options'] = { ...command.options, help: { summary: 'Print this text.' } };
  const own = Object.entries(options).filter(([, { isCommon = false }]) => !isCommon);
  const rows = new Map(
    own.map(([name, { value, short, summary, line }]) => {
      const flag = [short && `-${short},`, `--${name}`, value].filter(Boolean).join(' ');
      return line ?? [flag, summary];
    }),
  );
  return lines(
    `Usage: ${formatUsage(command)}`,
    '',
    command.summary,
    '',
    'Flags:',
    ...listed([...rows]),
    '',
    ...command.notes,
  );
}

/** Formats the text of `svc --help`. */
export function formatOverview(commands: readonly (Command | Program)[]): string {
  return lines(
    'Usage: svc <command> [arguments] [flags], or svc --version',
    'Put, read, list and query the data frames of a server, or of a directory.',
    'Commands:',
    ...listed(commands.map(({ name, usage, summary }) => [[name, ...usage].join(' '), summary])),
    '',
    'svc <command> --help describes a command, svc help <topic> one of the topics',
    `${HELP_TOPICS.map(([topic]) => topic).join(', ')}.`,
    'Server: --url, SVC_URL or http://127.0.0.1:9000; or a directory: svc list ./data',
  );
}

/** Formats a topic of `svc help`; undefined if there is no such topic. */
export function formatTopic(topic: string): string | undefined {
  if (topic === 'formats') {
    return lines(
      'Formats of files that svc put and svc convert read:',
      ...describeInputFormats(),
      '',
      'A further .gz or .zst is a compressed file: trades.csv.gz. A .tsv file has tabs.',
      '',
      'Formats that svc get, svc query and svc convert write with -o:',
      ...listed(OUTPUT_FORMATS.map((format) => [format, `.${outputExtension(format)}`])),
      'svc get and svc convert also write .arrow: an IPC file, of a whole frame.',
    );
  }
  if (topic === 'server') {
    return lines(
      'Flags of all commands that use a server:',
      ...listed([
        ['--url <url>', 'The server. Default: SVC_URL, else http://127.0.0.1:9000.'],
        ['--token-file <file>', 'A file with the token alone. Default: the variable SVC_TOKEN.'],
        ['--ca-file <file>', 'The authority of an https server, in PEM. Default: those of Node.'],
        ['--cert, --key <file>', 'A certificate for the server and its private key, in PEM.'],
        ['--timeout <seconds>', 'How long to wait for the response.'],
      ]),
      '',
      'A token decides the tenant and the permissions. There is no flag for the token',
      'itself: other users of this machine could see it. svc token creates tokens.',
      '',
      'A directory needs no server and no token: svc list ./data. In one that a server',
      'with several tenants wrote, --tenant <name> selects the tenant.',
    );
  }
  if (topic === 'csv') {
    return lines(
      'Flags for files in CSV, of svc put and svc convert. The rest is detected:',
      ...listed(Object.entries(CSV_OPTIONS).map(([name, { value, summary }]) => [`--${name} ${value}`, summary])),
      '',
      'Without --null, an empty value is null: write --null NA --null "" for both.',
      'A value in quotes is never null. The encodings:',
      `  ${CSV_ENCODING_NAMES.join(', ')}`,
    );
  }
  if (topic === 'settings') return formatHelp({ name: SERVICE_NAME, command: 'svc serve' });
  if (topic !== 'exit-codes') return undefined;
  return lines(
    'Exit codes of svc:',
    ...listed([
      [String(EXIT.ok), 'success, or the reader of the output closed it (svc get trades | head)'],
      [String(EXIT.refused), 'the server refused the request, or svc doctor found a problem'],
      [String(EXIT.usage), 'invalid usage or configuration, or a file that cannot be read or written'],
      [String(EXIT.unreachable), 'server unreachable, connection lost, or response not valid'],
      [String(EXIT.warned), 'svc doctor found warnings, but no problem'],
      [String(EXIT.interrupted), 'ended by Ctrl-C'],
      [String(EXIT.terminated), 'ended by SIGTERM'],
    ]),
    '',
    'svc serve has those of the server: 0 stopped, 1 cannot start, 2 bad settings.',
  );
}

function listed(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function lines(...all: readonly string[]): string {
  return `${all.join('\n').trimEnd()}\n`;
}
