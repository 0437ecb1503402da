import { formatHelp } from '@svc/config';
import { EXIT } from '../errors/cli-error.ts';
import type { Command, Program } from './command.ts';
import { SERVICE_NAME } from './server-config.ts';

/** What `svc help` knows beside the commands. */
export const HELP_TOPICS = [
  ['exit-codes', 'What each exit code means.'],
  ['settings', 'The settings of the server, one by one.'],
] as const;

/** How a command is written, on one line. */
export function formatUsage(command: Command | Program): string {
  const directory = command.takesDirectory === undefined ? [] : ['[directory]'];
  return ['svc', command.name, ...directory, ...command.usage, '[flags]'].join(' ');
}

/** The text of `svc <command> --help`. */
export function formatCommandHelp(command: Command | Program): string {
  const options: Command['options'] = { ...command.options, help: { summary: 'Print this text.' } };
  const rows = Object.entries(options).map(([name, { value, short, summary }]): [string, string] => [
    [short && `-${short},`, `--${name}`, value].filter(Boolean).join(' '),
    summary,
  ]);
  return lines(
    `Usage: ${formatUsage(command)}`,
    '',
    command.summary,
    '',
    'Flags:',
    ...listed(rows),
    '',
    ...command.notes,
  );
}

/** The text of `svc --help`. */
export function formatOverview(commands: readonly (Command | Program)[]): string {
  return lines(
    'Usage: svc <command> [arguments] [flags]',
    '',
    'Put, read, list and query the data frames of a server.',
    '',
    'Commands:',
    ...listed(commands.map(({ name, usage, summary }) => [[name, ...usage].join(' '), summary])),
    '',
    'svc <command> --help says more about one, svc help <topic> about:',
    ...listed(HELP_TOPICS),
    'The server is the one of --url, else of SVC_URL, else http://127.0.0.1:9000; a',
    'directory in its place needs none: svc list ./data, svc get ./data trades.',
    'svc --version prints the version.',
  );
}

/** The text of a topic of `svc help`; undefined where there is no such topic. */
export function formatTopic(topic: string): string | undefined {
  if (topic === 'settings') return formatHelp({ name: SERVICE_NAME, command: 'svc serve' });
  if (topic !== 'exit-codes') return undefined;
  return lines(
    'Exit codes of svc:',
    ...listed([
      [String(EXIT.ok), 'done, or the reader of the output went away (svc get trades | head)'],
      [String(EXIT.refused), 'the server refused, or svc doctor found a problem'],
      [String(EXIT.usage), 'wrong usage or configuration, or a file that cannot be read or written'],
      [String(EXIT.unreachable), 'server not reachable, connection broken, or answer not readable'],
      [String(EXIT.warned), 'svc doctor found nothing worse than a warning'],
      [String(EXIT.interrupted), 'ended by Ctrl-C'],
      [String(EXIT.terminated), 'ended by SIGTERM'],
    ]),
    '',
    'svc serve has those of the server: 0 stopped, 1 cannot listen, 2 wrong settings.',
  );
}

function listed(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function lines(...all: readonly string[]): string {
  return `${all.join('\n').trimEnd()}\n`;
}
