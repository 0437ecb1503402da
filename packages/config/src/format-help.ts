import { describeDefault, describeSetting } from './describe-setting.ts';
import { createServiceNames, type ServiceNames } from './service-names.ts';
import { rowsOf, SECTIONS, type SettingRow } from './setting-rows.ts';

/** The program that the help describes. */
export interface FormatHelpOptions {
  /** The service's name, as for `loadConfig`. */
  readonly name: string;
  /** The command, as the user types it. Default: `server`. */
  readonly command?: string;
}

const WIDTH = 80;
const INDENT = '      ';

/** Formats the text of `--help`: every setting with its flag, variables and default, at most 80 columns wide. */
export function formatHelp({ name, command = 'server' }: FormatHelpOptions): string {
  const names = createServiceNames(name);
  return [
    `Usage: ${command} [flags]`,
    '',
    ...wrap('The first source that has a value wins: flag, environment variable, TOML file, default.', ''),
    '',
    'General flags:',
    '  --config <file>',
    ...wrap(`The TOML file. Also ${names.fileVariable}; default ${names.defaultFile}, if it exists.`),
    '  --print-config',
    ...wrap('Print every setting with the source of its value, and exit.'),
    '  --version, -V',
    ...wrap('Print the version and exit.'),
    '  --help, -h',
    ...wrap('Print this text and exit.'),
    ...SECTIONS.flatMap((section) => ['', `[${section}]`, ...rowsOf(section).flatMap((row) => entry(row, names))]),
    '',
  ].join('\n');
}

function entry(row: SettingRow, names: ServiceNames): readonly string[] {
  const { key, setting } = row;
  const variables = names.variablesOf(row).map(({ name }) => name);
  const flag = setting.flag === undefined ? '' : `  --${setting.flag} <${setting.type.placeholder}>`;
  const value = describeDefault(setting)?.replaceAll('`', '') ?? 'not set';
  return [`  ${key}${flag}`, ...wrap(`${variables.join(', ')}; default: ${value}`), ...wrap(describeSetting(setting))];
}

function wrap(text: string, indent = INDENT): readonly string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    const longer = line === indent ? `${line}${word}` : `${line} ${word}`;
    if (longer.length > WIDTH && line !== indent) {
      lines.push(line);
      line = `${indent}${word}`;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}
