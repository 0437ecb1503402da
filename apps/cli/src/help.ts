import { EXIT } from './cli-error.ts';
import type { Command, Program } from './command.ts';

/** How a command is written, on one line. */
export function formatUsage(command: Command): string {
  return ['svc', command.name, ...command.usage, '[flags]'].join(' ');
}

/** The text of `svc <command> --help`. */
export function formatCommandHelp(command: Command): string {
  const options: Command['options'] = { ...command.options, help: { summary: 'Print this text.' } };
  const rows = Object.entries(options).map(([name, { value, summary }]): [string, string] => [
    value === undefined ? `--${name}` : `--${name} ${value}`,
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
    'svc <command> --help says more about one; svc --version prints the version.',
    'The server is the one of --url, else of SVC_URL, else http://127.0.0.1:9000.',
    '',
    'Exit codes (svc serve has those of the server):',
    ...listed([
      [String(EXIT.ok), 'done'],
      [String(EXIT.refused), 'the server refused'],
      [String(EXIT.usage), 'wrong usage, or a file that cannot be read or written'],
      [String(EXIT.unreachable), 'server not reachable, connection broken, or answer not readable'],
      [String(EXIT.interrupted), 'ended by Ctrl-C'],
    ]),
  );
}

function listed(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function lines(...all: readonly string[]): string {
  return `${all.join('\n').trimEnd()}\n`;
}
