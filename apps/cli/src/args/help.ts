import { formatHelp } from '@svc/config';
import { EXIT } from '../errors/cli-error.ts';
import type { Command, Program } from './command.ts';
import { CSV_ENCODING_NAMES, CSV_OPTIONS } from './csv-options.ts';
import { describeInputFormats, OUTPUT_FORMATS, outputExtension } from './file-formats.ts';
import { SERVICE_NAME } from './server-config.ts';

/** The topics of `svc help`, besides the commands. */
export const HELP_TOPICS = [
  ['server', 'The address of the server, tokens and tenants.'],
  ['formats', 'The formats of files, and their extensions.'],
  ['csv', 'The flags for files in CSV.'],
  ['exit-codes', 'What each exit code means.'],
  ['settings', 'The settings of the server, one by one.'],
] as const;

/** Formats the usage of a command, on one line. */
export function formatUsage(command: Command | Program): string {
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
