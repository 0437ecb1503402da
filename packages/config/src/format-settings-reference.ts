import { describeDefault, describeSetting } from './describe-setting.ts';
import { createServiceNames, type ServiceNames } from './service-names.ts';
import { rowsOf, SECTIONS, type SettingRow } from './setting-rows.ts';

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
