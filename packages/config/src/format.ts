import { createServiceNames, type ServiceNames } from './environment.ts';
import type { LoadedConfig } from './load-config.ts';
import type { Setting } from './setting.ts';
import { rowsOf, SECTIONS, type SettingRow } from './settings.ts';
import { describeSource, type Finding, type Source } from './source.ts';
import type { SettingValue } from './value-type.ts';

/** The program of the help. */
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

/** Formats the configuration as a TOML file: every setting with the source of its value, secrets hidden. */
export function formatConfig({ config, sources }: LoadedConfig): string {
  const values: Nested<SettingValue | undefined> = config;
  const origins: Nested<Source> = sources;
  const tables = SECTIONS.map((section) => {
    const lines = rowsOf(section).map(({ key, setting }) => {
      const value = values[section]?.[key];
      const source = origins[section]?.[key];
      if (value === undefined || source === undefined) return `# ${key} is not set`;
      const { secret, type } = setting;
      const toml = type.toToml(value);
      const written = secret === true ? '"***"' : (type.redact?.(toml) ?? toml);
      return `${key} = ${written} # from ${describeSource(source)}`;
    });
    return [`[${section}]`, ...lines, ''].join('\n');
  });
  return tables.join('\n');
}

type Nested<T> = Readonly<Record<string, Readonly<Record<string, T>>>>;

/** Formats problems for a terminal: each with its source, its message and its hint. */
export function formatProblems(problems: readonly Finding[]): string {
  const head =
    problems.length === 1 ? 'The configuration has a problem:' : `The configuration has ${problems.length} problems:`;
  const items = problems.map(
    ({ source, message, hint }) => `\n  ${describeSource(source)}\n    ${message}\n    ${hint}\n`,
  );
  return `${head}\n${items.join('')}`;
}

/** Formats the reference of all settings as Markdown: rules, a table for each section, an example file. */
export function formatSettingsReference({ name }: { readonly name: string }): string {
  const names = createServiceNames(name);
  return [
    '# Configuration',
    ...rules(names),
    '## Settings',
    ...SECTIONS.flatMap((section) => [`### \`[${section}]\``, sectionTable(section, names)]),
    '## Example file',
    `Every setting with its default; a setting without a fixed default is commented out. Save the file as \`${names.defaultFile}\`.`,
    `\`\`\`toml\n${formatExampleFile()}\`\`\``,
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n');
}

function rules({ prefix, fileVariable, defaultFile }: ServiceNames): readonly string[] {
  return [
    'A setting takes its value from the first of these sources that has one:',
    [
      '1. a flag: `--grpc-port 50052` or `--grpc-port=50052`, each at most once',
      `2. an environment variable: \`${prefix}GRPC_PORT=50052\`; an empty variable counts as not set`,
      `3. the TOML file: the one named by \`--config <file>\`, else by \`${fileVariable}\`, else \`${defaultFile}\` if it exists`,
      '4. the default',
    ].join('\n'),
    'If a setting has two variables, the one named first in its table wins.',
    [
      '- `--print-config` prints every setting with the source of its value, as a TOML file, and exits; secrets are hidden.',
      '- `--help` prints the help and `--version` the version; both exit.',
      '- An invalid value, an unknown flag, a named file that cannot be read and a file that is not TOML stop the start with exit code 2. All problems are reported at once. Only the value that wins is checked.',
      `- An unknown key in the file and an unknown variable that begins with \`${prefix}\` are ignored with a warning.`,
      '- Switches are `true` or `false`; variables also accept `1`, `0`, `yes`, `no`, `on` and `off`. Words are not case-sensitive.',
      '- Relative paths start from the working directory of the server. The file may have at most 64 KiB.',
    ].join('\n'),
  ];
}

function sectionTable(section: string, names: ServiceNames): string {
  const rows = rowsOf(section).map((row) => [
    code(row.key),
    names
      .variablesOf(row)
      .map((variable) => code(variable.name))
      .join(', '),
    row.setting.flag === undefined ? '' : code(`--${row.setting.flag}`),
    describeDefault(row.setting) ?? 'not set',
    describeSetting(row.setting),
  ]);
  return markdownTable([['Key', 'Variable', 'Flag', 'Default', 'Meaning'], ...rows]);
}

function code(text: string): string {
  return `\`${text}\``;
}

/** Pads the columns, as Markdown formatters do. */
function markdownTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [...lines.slice(0, 1), rule, ...lines.slice(1)].join('\n');
}

/** Formats a TOML file with every setting, its purpose, and its default or, commented out, an example. */
function formatExampleFile(): string {
  return SECTIONS.map((section) =>
    [`[${section}]`, ...rowsOf(section).flatMap((row) => exampleLines(row)), ''].join('\n'),
  ).join('\n');
}

function exampleLines({
  key,
  setting: { type, default: value, description, derived, example },
}: SettingRow): readonly string[] {
  const isPlain = value !== undefined && derived === undefined;
  return [`# ${description}`, isPlain ? `${key} = ${type.toToml(value)}` : `# ${key} = ${type.toToml(example)}`];
}

/** Describes the default of a setting, in Markdown; undefined if it has none. */
function describeDefault({ type, default: value, derived }: Setting): string | undefined {
  if (derived !== undefined) return derived.describe;
  return value === undefined ? undefined : `\`${type.toText(value)}\``;
}

/** Describes the purpose and the valid values of a setting, in sentences. */
function describeSetting({ description, type, secret }: Setting): string {
  const sentences = [description, `Value: ${type.expected}.`];
  if (secret === true) sentences.push('Secret: it is never printed.');
  return sentences.join(' ');
}
